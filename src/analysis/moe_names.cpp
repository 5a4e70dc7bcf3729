// SPDX-License-Identifier: Apache-2.0
#include "analysis/moe_names.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace assay::analysis {
namespace {

struct Pattern {
  std::string_view text;
  Stacking stacking;
  ExpertLayout layout;
  bool strong;
};
constexpr Pattern kPatterns[] = {
#define ASSAY_MOE_EXPERTS(text, strong) {text, Stacking::per_expert, ExpertLayout::linear, strong},
#define ASSAY_MOE_STACKED(text, stacking, layout, strong) {text, Stacking::stacking, ExpertLayout::layout, strong},
#define ASSAY_MOE_ROUTER(text, axis)
#define ASSAY_MOE_SHARED(text)
#define ASSAY_MOE_PROJECTION(text, role)
#define ASSAY_MOE_SUFFIX(text, kind)
#include "analysis/moe_names.def"
#undef ASSAY_MOE_EXPERTS
#undef ASSAY_MOE_STACKED
#undef ASSAY_MOE_ROUTER
};

struct Router {
  std::string_view text;
  unsigned axis;
};
constexpr Router kRouters[] = {
#define ASSAY_MOE_EXPERTS(text, strong)
#define ASSAY_MOE_STACKED(text, stacking, layout, strong)
#define ASSAY_MOE_ROUTER(text, axis) {text, axis},
#include "analysis/moe_names.def"
#undef ASSAY_MOE_ROUTER
#undef ASSAY_MOE_SHARED
};

constexpr std::string_view kShared[] = {
#define ASSAY_MOE_ROUTER(text, axis)
#define ASSAY_MOE_SHARED(text) text,
#include "analysis/moe_names.def"
#undef ASSAY_MOE_SHARED
#undef ASSAY_MOE_PROJECTION
};

struct Projection {
  std::string_view text;
  ExpertRole role;
};
constexpr Projection kProjections[] = {
#define ASSAY_MOE_SHARED(text)
#define ASSAY_MOE_PROJECTION(text, role) {text, ExpertRole::role},
#include "analysis/moe_names.def"
#undef ASSAY_MOE_PROJECTION
#undef ASSAY_MOE_SUFFIX
};

struct Suffix {
  std::string_view text;
  PartKind kind;
};
constexpr Suffix kSuffixes[] = {
#define ASSAY_MOE_PROJECTION(text, role)
#define ASSAY_MOE_SUFFIX(text, kind) {text, PartKind::kind},
#include "analysis/moe_names.def"
};
#undef ASSAY_MOE_EXPERTS
#undef ASSAY_MOE_STACKED
#undef ASSAY_MOE_ROUTER
#undef ASSAY_MOE_SHARED
#undef ASSAY_MOE_PROJECTION
#undef ASSAY_MOE_SUFFIX

const Projection* find_projection(std::string_view text) {
  const auto* found = std::find_if(std::begin(kProjections), std::end(kProjections), [&](const Projection& p) { return p.text == text; });
  return found == std::end(kProjections) ? nullptr : found;
}

const Suffix* find_suffix(std::string_view text) {
  const auto* found = std::find_if(std::begin(kSuffixes), std::end(kSuffixes), [&](const Suffix& s) { return s.text == text; });
  return found == std::end(kSuffixes) ? nullptr : found;
}

struct Piece {
  const Projection* projection = nullptr;
  std::string_view name;    // the projection's part of the component
  std::string_view suffix;  // "blocks" of "gate_up_proj_blocks"
};

/// A component that is a projection, or one with a known suffix after an underscore.
Piece split_projection(std::string_view component) {
  if (const Projection* whole = find_projection(component)) return {whole, component, {}};
  for (std::size_t at = component.rfind('_'); at != std::string_view::npos && at > 0; at = component.rfind('_', at - 1)) {
    const Projection* found = find_projection(component.substr(0, at));
    if (found != nullptr && find_suffix(component.substr(at + 1)) != nullptr)
      return {found, component.substr(0, at), component.substr(at + 1)};
  }
  return {};
}

/// A number of at most nine digits without needless zeros.
std::optional<std::uint64_t> small_number(std::string_view text) {
  if (text.empty() || text.size() > 9 || (text[0] == '0' && text.size() > 1)) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

/// The next dotted component; takes it off the front, with its dot.
std::string_view take_component(std::string_view& rest) {
  const std::size_t dot = rest.find('.');
  const std::string_view first = rest.substr(0, dot);
  rest = dot == std::string_view::npos ? rest.substr(rest.size()) : rest.substr(dot + 1);
  return first;
}

/// What `mark` of `pattern` stands for in `component`; nothing when the rest differs.
std::optional<std::string_view> between(std::string_view pattern, char mark, std::string_view component) {
  const std::size_t at = pattern.find(mark);
  const std::string_view before = pattern.substr(0, at), after = pattern.substr(at + 1);
  if (component.size() <= before.size() + after.size() || !component.starts_with(before) || !component.ends_with(after))
    return std::nullopt;
  return component.substr(before.size(), component.size() - before.size() - after.size());
}

bool match_component(std::string_view wanted, std::string_view component, ExpertName& found, std::string_view& glued) {
  if (wanted.find('#') != std::string_view::npos) {
    const auto digits = between(wanted, '#', component);
    const auto number = digits ? small_number(*digits) : std::nullopt;
    if (number) found.expert = *number;
    // "linear_fc1.weight3": the word before the number is the suffix.
    if (number && !found.projection.empty()) found.suffix = component.substr(0, wanted.size() - 1);
    return number.has_value();
  }
  Piece piece;
  if (wanted.find('@') != std::string_view::npos) {
    const auto text = between(wanted, '@', component);
    piece = text ? split_projection(*text) : Piece();
    if (piece.projection == nullptr) return false;
  } else {
    if (wanted != component) return false;
    if (const Projection* named = find_projection(component)) piece = {named, component, {}};
  }
  if (piece.projection != nullptr) {
    found.projection = piece.name;
    found.role = piece.projection->role;
    glued = piece.suffix;
  }
  return true;
}

/// The projection within what follows an expert's number: its last component that is one, else its first.
void find_in_rest(std::string_view rest, ExpertName& found) {
  const std::string_view whole = rest;
  while (!rest.empty()) {
    const std::string_view component = take_component(rest);
    const Piece piece = split_projection(component);
    if (piece.projection == nullptr) continue;
    found.projection = piece.name;
    found.role = piece.projection->role;
    found.suffix = piece.suffix.empty() ? rest : piece.suffix;
  }
  if (found.projection.empty()) {
    rest = whole;
    found.projection = take_component(rest);
    found.suffix = rest;
    if (find_suffix(found.projection) != nullptr && rest.empty()) {  // "experts.3.weight": the expert is one matrix
      found.suffix = found.projection;
      found.projection = {};
    }
  }
}

/// Tries one pattern against the components from `at` on.
std::optional<ExpertName> match(const Pattern& pattern, std::string_view name, std::size_t at) {
  ExpertName found;
  found.stacking = pattern.stacking;
  found.layout = pattern.layout;
  found.strong = pattern.strong;
  std::string_view wanted = pattern.text, rest = name.substr(at), glued;
  while (!wanted.empty()) {
    std::string_view next = take_component(wanted);
    if (rest.empty()) return std::nullopt;
    if (next.starts_with('|')) {
      const auto here = static_cast<std::size_t>(rest.data() - name.data());
      found.block = name.substr(0, here > 0 ? here - 1 : 0);
      next.remove_prefix(1);
    }
    if (!match_component(next, take_component(rest), found, glued)) return std::nullopt;
  }
  if (found.projection.empty()) find_in_rest(rest, found);
  else if (found.suffix.empty()) found.suffix = glued.empty() ? rest : glued;
  if (!glued.empty() && !rest.empty()) found.suffix = rest;
  const Suffix* suffix = find_suffix(found.suffix);
  found.kind = suffix == nullptr ? PartKind::companion : suffix->kind;
  return found;
}

bool fits_rank(const ExpertName& found, std::size_t rank) {
  // A weight of four dimensions has its layers stacked too: whose the first one is nobody says.
  if (found.stacking == Stacking::fused) return found.kind == PartKind::weight ? rank == 3 : rank >= 1;
  if (found.stacking == Stacking::rows || found.stacking == Stacking::columns) return found.kind != PartKind::weight || rank == 2;
  return true;
}

}  // namespace

std::optional<ExpertName> parse_expert_name(std::string_view name, std::size_t rank) {
  // From the end: the expert's number is the last one before the projection.
  for (std::size_t at = name.size(); at > 0;) {
    const std::size_t dot = name.rfind('.', at - 1);
    const std::size_t start = dot == std::string_view::npos ? 0 : dot + 1;
    for (const Pattern& pattern : kPatterns) {
      auto found = match(pattern, name, start);
      if (found && fits_rank(*found, rank)) return found;
    }
    at = dot == std::string_view::npos ? 0 : dot;
  }
  return std::nullopt;
}

std::optional<RouterName> parse_router_name(std::string_view name) {
  // The longest tail: "router.gate.weight" is more than a "gate.weight" of something called router.
  const Router* best = nullptr;
  for (const Router& router : kRouters) {
    const bool fits =
        name.ends_with(router.text) && (name.size() == router.text.size() || name[name.size() - router.text.size() - 1] == '.');
    if (fits && (best == nullptr || router.text.size() > best->text.size())) best = &router;
  }
  if (best == nullptr) return std::nullopt;
  const std::string_view before = name.substr(0, name.size() - best->text.size());
  return RouterName{before.substr(0, before.size() - !before.empty()), best->axis};
}

std::optional<std::string_view> parse_shared_name(std::string_view name) {
  std::string_view rest = name;
  while (!rest.empty()) {
    const std::string_view component = take_component(rest);
    if (std::find(std::begin(kShared), std::end(kShared), component) == std::end(kShared)) continue;
    return name.substr(0, static_cast<std::size_t>(component.data() - name.data()) + component.size());
  }
  return std::nullopt;
}

std::string_view parent_of(std::string_view module) {
  const std::size_t dot = module.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : module.substr(0, dot);
}

}  // namespace assay::analysis
