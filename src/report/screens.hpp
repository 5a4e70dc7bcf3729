// SPDX-License-Identifier: Apache-2.0
// What people read: the screens of info, tensors, tree and stats.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/sketch.hpp"
#include "analysis/stats.hpp"
#include "analysis/summary.hpp"
#include "analysis/tree.hpp"
#include "assay/checkpoint.hpp"
#include "report/messages.hpp"
#include "report/style.hpp"
#include "report/table.hpp"
#include "report/writer.hpp"

namespace assay::report {

/// One screen: what it is, what is in it, what is odd, what to do next. `format_name` is the registry's name for people.
void write_info_screen(Writer& out, const Style& style, const Naming& naming, std::string_view format_name, const Checkpoint& checkpoint,
                       const analysis::Summary& summary, const analysis::Outline& outline);

/// The table of tensors in the given order, and a line of totals: those of the rows, which are the first of `chosen` tensors.
void write_tensor_table(Writer& out, const Style& style, const Checkpoint& checkpoint, const analysis::Summary& summary,
                        std::span<const std::uint32_t> order, std::size_t chosen);

/// The outline as a tree, `max_depth` levels of it.
void write_tree_screen(Writer& out, const Style& style, std::string_view title, const Checkpoint& checkpoint,
                       const analysis::Outline& outline, std::size_t max_depth);

/// The table of statistics: add rows, then write.
Table stats_table(const Style& style);
void add_stats_row(Table& table, const Style& style, const Tensor& tensor, const analysis::Stats* stats, const analysis::Sketch& sketch);

/// "model.safetensors" or, where a shell would not take it as it is, 'my model.safetensors'; $'\x1b.pt' where a terminal would not.
std::string shell_word(std::string_view text);
/// A file of what was named as the user would type it; "" stands for what he named.
std::string shell_path(const Naming& naming, std::string_view file);

}  // namespace assay::report
