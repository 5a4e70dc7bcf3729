// SPDX-License-Identifier: Apache-2.0
//
//   numpy.dtype('O8', False, True)  BUILD  (3, byte order, (base, shape) or None, names, {name: (dtype, offset)}, size, alignment, flags)
#include "analysis/scan/array_types.hpp"

#include <algorithm>
#include <string_view>

namespace assay::scan {

using pickle::Kind;
using pickle::Node;

namespace {

constexpr int kDeepest = 16;

/// "<f4", "|V16", "M8[ns]": one code that is not that of objects, and its size.
bool is_plain_code(std::string_view code) {
  constexpr std::string_view kOrders = "<>=|", kCodes = "?abBcdDefFgGhHiIlLmMnNpPqQStTuUV";
  if (!code.empty() && kOrders.find(code[0]) != std::string_view::npos) code.remove_prefix(1);
  if (code.empty() || kCodes.find(code[0]) == std::string_view::npos) return false;
  code = code.substr(1, code.find('[') - 1);
  return std::ranges::all_of(code, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool ArrayTypes::makes_dtype(Node node) const {
  return graph_.kind(node) == Kind::call &&
         (graph_.is_call(node, "numpy", "dtype") || graph_.mapped_global(graph_.callable(node)).module == "numpy.dtypes");
}

bool ArrayTypes::has_plain_code(Node dtype) const {
  const pickle::GlobalName made_by = graph_.mapped_global(graph_.callable(dtype));
  if (made_by.module == "numpy.dtypes") return made_by.name != "ObjectDType";
  const Node code = graph_.item(graph_.args(dtype), 0);
  if (graph_.kind(code) == Kind::global) return graph_.mapped_global(code).name.find("object") == std::string_view::npos;
  return is_plain_code(graph_.text(code));
}

bool ArrayTypes::state_holds_objects(Node state, int depth) {
  if (const auto known = known_.find(state); known != known_.end()) return known->second;
  const Node base = graph_.item(state, 2), fields = graph_.item(state, 4);
  bool holds = graph_.length(base) != 0 && may_hold_objects(graph_.item(base, 0), depth);
  for (std::size_t i = 0; i < graph_.pair_count(fields) && !holds; ++i)
    holds = may_hold_objects(graph_.item(graph_.value(fields, i), 0), depth);
  return known_[state] = holds;
}

bool ArrayTypes::may_hold_objects(Node dtype, int depth) {
  if (depth == kDeepest || !makes_dtype(dtype)) return true;
  if (const auto known = known_.find(dtype); known != known_.end()) return known->second;
  const bool plain = has_plain_code(dtype);
  known_[dtype] = !plain;
  if (!plain) return true;
  for (const Node state : graph_.states(dtype))
    if (state_holds_objects(state, depth + 1)) return known_[dtype] = true;
  return false;
}

bool ArrayTypes::hide_objects(Node object, Node state) {
  constexpr std::int64_t kHasObjects = 1 | 2 | 8 | 16;  // counted, pickled as a list, needs initialising, needs the interpreter
  if (!makes_dtype(object)) return false;
  const std::int64_t flags = graph_.integer(graph_.item(state, 7));
  return (flags & kHasObjects) != kHasObjects && may_hold_objects(object, 0);
}

}  // namespace assay::scan
