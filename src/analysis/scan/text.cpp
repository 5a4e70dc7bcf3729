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
constexpr std::uint64_t kLongestSource = std::uint64_t{16} << 20;

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

/// The objects of a JSON document that name what Keras would build.
class KerasHandler final : public json::Handler {
 public:
  struct Named {
    std::string class_name, module, config;
  };
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
    if (!open_.back().class_name.empty() && found.size() < kMost) found.push_back(std::move(open_.back()));
    open_.pop_back();
    key_.clear();
    return true;
  }
  bool start_array() override {
    key_.clear();
    return true;
  }

 private:
  static constexpr std::size_t kMost = 100'000;
  std::vector<Named> open_;
  std::string key_;
};

bool is_keras_module(std::string_view module) {
  const std::string_view top = module.substr(0, module.find('.'));
  return module.empty() || top == "keras" || top == "keras_nlp" || top == "keras_hub" || top == "keras_cv";
}

}  // namespace

Result<void> Scanner::judge_json(const Piece& piece, Row row, ByteView text) {
  KerasHandler handler;
  if (auto read = json::parse(text, handler, limits_); !read) return {};  // no JSON: nothing to build
  const auto tell = [&](Verdict verdict, std::string words) {
    raise(row, verdict);
    find(row, piece, verdict == Verdict::dangerous ? Code::dangerous_import : Code::unknown_import, std::move(words));
  };
  for (const auto& named : handler.found) {
    if (named.class_name == "__lambda__") {
      tell(Verdict::dangerous, "holds a Python function as code, which Keras would run");
    } else if (named.class_name == "Lambda" && is_keras_module(named.module)) {
      tell(Verdict::unknown, "has a Lambda layer: Keras would run a function of the file's choice");
    } else if (!is_keras_module(named.module)) {
      const std::string_view wanted = named.class_name == "function" ? named.config : named.class_name;
      const std::string name = concat(named.module, '.', wanted);
      const Judgement judged = judge_danger(named.module, wanted);
      if (named.module == "builtins" && judged.verdict == Verdict::clean)
        continue;  // a function of the user's own, which is not in the file
      if (judged.verdict == Verdict::dangerous)
        tell(Verdict::dangerous, concat("names ", escape(name, 200), " for Keras to build, which ", judged.why));
      else tell(Verdict::unknown, concat("names ", escape(name, 200), " for Keras to build, which is not on the list of known names"));
    }
  }
  return {};
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
  const std::uint64_t size = piece.source.size();
  ASSAY_TRY(const ByteBlock source, piece.source.view(0, std::min(size, kLongestSource)));
  const std::string_view text = source.view().text();
  judge_source(piece, row, text);
  if (size <= kLongestSource && text.find("\"class_name\"") != std::string_view::npos) ASSAY_CHECK(judge_json(piece, row, source.view()));
  return search_all(piece, row, true);
}

}  // namespace assay::scan
