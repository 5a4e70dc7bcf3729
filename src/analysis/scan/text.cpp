// SPDX-License-Identifier: Apache-2.0
// Text: nothing of it runs by being read, with five exceptions. A torch package's loader runs its Python source, TorchScript can write
// files, Keras builds what its configuration names, a chat template is Jinja, which some programs render without a sandbox, and YAML has
// tags for Python objects, which some programs let it make.
#include <algorithm>

#include "analysis/scan/scanner.hpp"
#include "analysis/scan/templates.hpp"
#include "analysis/scan/yaml_tags.hpp"
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

/// Classes of Keras's own that run or load what the file names.
constexpr struct {
  std::string_view name, words;
} kKerasReaching[] = {
    {"Lambda", "has a Lambda layer: Keras would run a function of the file's choice"},
    {"TorchModuleWrapper", "has a TorchModuleWrapper layer: some versions of Keras would load a pickled module from its configuration"},
    {"TFSMLayer", "has a TFSMLayer: Keras would load a SavedModel of the file's choice"},
    {"JaxLayer", "has a JaxLayer: Keras would call functions of the file's choice"},
    {"FlaxLayer", "has a FlaxLayer: Keras would call functions of the file's choice"},
};

/// What such a class does; "" for all others.
std::string_view keras_reaching(std::string_view class_name) {
  for (const auto& row : kKerasReaching)
    if (row.name == class_name) return row.words;
  return {};
}

/// Functions of Keras's own that do nothing but arithmetic are in these modules; those of keras.utils and keras.config do more.
bool is_keras_arithmetic(std::string_view module) {
  constexpr std::string_view kModules[] = {"activations", "constraints", "initializers", "losses",
                                           "metrics",     "ops",         "optimizers",   "regularizers"};
  module.remove_prefix(std::min(module.size(), module.find('.') + 1));
  for (const std::string_view step : {std::string_view("src."), std::string_view("api.")})
    if (module.starts_with(step)) module.remove_prefix(step.size());
  return std::ranges::find(kModules, module.substr(0, module.find('.'))) != std::end(kModules);
}

/// An object that names what Keras would build.
struct Named {
  std::string class_name, module, config;
  std::string_view wanted() const { return class_name == "function" ? config : class_name; }
};

Verdict judge_named(const Named& named) {
  if (named.class_name.empty()) return Verdict::clean;
  if (named.class_name == "__lambda__") return Verdict::dangerous;
  if (is_keras_module(named.module)) {
    const bool known = named.class_name == "function" ? named.module.empty() || is_keras_arithmetic(named.module)
                                                      : keras_reaching(named.class_name).empty();
    return known ? Verdict::clean : Verdict::unknown;
  }
  if (judge_danger(named.module, named.wanted()).verdict == Verdict::dangerous) return Verdict::dangerous;
  return named.module == "builtins" ? Verdict::clean : Verdict::unknown;  // a function of the user's own, which is not in the file
}

