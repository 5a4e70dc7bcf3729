// SPDX-License-Identifier: Apache-2.0
// Text: nothing of it runs by being read, with three exceptions. A torch package's loader runs its Python source, TorchScript can write
// files, and Keras builds what its configuration names.
#include <algorithm>

#include "analysis/scan/scanner.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/json.hpp"

namespace assay::scan {

namespace {

constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;

/// Where text ends and something else begins; nothing when all of the piece is text.
Result<std::optional<std::uint64_t>> first_untextual(const ByteSource& source) {
  constexpr std::uint64_t kLongestCharacter = 4;
  for (std::uint64_t at = 0; at < source.size();) {
    const std::uint64_t n = std::min(kChunk, source.size() - at);
    ASSAY_TRY(const ByteBlock block, source.view(at, n));
    std::string_view text = block.view().text();
    if (at + n < source.size()) {  // a character that the chunk cuts belongs to the next one
      std::size_t end = text.size();
      while (end > text.size() - kLongestCharacter && (static_cast<unsigned char>(text[end - 1]) & 0xc0) == 0x80) --end;
      if (static_cast<unsigned char>(text[end - 1]) >= 0xc0) text = text.substr(0, end - 1);
    }
    if (!is_plain_text(text)) return std::optional(at);
    at += text.size();
  }
  return std::nullopt;
}

bool is_keras_module(std::string_view module) {
  const std::string_view top = module.substr(0, module.find('.'));
  return module.empty() || top == "keras" || top == "keras_nlp" || top == "keras_hub" || top == "keras_cv";
}

/// An object that names what Keras would build.
struct Named {
  std::string class_name, module, config;
  std::string_view wanted() const { return class_name == "function" ? config : class_name; }
};

Verdict judge_named(const Named& named) {
  if (named.class_name.empty()) return Verdict::clean;
  if (named.class_name == "__lambda__") return Verdict::dangerous;
  if (is_keras_module(named.module)) return named.class_name == "Lambda" ? Verdict::unknown : Verdict::clean;
  if (judge_danger(named.module, named.wanted()).verdict == Verdict::dangerous) return Verdict::dangerous;
  return named.module == "builtins" ? Verdict::clean : Verdict::unknown;  // a function of the user's own, which is not in the file
}

/// The objects of a JSON document that are not harmless to build.
class KerasHandler final : public json::Handler {
 public:
  std::vector<Named> found;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number(std::string_view) override { return true; }
  bool end_array() override { return true; }
  bool string(std::string_view text) override {
    if (open_.empty()) return true;
    Named& named = open_.back();
    if (key_ == "class_name") named.class_name = text;
    if (key_ == "module") named.module = text;
    if (key_ == "config") named.config = text;
    return true;
  }
  bool key(std::string_view text) override {
    key_ = text;
    return true;
  }
  bool start_object() override {
    open_.emplace_back();
    key_.clear();
    return true;
  }
  bool end_object() override {
    if (judge_named(open_.back()) != Verdict::clean && found.size() < kMost) found.push_back(std::move(open_.back()));
    open_.pop_back();
    key_.clear();
    return true;
  }
  bool start_array() override {
    key_.clear();
    return true;
  }

 private:
  static constexpr std::size_t kMost = 1000;
  std::vector<Named> open_;
  std::string key_;
};

}  // namespace

/// What Keras would build from a configuration.
void Scanner::judge_json(const Piece& piece, Row row, ByteView text) {
  KerasHandler handler;
  if (auto read = json::parse(text, handler, limits_); !read) {
    // Python's reader takes more than the standard does.
    mark(row, Status::incomplete);
    find(row, piece, Code::unparsed_bytes, concat("names classes, but cannot be read as JSON: ", read.error().what()), read.error().where().offset);
  }
  for (const Named& named : handler.found) {
    const Verdict verdict = judge_named(named);
    raise(row, verdict);
    std::string words;
    if (named.class_name == "__lambda__") words = "holds a Python function as code, which Keras would run";
    else if (is_keras_module(named.module)) words = "has a Lambda layer: Keras would run a function of the file's choice";
    else {
      const Judgement judged = judge_danger(named.module, named.wanted());
      words = concat("names ", escape(concat(named.module, '.', named.wanted()), 200), " for Keras to build, which ",
                     verdict == Verdict::dangerous ? judged.why : "is not on the list of known names");
    }
    find(row, piece, verdict == Verdict::dangerous ? Code::dangerous_import : Code::unknown_import, std::move(words));
  }
}

/// Source that a loader would run or compile.
void Scanner::judge_source(const Piece& piece, Row row, std::string_view text) {
  if (piece.runs_source && piece.name.ends_with(".py") && text.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    raise(row, Verdict::unknown);
    find(row, piece, Code::unknown_call, "is Python source, which torch.package would run", 0);
  }
  constexpr std::string_view kReaching[] = {"ops.aten.save", "torch.save(", "torch.from_file(", "ops.aten.from_file"};
  for (const std::string_view word : kReaching) {
    const std::size_t at = piece.torch_script ? text.find(word) : std::string_view::npos;
    if (at == std::string_view::npos) continue;
    raise(row, Verdict::unknown);
    find(row, piece, Code::unknown_call, concat("is TorchScript that would read or write files: ", word), at);
  }
}

Result<void> Scanner::scan_text(const Piece& piece, Row row) {
  ASSAY_TRY(const auto other, first_untextual(piece.source));
  if (other) {
    constexpr std::string_view kWords = "begins as text and goes on as something else, of no format that is known here";
    return scan_unknown(piece, row, {"unknown", false, Code::unknown_format, kWords});
  }
  work_ += piece.source.size();
  const std::uint64_t read = std::min(piece.source.size(), limits_.json_bytes);
  ASSAY_TRY(const ByteBlock source, piece.source.view(0, read));
  const std::string_view text = source.view().text();
  judge_source(piece, row, text);
  // A key may be spelled with escapes.
  const bool names = text.find("class_name") != std::string_view::npos || text.find("\\u00") != std::string_view::npos;
  if (report_.members[row].kind == "json" && names) judge_json(piece, row, source.view());
  return search_all(piece, row, true);
}

}  // namespace assay::scan
