// SPDX-License-Identifier: Apache-2.0
#include "analysis/select.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_set>

#include "analysis/part_names.hpp"
#include "analysis/summary.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "model/naming.hpp"

namespace assay::analysis {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "10M", "1.5G", "4096": a number and a unit of `step` to its power.
std::optional<std::uint64_t> scaled_number(std::string_view text, double step) {
  constexpr std::string_view kUnits = "kmgt";
  double unit = 1;
  for (const std::string_view tail : {"ib", "b"})  // KiB, KB, B
    if (step == 1024 && text.size() > tail.size() && equals_ignoring_case(text.substr(text.size() - tail.size()), tail)) {
      text.remove_suffix(tail.size());
      break;
    }
  if (text.empty()) return std::nullopt;
  const char last = step == 1000 && lower(text.back()) == 'b' ? 'g' : lower(text.back());  // 7B parameters
  if (const std::size_t power = kUnits.find(last); power != std::string_view::npos) {
    for (std::size_t i = 0; i <= power; ++i) unit *= step;
    text.remove_suffix(1);
  }
  if (unit == 1) return number_of(text);
  const std::size_t dot = text.find('.');
  const auto whole = number_of(text.substr(0, dot));
  if (!whole) return std::nullopt;
  double value = static_cast<double>(*whole);
  if (dot != std::string_view::npos) {
    double place = 1;
    for (const char c : text.substr(dot + 1)) {
      if (c < '0' || c > '9') return std::nullopt;
      value += (c - '0') * (place /= 10);
    }
  }
  if (value * unit >= 1.8e19) return std::nullopt;
  return static_cast<std::uint64_t>(value * unit);
}

bool contains_ignoring_case(std::string_view text, std::string_view lowered_part) {
  return std::ranges::search(text, lowered_part, {}, lower).begin() != text.end() || lowered_part.empty();
}

std::optional<std::uint64_t> number_behind(std::string_view name, std::span<const std::string_view> components) {
  bool behind = false;
  while (true) {
    const std::size_t dot = name.find('.');
    const std::string_view component = name.substr(0, dot);
    if (behind)
      if (const auto number = number_of(component)) return number;
    behind = std::ranges::find(components, component) != components.end();
    if (dot == std::string_view::npos) return std::nullopt;
    name.remove_prefix(dot + 1);
  }
}

constexpr std::string_view kValueKeys[] = {"nan", "inf", "zero",     "absmax", "std", "mean",    "min",
                                           "max", "l2",  "kurtosis", "skew",   "dup", "changed", "rel"};

}  // namespace

std::optional<std::uint64_t> expert_of(std::string_view name) {
  constexpr std::string_view kNames[] = {"experts", "expert", "local_experts"};
  return number_behind(name, kNames);
}

std::optional<std::uint64_t> layer_of(std::string_view name) {
  constexpr std::string_view kNames[] = {"layers", "layer", "h", "blocks", "block"};
  if (const auto number = number_behind(name, kNames)) return number;
  while (!name.empty()) {
    const std::size_t dot = name.find('.');
    if (const auto number = number_of(name.substr(0, dot))) return number;
    if (dot == std::string_view::npos) break;
    name.remove_prefix(dot + 1);
  }
  return std::nullopt;
}

/// "[2,3]" is what JSON and messages call a shape, "2x3" what tables do.
std::string_view without_brackets(std::string_view shape) {
  return shape.size() >= 2 && shape.front() == '[' && shape.back() == ']' ? shape.substr(1, shape.size() - 2) : shape;
}

/// What a word of `readable:` asks for; nothing for another word.
std::optional<bool> truth_in(std::string_view text) {
  if (text == "yes" || text == "true") return true;
  if (text == "no" || text == "false") return false;
  return std::nullopt;
}

bool is_shape(std::string_view text) {
  for (std::string_view rest = without_brackets(text); !rest.empty();) {
    const std::size_t end = rest.find_first_of(",x");
    const std::string_view part = rest.substr(0, end);
    if (part != "*" && !number_of(part)) return false;
    if (end == std::string_view::npos) return true;
    rest.remove_prefix(end + 1);
    if (rest.empty()) return false;
  }
  return text == "[]";
}

