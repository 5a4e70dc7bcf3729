// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"

#include <algorithm>
#include <charconv>
#include <new>

#include "analysis/mishaps.hpp"
#include "analysis/scan/told_imports.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/sigbus_native.hpp"
#include "cli/help.hpp"
#include "cli/parallel.hpp"
#include "cli/parse.hpp"
#include "report/fold.hpp"
#include "report/screens.hpp"

namespace assay::cli {

std::string Options::text(std::string_view flag, std::string_view otherwise) const {
  const auto found = flags_.find(flag);
  return found == flags_.end() ? std::string(otherwise) : found->second;
}

std::vector<std::string> Options::texts(std::string_view flag) const {
  const auto found = repeated_.find(flag);
  return found == repeated_.end() ? std::vector<std::string>() : found->second;
}

std::uint64_t Options::number(std::string_view flag, std::uint64_t otherwise) const {
  const auto found = flags_.find(flag);
  if (found == flags_.end()) return otherwise;
  std::uint64_t value = otherwise;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

std::vector<std::string> Options::words_from(std::size_t i) const {
  return i < words_.size() ? std::vector<std::string>(words_.begin() + static_cast<std::ptrdiff_t>(i), words_.end())
                           : std::vector<std::string>();
}

Limits limits_of(const Options& options) {
  return {.threads = static_cast<std::uint32_t>(thread_count(static_cast<std::size_t>(options.number("--threads", 0))))};
}

Answer::Answer(Context& context, std::string path) : context_(context), json_(context.out, 2) {
  if (path.empty() && !context.command.arguments.empty() && context.command.arguments[0].kind == Value::path)
    path = context.options.word(0);
  naming_.label = path;
  naming_.primary = path;
  if (context.mode == Mode::json) report::begin_document(json_, context.command.name, path);
}

Result<Checkpoint*> Answer::open(const Limits& limits) {
  auto files = open_path(context_.options.word(0), context_.options.has("--no-mmap") ? MapMode::never : MapMode::automatic);
  if (!files) return std::unexpected(std::move(files).error());
  files_ = *std::move(files);
  naming_ = {files_->label(), files_->primary()};
  auto checkpoint = assay::open(*files_, limits);
  if (!checkpoint) return std::unexpected(std::move(checkpoint).error());
  ASSAY_CHECK(analysis::explain_damage(*checkpoint));
  checkpoint_.emplace(*std::move(checkpoint));
  return &*checkpoint_;
}

void Answer::warn_of_imports() {
  const auto path_of = [&](std::string_view file) { return report::shell_path(naming_, file); };
  if (auto warning = scan::warn_of_imports(*checkpoint_, path_of)) checkpoint_->add(*std::move(warning));
}

int Answer::done() {
  if (sigbus_seen()) return fail(Error(Code::file_changed, "the file became shorter while it was read"));
  return finish(nullptr);
}

int Answer::fail(const Error& error) { return finish(&error); }

bool Answer::is_finding(const Error* error) {
  return error != nullptr && std::ranges::any_of(findings().list(), [&](const Finding& finding) {
           return finding.code == error->code() && finding.message == error->what();
         });
}

int Answer::finish(const Error* error) {
  constexpr std::size_t kMostLines = 20;
  const bool stopped = interrupted();
  const bool complete = (!checkpoint_ || checkpoint_->complete) && error == nullptr && !stopped && !incomplete_;
  if (context_.mode == Mode::json) {
    report::end_document(json_, complete, findings(), error);
    context_.out.flush();
  } else {
    context_.out.flush();
    report::Writer talk;
    // Notes belong to info; elsewhere they are talk.
    const Severity least = context_.quiet ? Severity::damage : context_.verbose ? Severity::note : Severity::warning;
    if (!findings_shown_ && !is_finding(error))
      report::write_finding_lines(talk, context_.talk_style, naming_, findings(), least, kMostLines);
    if (error != nullptr) report::write_error_line(talk, context_.talk_style, naming_, *error);
    else if (stopped) talk.put("interrupted; the answer is not complete\n");
    report::Writer folded;
    report::Folder folder(context_.talk_style.width);
    folder.put(folded, talk.text());
    folder.finish(folded);
    write_stderr(folded.text());
  }
  return stopped ? kInterrupted : complete ? kFine : kFailed;
}

namespace {

report::Style style_of(const Options& options, int descriptor) {
  report::Style style;
  const std::string color = options.has("--no-color") ? "never" : options.text("--color", "auto");
  style.color = wants_color(color == "always"  ? ColorChoice::always
                            : color == "never" ? ColorChoice::never
                                               : ColorChoice::automatic,
                            descriptor);
  style.unicode = !options.has("--ascii") && locale_takes_unicode();
  style.exact_bytes = options.has("--bytes");
  style.width = static_cast<std::size_t>(options.number("--width", terminal_width()));
  return style;
}

/// Standard output; screens are folded to the terminal.
struct Output {
  report::Folder folder;
  report::Writer out;
  void put(std::string_view text) {
    folder.put(out, text);
    out.flush();
  }
};

/// 0 for what is data: there a line is a record.
std::size_t folding_width(const Parsed& parsed) {
  const Options& options = parsed.options;
  const bool data = parsed.action == Action::generate || options.has("--json") || options.has("--ndjson") || options.has("--sarif") ||
                    (parsed.command != nullptr && parsed.command->name == "dump");
  return data ? 0 : static_cast<std::size_t>(options.number("--width", terminal_width()));
}

int run_parsed(const Parsed& parsed, report::Writer& out) {
  Context context{.command = *parsed.command,
                  .options = parsed.options,
                  .mode = parsed.options.has("--ndjson") ? Mode::ndjson
                          : parsed.options.has("--json") ? Mode::json
                                                         : Mode::text,
                  .style = style_of(parsed.options, 1),
                  .talk_style = style_of(parsed.options, 2),
                  .quiet = parsed.options.has("--quiet"),
                  .verbose = parsed.options.has("--verbose"),
                  .out = out};
  if (parsed.error) return Answer(context, parsed.options.word(0)).fail(*parsed.error);
  switch (parsed.action) {
    case Action::help: write_command_help(out, context.style, *parsed.command); break;
    case Action::program_help: write_program_help(out, context.style); break;
    case Action::version: write_version(out, context.mode == Mode::json, context.verbose); break;
    case Action::generate: generate(out, parsed.options.text("--generate")); break;
    case Action::run: return parsed.command->run(context);
  }
  out.flush();
  return kFine;
}

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    report::Writer help;
    write_program_help(help, {});
    write_stderr(help.text());
    return kFailed;
  }
  const Parsed parsed = parse(arguments);
  Output output{.folder = report::Folder(folding_width(parsed)),
                .out = report::Writer([](void*, std::string_view text) { write_stdout(text); }, nullptr)};
  report::Writer out([](void* state, std::string_view text) { static_cast<Output*>(state)->put(text); }, &output);
  const int code = run_parsed(parsed, out);
  out.flush();
  output.folder.finish(output.out);
  output.out.flush();
  return code;
}

}  // namespace assay::cli
