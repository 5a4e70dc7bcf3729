// SPDX-License-Identifier: Apache-2.0
// What a command is given, and how it answers: as text, or as one JSON document whatever happens.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/checkpoint.hpp"
#include "cli/commands.hpp"
#include "cli/process.hpp"
#include "report/documents.hpp"
#include "report/json_writer.hpp"
#include "report/messages.hpp"
#include "report/style.hpp"
#include "report/writer.hpp"

namespace assay::cli {

/// The command line after parsing; values are checked against the kinds of the table.
class Options {
 public:
  bool has(std::string_view flag) const { return flags_.contains(flag); }
  std::string text(std::string_view flag, std::string_view otherwise = "") const;
  /// All values of a flag that was given several times.
  std::vector<std::string> texts(std::string_view flag) const;
  std::uint64_t number(std::string_view flag, std::uint64_t otherwise) const;
  const std::vector<std::string>& words() const { return words_; }
  /// Argument i, "" where it was not given.
  std::string word(std::size_t i) const { return i < words_.size() ? words_[i] : std::string(); }
  /// Arguments from i on.
  std::vector<std::string> words_from(std::size_t i) const;

  void set(std::string_view flag, std::string value) { flags_[std::string(flag)] = std::move(value); }
  void set_all(std::string_view flag, std::vector<std::string> values) { repeated_[std::string(flag)] = std::move(values); }
  std::vector<std::string>& mutable_words() { return words_; }

 private:
  std::map<std::string, std::string, std::less<>> flags_;
  std::map<std::string, std::vector<std::string>, std::less<>> repeated_;
  std::vector<std::string> words_;
};

/// How files are opened: by as many threads as --threads says, where the command has it, else as there are processors.
Limits limits_of(const Options& options);

enum class Mode : std::uint8_t { text, json, ndjson };

struct Context {
  const Command& command;
  const Options& options;
  Mode mode = Mode::text;
  report::Style style;       ///< of standard output
  report::Style talk_style;  ///< of standard error
  bool quiet = false;
  bool verbose = false;
  report::Writer& out;  ///< standard output
};

/// One answer. In JSON mode it opens the document at once, so that a command only writes its own keys between.
class Answer {
 public:
  /// `path` is what the document's "path" says and how messages call the files until open().
  explicit Answer(Context& context, std::string path = "");

  /// Opens the context's first argument; failures are for fail(). The checkpoint lives in the answer.
  Result<Checkpoint*> open() { return open(limits_of(context_.options)); }
  Result<Checkpoint*> open(const Limits& limits);
  /// The document in JSON mode, null in the others. In NDJSON mode make one JsonWriter per line.
  report::JsonWriter* json() { return context_.mode == Mode::json ? &json_ : nullptr; }
  const report::Naming& naming() const { return naming_; }
  /// The files the checkpoint was opened from, or was to be. Precondition: open() succeeded, or has_files().
  const FileSet& files() const { return *files_; }
  /// False when not even the path could be reached.
  bool has_files() const { return files_ != nullptr; }
  /// The command has printed the findings with its answer: they are not repeated on standard error.
  void findings_are_shown() { findings_shown_ = true; }
  /// Errors and findings name their files themselves, by paths that the user can open: for commands about several files.
  void files_are_named() { naming_ = {}; }
  /// Adds a warning where loading the opened checkpoint would run code. Precondition: open() succeeded.
  void warn_of_imports();
  /// The answer is there, but not about all of the file.
  void is_incomplete() { incomplete_ = true; }

  /// Records a finding where there is no checkpoint to record it in.
  Findings& findings() { return checkpoint_ ? checkpoint_->findings : own_findings_; }

  /// Ends the answer: closes the document or prints the findings, and gives the exit code: 130 after Ctrl-C, 2 when incomplete.
  int done();
  /// Ends it with an error.
  int fail(const Error& error);

 private:
  int finish(const Error* error);
  /// True when the error says again what a finding says.
  bool is_finding(const Error* error);

  Context& context_;
  report::JsonWriter json_;
  report::Naming naming_;
  std::unique_ptr<FileSet> files_;
  std::optional<Checkpoint> checkpoint_;
  Findings own_findings_;
  bool findings_shown_ = false;
  bool incomplete_ = false;
};

/// Parses, runs, and gives the exit code.
int run_program(const std::vector<std::string>& arguments);

int run_info(Context& context);
int run_tensors(Context& context);
int run_tree(Context& context);
int run_stats(Context& context);
int run_head(Context& context);
int run_dump(Context& context);
int run_formats(Context& context);
int run_synth(Context& context);
int run_scan(Context& context);
int run_map(Context& context);
int run_pickle(Context& context);
int run_moe(Context& context);
int run_doctor(Context& context);
int run_diff(Context& context);
int run_show(Context& context);
int run_hist(Context& context);
int run_heatmap(Context& context);
int run_verify(Context& context);
int run_help(Context& context);

}  // namespace assay::cli
