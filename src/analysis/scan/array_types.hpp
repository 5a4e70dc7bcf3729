// SPDX-License-Identifier: Apache-2.0
// What numpy believes of an array's type without looking. Internal to this folder.
#pragma once

#include <unordered_map>

#include "assay/pickle.hpp"

namespace assay::scan {

class ArrayTypes {
 public:
  explicit ArrayTypes(const pickle::Graph& graph) : graph_(graph) {}
  /// True when the BUILD of `object` with `state` makes a numpy.dtype that may have objects in it and whose flags say that it has none:
  /// numpy then takes an array's bytes for the objects' addresses.
  bool hide_objects(pickle::Node object, pickle::Node state);

 private:
  bool makes_dtype(pickle::Node node) const;
  bool has_plain_code(pickle::Node dtype) const;
  bool state_holds_objects(pickle::Node state, int depth);
  bool may_hold_objects(pickle::Node dtype, int depth);

  const pickle::Graph& graph_;
  std::unordered_map<pickle::Node, bool> known_;  // of dtypes and states: may hold objects
};

}  // namespace assay::scan
