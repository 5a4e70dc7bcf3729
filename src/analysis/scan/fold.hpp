// SPDX-License-Identifier: Apache-2.0
// What a callable made of constants stands for: getattr(__import__('os'), 'system') is os.system. Nothing is looked up.
#pragma once

#include <string>

#include "assay/pickle.hpp"

namespace assay::scan {

/// The dotted name that the value would be; "" where a part of it is known only when loading. Cost: the chain's length, at most 64.
std::string folded_name(const pickle::Graph& graph, pickle::Node node);
/// The name of what a call would call; "" as above. Sees through partial(f, …), attrgetter('a.b')(x) and methodcaller('m')(x).
std::string called_name(const pickle::Graph& graph, pickle::Node call);
/// The class of a persistent id ("module", class, source file, source): such an id evaluates to the class. kNoNode for others.
pickle::Node class_of_module_id(const pickle::Graph& graph, pickle::Node node);

}  // namespace assay::scan
