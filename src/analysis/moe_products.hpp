// SPDX-License-Identifier: Apache-2.0
// What is read of the experts of a layer, and how alike they are, as inner products.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/moe.hpp"
#include "analysis/sampling.hpp"

namespace assay::analysis {

/// Of one part those elements to look at; empty where that is all.
std::vector<Stretch> stretches_of(const Checkpoint& checkpoint, const ExpertPart& part, bool sample);

/// Adds the inner products of blocks of `n` values, one of each expert, side by side; those of an expert without any are 0. `products` is
/// the experts' square, of which the upper triangle is filled, or empty, and then only `squares`, one of each, are. `stands_for`: of how
/// many times as much this is a sample.
void add_products(std::span<const double> blocks, std::size_t n, double stands_for, std::span<double> products, std::span<double> squares);

}  // namespace assay::analysis
