// SPDX-License-Identifier: Apache-2.0
#include "model/naming.hpp"

#include <algorithm>
#include <array>
#include <optional>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/arith.hpp"
#include "base/same_text.hpp"
#include "base/text.hpp"

namespace assay::model {

namespace {

enum Part : std::uint8_t { kModel, kOptimizer, kEma, kScheduler, kCallbacks, kOther, kParts };
constexpr std::string_view kPartNames[kParts] = {"model", "optimizer", "ema", "scheduler", "callbacks", "other"};

// What the first segment of a name says, the first row that matches. A word must stand alone ("model_ema", "netEMA"); other texts may
// stand anywhere ("optimizer_states", "D_optim"). Rows marked so count only where the file keeps more than a state dict.
constexpr struct {
  std::string_view text;
  bool word;
  bool in_training_only;
  Part part;
} kRows[] = {
    {"optim", false, false, kOptimizer},
    {"ema", true, false, kEma},
    {"shadow_params", false, false, kEma},
    {"averaged", true, false, kEma},
    {"swa", true, false, kEma},
    {"sched", false, true, kScheduler},
    {"callback", true, true, kCallbacks},
    {"callbacks", true, true, kCallbacks},
    {"rng", true, true, kOther},
    {"random", true, true, kOther},
    {"scaler", true, true, kOther},
    {"amp", true, true, kOther},
    {"loops", true, true, kOther},
    {"sampler", true, true, kOther},
    {"dataloader", true, true, kOther},
    {"datamodule", true, true, kOther},
    {"hparams", true, true, kOther},
    {"args", true, true, kOther},
};

// Keys under which training programs keep the model.
constexpr std::string_view kContainers[] = {"state_dict", "model_state_dict", "model_state", "model",
                                            "net",        "network",          "weights",     "params"};

constexpr std::string_view kModule = "module";
constexpr std::string_view kWrappers[] = {kModule, "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_forward_module"};
constexpr std::size_t kNoWrapper = std::size(kWrappers);

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

// Whatever its case. As a word it ends where letters end, or where a small letter meets a capital.
bool holds(std::string_view segment, std::string_view text, bool word) {
  const auto equal = [](char a, char b) { return lower(a) == b; };
  for (auto at = segment.begin(); at != segment.end(); ++at) {
    at = std::search(at, segment.end(), text.begin(), text.end(), equal);
    if (at == segment.end()) return false;
    if (!word) return true;
    const auto end = at + static_cast<std::ptrdiff_t>(text.size());
    const bool begins = at == segment.begin() || !is_letter(at[-1]) || (is_upper(*at) && !is_upper(at[-1]));
    const bool ends = end == segment.end() || !is_letter(*end) || (is_upper(*end) && !is_upper(end[-1]));
    if (begins && ends) return true;
  }
  return false;
}

bool is_container(std::string_view segment) { return std::ranges::find(kContainers, segment) != std::end(kContainers); }
/// Takes the first segment off.
std::string_view take_segment(std::string_view& rest) {
  const std::size_t dot = rest.find('.');
  const std::string_view segment = rest.substr(0, dot);
  rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  return segment;
}

struct Guess {
  Part part = kModel;
  bool in_training_only = false;
  bool shows_training = false;
};

Guess guess_segment(std::string_view segment) {
  for (const auto& row : kRows)
    if (holds(segment, row.text, row.word)) return {row.part, row.in_training_only, row.part == kOptimizer};
  return {};
}

Guess guess(std::string_view first, std::string_view second, bool is_optimizer) {
  // An optimizer's own state dict is {"state": {0: …}, "param_groups": […]}.
  if (first == "state" && (is_optimizer || is_number(second))) return {kOptimizer, false, true};
  Guess found = guess_segment(first);
  if (!is_container(first)) return found;
  found.shows_training = true;
  if (guess_segment(second).part == kEma) found.part = kEma;
  return found;
}

std::size_t wrapper_index(std::string_view segment) {
  if (segment.empty() || (segment[0] != '_' && segment[0] != 'm')) return kNoWrapper;
  return static_cast<std::size_t>(std::ranges::find(kWrappers, segment) - std::begin(kWrappers));
}

/// Whether a wrapper can be among the segments at all: one begins with '_' or "mo", the first one aside, which is often "model".
bool may_be_wrapped(std::string_view name) {
  if (name.starts_with('_') || name.starts_with(kModule)) return true;
  std::size_t i = 0;
#ifdef __SSE2__
  if (name.size() >= 18) {
    const auto is = [&name](std::size_t at, char c) {
      return _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(name.data() + at)), _mm_set1_epi8(c));
    };
    const auto begins = [&is](std::size_t at) {
      const __m128i wrapper = _mm_or_si128(is(at + 1, '_'), _mm_and_si128(is(at + 1, 'm'), is(at + 2, 'o')));
      return _mm_movemask_epi8(_mm_and_si128(is(at, '.'), wrapper)) != 0;
    };
    for (; i + 18 < name.size(); i += 16)
      if (begins(i)) return true;
    if (begins(i = name.size() - 18)) return true;
    i = name.size() - 2;
  }
#endif
  const std::string_view rest = name.substr(i);
  return rest.find("._") != std::string_view::npos || rest.find(".mo") != std::string_view::npos;
}