/// The objects of a JSON document that are not harmless to build.
class KerasHandler final : public json::Handler {
 public:
  std::vector<Named> found;
  std::string reaching;  ///< a word of a chat template that reaches for the interpreter

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number(std::string_view) override { return true; }
  bool end_array() override { return true; }
  bool string(std::string_view text) override {
    if (reaching.empty() && (key_ == "chat_template" || key_ == "template")) reaching = reaching_word(text);
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

/// A chat template in which this word was found; "" for none.
void Scanner::tell_template(const Piece& piece, Row row, std::string_view word, std::optional<std::uint64_t> position) {
  if (word.empty()) return;
  raise(row, Verdict::dangerous);
  find(row, piece, Code::dangerous_call,
       concat("has a chat template that reaches for the interpreter with ", escape(word, 40),
              ", which runs where it is rendered without a sandbox"),
       position);
}

/// What Keras would build from a configuration.
void Scanner::judge_json(const Piece& piece, Row row, ByteView text) {
  KerasHandler handler;
  if (auto read = json::parse(text, handler, limits_); !read) {
    // Python's reader takes more than the standard does.
    mark(row, Status::incomplete);
    find(row, piece, Code::unparsed_bytes, concat("names classes or has a template, but cannot be read as JSON: ", read.error().what()),
         read.error().where().offset);
  }
  tell_template(piece, row, handler.reaching);
  for (const Named& named : handler.found) {
    const Verdict verdict = judge_named(named);
    raise(row, verdict);
    std::string words;
    if (named.class_name == "__lambda__") words = "holds a Python function as code, which Keras would run";
    else if (!keras_reaching(named.class_name).empty() && is_keras_module(named.module)) words = keras_reaching(named.class_name);
    else {
      const Judgement judged = judge_danger(named.module, named.wanted());
      words = concat("names ", escape(concat(named.module, '.', named.wanted()), 200), " for Keras to build, which ",
                     verdict == Verdict::dangerous ? judged.why : "is not on the list of known names");
    }
    find(row, piece, verdict == Verdict::dangerous ? Code::dangerous_import : Code::unknown_import, std::move(words));
  }
}

/// Python objects that YAML's tags name.
void Scanner::judge_yaml(const Piece& piece, Row row, std::string_view text) {
  constexpr std::size_t kMost = 1000;
  std::size_t from = 0;
  for (std::size_t n = 0; n < kMost; ++n) {
    const auto tag = find_python_tag(text, from);
    if (!tag) return;
    from = static_cast<std::size_t>(tag->end);
    if (tag->kind == "prefix") {
      raise(row, Verdict::unknown);
      find(row, piece, Code::unknown_import, "shortens YAML tags, which may then name any Python object for an unsafe loader", tag->at);
      continue;
    }
    const Judgement judged = judge_path(tag->name);
    if (judged.verdict == Verdict::clean && !is_restricted(judged.rule)) continue;
    const bool dangerous = judged.verdict == Verdict::dangerous;
    raise(row, dangerous ? Verdict::dangerous : Verdict::unknown);
    find(row, piece, dangerous ? Code::dangerous_import : Code::unknown_import,
         concat("has a YAML tag by which an unsafe loader imports ", escape(tag->name, 200), ", which ",
                judged.why.empty() ? "is given what the file says" : judged.why),
         tag->at);
  }
  mark(row, Status::incomplete);
  find(row, piece, Code::limit_exceeded, concat("more than ", kMost, " YAML tags name Python objects"), from);
}

/// Source that a loader would run or compile.
void Scanner::judge_source(const Piece& piece, Row row, std::string_view text) {
  if (piece.runs_source && piece.name.ends_with(".py") && text.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    raise(row, Verdict::unknown);
    find(row, piece, Code::unknown_call, "is Python source, which torch.package would run", 0);
  }
  constexpr std::string_view kReaching[] = {"ops.aten.save",      "torch.save(",         "torch.from_file(",
                                            "ops.aten.from_file", "ops.image.read_file", "ops.image.write_file",
                                            "rpc_sync(",          "rpc_async(",          "rpc_remote("};
  for (const std::string_view word : kReaching) {
    const std::size_t at = piece.torch_script ? text.find(word) : std::string_view::npos;
    if (at == std::string_view::npos) continue;
    raise(row, Verdict::unknown);
    find(row, piece, Code::unknown_call, concat("is TorchScript that would reach files or other machines: ", word), at);
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
  const auto has = [text](std::string_view word) { return text.find(word) != std::string_view::npos; };
  const std::string name = lowered(piece.name.empty() ? file_name_ : std::string_view(piece.name));
  if (name.ends_with(".yaml") || name.ends_with(".yml")) judge_yaml(piece, row, text);
  const std::size_t mark = text.starts_with("\xef\xbb\xbf") ? 3 : 0;  // Python's reader steps over it
  if (report_.members[row].kind == "json" && (has("class_name") || has("chat_template") || has("\\u00")))
    judge_json(piece, row, source.view().from(mark));
  else if (is_named_as_template(name)) {
    const std::string_view word = reaching_word(text);
    if (!word.empty()) tell_template(piece, row, word, static_cast<std::uint64_t>(word.data() - text.data()));
  }
  return search_all(piece, row, true);
}

}  // namespace assay::scan