class FilterParser {
 public:
  using Term = Filter::Term;
  using Kind = Filter::Kind;

  explicit FilterParser(std::string_view text) : text_(text) {}

  Result<Filter> run() {
    Filter filter;
    std::vector<Term> group;
    while (skip_spaces()) {
      if (text_[at_] == '|') {
        ++at_;
        if (group.empty()) return wrong("|", "needs a term before it");
        filter.groups_.push_back(std::move(group));
        group.clear();
        if (!skip_spaces()) return wrong("|", "needs a term behind it");
        continue;
      }
      Term term;
      if (text_[at_] == '-') {
        term.negated = true;
        ++at_;
      }
      ASSAY_CHECK(read_term(term));
      group.push_back(std::move(term));
    }
    if (!group.empty()) filter.groups_.push_back(std::move(group));
    return filter;
  }

 private:
  struct Key {
    std::string_view name;
    Kind kind;
    double unit;  // 0: no number; 1: a plain number or a range; else numbers with units
  };
  static constexpr Key kKeys[] = {{"dtype", Kind::dtype, 0},    {"role", Kind::role, 0},        {"shape", Kind::shape, 0},
                                  {"file", Kind::file, 0},      {"name", Kind::name, 0},        {"readable", Kind::readable, 0},
                                  {"ndim", Kind::ndim, 1},      {"layer", Kind::layer, 1},      {"expert", Kind::expert, 1},
                                  {"size", Kind::size, 1024},   {"params", Kind::params, 1000}, {"numel", Kind::numel, 1000},
                                  {"section", Kind::section, 0}};