// Calls each(segment, wrapper) for the segments in order; the wrapper is kNoWrapper for those that are none.
template <class Each>
void for_each_segment(std::string_view name, Each&& each) {
  std::string_view before;
  bool behind_wrapper = false;
  std::size_t index = 0;
  for (std::string_view rest = name; !rest.empty(); ++index) {
    const bool last = rest.find('.') == std::string_view::npos;
    const std::string_view segment = take_segment(rest);
    std::size_t wrapper = last ? kNoWrapper : wrapper_index(segment);
    if (wrapper == 0) {
      const bool front = index == 0 || (index == 1 && (is_container(before) || guess_segment(before).part == kEma));
      const std::string_view next = rest.substr(0, rest.find('.'));
      if (!front && !behind_wrapper && (wrapper_index(next) == kNoWrapper || next == kModule)) wrapper = kNoWrapper;
    }
    each(segment, wrapper);
    behind_wrapper = wrapper != kNoWrapper;
    before = segment;
  }
}

}  // namespace

std::vector<Section> find_sections(const Checkpoint& checkpoint) {
  const bool is_optimizer =
      std::ranges::any_of(checkpoint.metadata, [](const MetadataEntry& e) { return e.key.starts_with("param_groups"); });
  bool training = false;
  std::vector<Guess> guesses(checkpoint.tensors.size());
  std::string_view before;            // the first two segments and their dots
  constexpr std::size_t kAhead = 16;  // names are far apart in a header
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    if (i + kAhead < guesses.size()) __builtin_prefetch(checkpoint.tensors[i + kAhead].name.data());
    std::string_view rest = checkpoint.tensors[i].name;
    if (!before.empty() && begins_with(rest, before)) {
      guesses[i] = guesses[i - 1];
      continue;
    }
    const std::string_view name = rest;
    const std::string_view first = take_segment(rest), second = take_segment(rest);
    before = name.substr(0, rest.empty() ? 0 : name.size() - rest.size());
    guesses[i] = guess(first, second, is_optimizer);
    training = training || guesses[i].shows_training;
  }
  std::array<Section, kParts> sections;
  std::vector<bool> counted(checkpoint.storages.size());
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    Section& section = sections[guesses[i].in_training_only && !training ? kModel : guesses[i].part];
    ++section.tensors;
    const std::uint32_t storage = checkpoint.tensors[i].storage;
    if (storage == kNone || counted[storage]) continue;
    counted[storage] = true;
    section.bytes = checked_add(section.bytes, checkpoint.storages[storage].nbytes).value_or(section.bytes);
  }
  std::vector<Section> found;
  for (std::size_t part = 0; part < kParts; ++part) {
    if (sections[part].tensors == 0) continue;
    found.push_back(std::move(sections[part]));
    found.back().name = kPartNames[part];
  }
  return found;
}

std::string_view section_of(const Checkpoint& checkpoint, const Tensor& tensor) {
  const auto has = [&](Part part) {
    return std::ranges::find(checkpoint.sections, kPartNames[part], &Section::name) != checkpoint.sections.end();
  };
  std::string_view rest = tensor.name;
  const std::string_view first = take_segment(rest);
  const Guess found = guess(first, take_segment(rest), first == "state" && has(kOptimizer));
  // What counts in training checkpoints only is a section where it was counted.
  return kPartNames[has(found.part) ? found.part : kModel];
}

std::string without_wrappers(std::string_view name) {
  std::string bare;
  for_each_segment(name, [&](std::string_view segment, std::size_t wrapper) {
    if (wrapper == kNoWrapper) {
      bare += segment;
      bare += '.';
    }
  });
  // The last segment has no dot of its own, unless the name ends with one.
  if (!bare.empty() && !name.ends_with('.')) bare.pop_back();
  return bare;
}

void note_wrappers(Checkpoint& checkpoint) {
  std::array<bool, kNoWrapper> seen{};
  std::uint64_t names = 0;
  std::optional<std::string_view> example;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!may_be_wrapped(tensor.name)) continue;
    bool any = false;
    for_each_segment(tensor.name, [&](std::string_view, std::size_t wrapper) {
      if (wrapper == kNoWrapper) return;
      any = seen[wrapper] = true;
    });
    names += any;
    if (any && !example) example = tensor.name;
  }
  if (!example) return;
  std::vector<std::string> prefixes;
  for (std::size_t i = 0; i < kNoWrapper; ++i)
    if (seen[i]) prefixes.push_back(concat(kWrappers[i], "."));
  const std::string bare = without_wrappers(*example);
  Finding finding(Code::wrapper_prefix,
                  concat(names, " of ", counted(checkpoint.tensors.size(), "name", "names"), names == 1 ? " has" : " have",
                         " the prefix of a wrapper around the model (", name_list(prefixes, prefixes.size()), "); without it ",
                         quote(*example, 120), " is ", quote(bare, 120)));
  finding.facts = {{"tensors", names}, {"prefixes", std::move(prefixes)}, {"example", std::string(*example)}, {"stripped", bare}};
  checkpoint.add(std::move(finding));
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string numberless(std::string_view name) {
  std::string out;
  while (true) {
    const std::size_t dot = name.find('.');
    const std::string_view component = name.substr(0, dot);
    if (is_number(component)) out += '#';
    else out += component;
    if (dot == std::string_view::npos) return out;
    out += '.';
    name.remove_prefix(dot + 1);
  }
}

}  // namespace assay::model