  bool skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size();
  }

  static std::unexpected<Error> wrong(std::string_view word, std::string_view why) {
    return fail(
        Error(Code::usage, concat("filter: ", quote(word), " ", why))
            .advise(
                "words and globs match names; keys: dtype: role: section: shape: ndim: layer: expert: file: readable: size> params> numel>; "
                "space is and, | is or, - is not"));
  }

  /// Up to the next space outside quotes; `quoted` tells where quotes stood at the front.
  std::string_view raw_word() {
    const std::size_t begin = at_;
    bool inside = false;
    for (; at_ < text_.size() && (inside || text_[at_] != ' '); ++at_)
      if (text_[at_] == '"') inside = !inside;
    return text_.substr(begin, at_ - begin);
  }

  /// "layer 11" is layer:11, not names that hold both words: many call their layers something else. Takes the number.
  std::pair<Kind, std::string_view> spoken(std::string_view word) {
    const auto is = [&](std::string_view one, std::string_view many) {
      return equals_ignoring_case(word, one) || equals_ignoring_case(word, many);
    };
    const bool layer = is("layer", "layers");
    if (!layer && !is("expert", "experts")) return {};
    const std::size_t behind = at_;
    skip_spaces();
    const std::string_view number = raw_word();
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto fits = [&](char c) { return is_digit(c) || c == '-' || c == ','; };
    if (!number.empty() && std::ranges::all_of(number, fits) && is_digit(number.front()) && is_digit(number.back()))
      return {layer ? Kind::layer : Kind::expert, number};
    at_ = behind;
    return {};
  }

  /// "a OR b", "not a", "(a": no name is meant, where other words stand beside it.
  bool is_operator(std::string_view word) const {
    if (word[0] == '(') return true;
    constexpr std::string_view kOperators[] = {"and", "or", "not", "&&", "&", "!"};
    return word.size() < text_.size() &&
           std::ranges::any_of(kOperators, [&](std::string_view known) { return equals_ignoring_case(word, known); });
  }

  Result<void> read_term(Term& term) {
    const std::string_view raw = raw_word();
    if (raw.empty()) return wrong("-", "needs a term behind it");
    if (std::ranges::count(raw, '"') % 2 != 0) return wrong(raw, "has no closing quote");
    if (const auto [kind, number] = spoken(raw); !number.empty()) {
      term.kind = kind;
      return read_numbers(term, number, ":", number, 1);
    }
    if (is_operator(raw)) return wrong(raw, "is no operator; in quotes it is a part of names");
    const std::size_t sign = raw[0] == '"' ? std::string_view::npos : raw.find_first_of(":<>=");
    if (sign == std::string_view::npos) return read_words(term, raw, "|");
    const std::string_view name = raw.substr(0, sign);
    const auto* key = std::ranges::find(kKeys, name, &Key::name);
    if (key == std::end(kKeys)) {
      if (std::ranges::find(kValueKeys, name) != std::end(kValueKeys))
        return wrong(raw, "needs a pass over the values, which are not read here; see assay stats");
      return wrong(raw, concat("has no known key ", quote(name)));
    }
    term.kind = key->kind;
    std::string_view value = raw.substr(sign);
    const std::size_t operator_size = value.size() > 1 && value[1] == '=' && value[0] != ':' ? 2 : 1;
    const std::string_view comparison = value.substr(0, operator_size);
    value.remove_prefix(operator_size);
    if (value.empty()) return wrong(raw, "needs a value");
    if (key->unit > 0) return read_numbers(term, raw, comparison, value, key->unit);
    if (comparison != ":" && comparison != "=") return wrong(raw, "takes : only");
    if (term.kind == Kind::readable && !truth_in(value)) return wrong(raw, "takes yes or no");
    ASSAY_CHECK(read_words(term, value, term.kind == Kind::shape ? "|" : "|,"));
    if (term.kind == Kind::shape && std::ranges::any_of(term.words, [](const Filter::Word& word) { return !is_shape(word.text); }))
      return wrong(raw, "needs a shape, as in 4096x128, *x128 or [] for scalars");
    if (term.kind == Kind::role)
      for (const Filter::Word& word : term.words)
        if (std::ranges::find(role_words(), word.text) == role_words().end()) return no_such_role(word.text);
    return {};
  }

  static std::unexpected<Error> no_such_role(std::string_view word) {
    std::string known;
    for (const std::string_view role : role_words()) known += concat(known.empty() ? "" : " ", role);
    return fail(Error(Code::usage, concat("filter: there is no role ", quote(word))).advise(concat("the roles are ", known)));
  }

  Result<void> read_words(Term& term, std::string_view raw, std::string_view separators) {
    while (true) {
      Filter::Word word;
      if (!raw.empty() && raw[0] == '"') {
        const std::size_t close = raw.find('"', 1);
        word.text = raw.substr(1, close - 1);
        word.exact = true;
        raw.remove_prefix(close + 1);
      } else {
        const std::size_t end = std::min(raw.find_first_of(separators), raw.size());
        word.text = raw.substr(0, end);
        raw.remove_prefix(end);
        word.any_case = std::ranges::none_of(word.text, [](char c) { return c >= 'A' && c <= 'Z'; });
        word.glob = word.text.find_first_of("*?") != std::string::npos;
      }
      if (word.text.empty()) return wrong(text_, "has an empty word");
      term.words.push_back(std::move(word));
      if (raw.empty()) return {};
      if (separators.find(raw[0]) == std::string_view::npos) return wrong(raw, "stands behind a closing quote");
      raw.remove_prefix(1);
    }
  }

  Result<void> read_numbers(Term& term, std::string_view raw, std::string_view comparison, std::string_view value, double unit) {
    const auto parse = [unit](std::string_view text) { return unit == 1 ? number_of(text) : scaled_number(text, unit); };
    if (comparison == ":" || comparison == "=") {
      for (bool more = true; more;) {
        const std::size_t end = value.find_first_of(",|");
        more = end != std::string_view::npos;
        const std::string_view part = value.substr(0, end);
        const std::size_t dash = part.find('-');
        const auto least = parse(part.substr(0, dash));
        const auto most = dash == std::string_view::npos ? least : parse(part.substr(dash + 1));
        if (!least || !most) return wrong(raw, "needs numbers, as in layer:0-7,31");
        term.bounds.push_back({*least, *most});
        if (more) value.remove_prefix(end + 1);
      }
      return {};
    }
    const auto number = parse(value);
    if (!number) return wrong(raw, unit == 1 ? "needs a number" : "needs a number, as in 10M or 1.5G");
    if (comparison == ">") term.bounds.push_back({*number == kMost ? kMost : *number + 1, *number == kMost ? 0 : kMost});
    else if (comparison == ">=") term.bounds.push_back({*number, kMost});
    else if (comparison == "<") term.bounds.push_back(*number == 0 ? Filter::Bounds{1, 0} : Filter::Bounds{0, *number - 1});
    else term.bounds.push_back({0, *number});
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Result<Filter> Filter::parse(std::string_view text) { return FilterParser(text).run(); }

namespace {

bool shape_matches(std::string_view pattern, std::span<const std::uint64_t> shape) {
  pattern = without_brackets(pattern);
  if (pattern.empty()) return shape.empty();
  for (std::size_t i = 0;; ++i) {
    const std::size_t end = pattern.find_first_of(",x");
    const std::string_view part = pattern.substr(0, end);
    if (i >= shape.size()) return false;
    if (part != "*" && number_of(part) != shape[i]) return false;
    if (end == std::string_view::npos) return i + 1 == shape.size();
    pattern.remove_prefix(end + 1);
  }
}

}  // namespace

bool Filter::holds(const Term& term, const Checkpoint& checkpoint, const Tensor& tensor) {
  const auto any_word = [&](std::string_view text) {
    return std::ranges::any_of(term.words, [&](const Word& word) {
      if (word.glob) return word.any_case ? glob_match(word.text, lowered(text)) : glob_match(word.text, text);
      return word.any_case ? contains_ignoring_case(text, word.text) : text.find(word.text) != std::string_view::npos;
    });
  };
  const auto in_bounds = [&](std::optional<std::uint64_t> n) {
    return n && std::ranges::any_of(term.bounds, [&](const Bounds& b) { return *n >= b.least && *n <= b.most; });
  };
  switch (term.kind) {
    case Kind::name: return any_word(tensor.name);
    case Kind::dtype:
      return std::ranges::any_of(term.words, [&](const Word& word) {
        return glob_match(lowered(word.text), lowered(dtype_name(tensor.dtype))) || equals_ignoring_case(word.text, tensor.source_dtype);
      });
    case Kind::role: return std::ranges::any_of(term.words, [&](const Word& word) { return has_role(tensor, word.text); });
    case Kind::shape: return std::ranges::any_of(term.words, [&](const Word& word) { return shape_matches(word.text, tensor.shape); });
    case Kind::file: {
      const CheckpointFile* file = checkpoint.file_of(tensor);
      return file != nullptr && any_word(file->name);
    }
    case Kind::readable: return tensor.readable == truth_in(term.words[0].text);
    case Kind::section: return any_word(model::section_of(checkpoint, tensor));
    case Kind::ndim: return in_bounds(tensor.shape.size());
    case Kind::layer: return in_bounds(layer_of(tensor.name));
    case Kind::expert: return in_bounds(expert_of(tensor.name));
    case Kind::size: return in_bounds(tensor_bytes(checkpoint, tensor));
    case Kind::params:
    case Kind::numel: return in_bounds(tensor.numel);
  }
  return false;
}

bool Filter::match(const Checkpoint& checkpoint, const Tensor& tensor) const {
  return groups_.empty() || std::ranges::any_of(groups_, [&](const std::vector<Term>& group) {
           return std::ranges::all_of(group, [&](const Term& term) { return holds(term, checkpoint, tensor) != term.negated; });
         });
}

bool pattern_matches(std::string_view pattern, std::string_view name) {
  if (pattern == name) return true;
  if (name.starts_with(pattern) && (pattern.ends_with('.') || name[pattern.size()] == '.')) return true;
  if (pattern.find_first_of("*?") != std::string_view::npos && glob_match(pattern, name)) return true;
  return pattern.find('\\') != std::string_view::npos && pattern == escape(name);
}

Selection select(const Checkpoint& checkpoint, std::span<const std::uint32_t> order, std::span<const std::string> patterns,
                 const Filter& filter) {
  Selection selection;
  if (patterns.empty() && filter.takes_all()) {
    selection.tensors.assign(order.begin(), order.end());
    return selection;
  }
  std::vector<bool> used(patterns.size(), false);
  // A name that holds a star is itself before it is a pattern.
  std::vector<bool> literal(patterns.size(), false);
  for (std::size_t p = 0; p < patterns.size(); ++p)
    literal[p] = patterns[p].find_first_of("*?") != std::string::npos && checkpoint.find(patterns[p]) != nullptr;
  for (const std::uint32_t t : order) {
    const Tensor& tensor = checkpoint.tensors[t];
    bool chosen = patterns.empty();
    for (std::size_t p = 0; p < patterns.size(); ++p)
      if (literal[p] ? patterns[p] == tensor.name : pattern_matches(patterns[p], tensor.name)) chosen = used[p] = true;
    if (chosen && filter.match(checkpoint, tensor)) selection.tensors.push_back(t);
  }
  for (std::size_t p = 0; p < patterns.size(); ++p)
    if (!used[p]) selection.unmatched.push_back(patterns[p]);
  return selection;
}

namespace {

// A slip in a part of a name: every run of as many words as the pattern has is compared with it. The front of a name chooses by itself; of
// other runs the whole name is given.
std::vector<std::string_view> near_parts(std::string_view pattern, const std::vector<std::string_view>& names) {
  const auto words = static_cast<std::size_t>(std::ranges::count(pattern, '.')) + 1;
  std::vector<std::string_view> parts, whole;
  std::unordered_set<std::string_view> seen;
  for (const std::string_view name : names) {
    std::size_t end = std::string_view::npos;
    for (std::size_t i = 0, from = 0; i < words && from <= name.size(); ++i, from = end + 1)
      end = std::min(name.find('.', from), name.size());
    for (std::size_t begin = 0; end < name.size() || begin > 0;) {
      const std::string_view part = name.substr(begin, end - begin);
      if (seen.insert(part).second) {
        parts.push_back(part);
        whole.push_back(begin == 0 ? part : name);
      }
      if (end == name.size()) break;
      begin = name.find('.', begin) + 1;
      end = std::min(name.find('.', end + 1), name.size());
    }
  }
  std::vector<std::string_view> close = nearest(pattern, parts);
  for (std::string_view& part : close) part = whole[static_cast<std::size_t>(std::ranges::find(parts, part) - parts.begin())];
  return close;
}

}  // namespace

Error no_such_tensor(const Checkpoint& checkpoint, std::string_view pattern) {
  constexpr std::size_t kMostCompared = 20000;  // names compared by edit distance
  std::vector<std::string_view> names;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (names.size() >= kMostCompared) break;
    if (tensor.name.size() <= 512) names.push_back(tensor.name);
  }
  // A part of a name is the usual slip: those come first.
  std::vector<std::string_view> close;
  for (const std::string_view name : names)
    if (close.size() < 3 && !pattern.empty() && contains_ignoring_case(name, lowered(pattern))) close.push_back(name);
  if (close.empty() && pattern.size() <= 512) close = nearest(pattern, names);
  if (close.empty() && pattern.size() <= 512) close = near_parts(pattern, names);
  Error error(Code::no_such_tensor, concat("no tensor is named ", quote(pattern)));
  if (!close.empty()) {
    std::string advice = "did you mean ";
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < close.size(); ++i) {
      advice += concat(i == 0 ? "" : i + 1 == close.size() ? " or " : ", ", quote(close[i]));
      shown.emplace_back(close[i]);
    }
    error = std::move(std::move(error).advise(advice + "?")).fact("nearest", std::move(shown));
  }
  return std::move(error).of_tensor(pattern);
}

}  // namespace assay::analysis
