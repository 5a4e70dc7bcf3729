// SPDX-License-Identifier: Apache-2.0
#include "report/screens.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "report/units.hpp"

namespace assay::report {

std::string shell_word(std::string_view text) {
  const bool plain = !text.empty() && text[0] != '-' && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("_-./+,:@%=").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(text);
  const std::string_view front = text.starts_with('-') ? "./" : "", end = "'";
  const std::string escaped = escape(text);
  const bool shows = escaped.size() == text.size() + static_cast<std::size_t>(std::ranges::count(text, '\\'));
  std::string out = concat(front, shows ? "'" : "$'");
  for (const char c : shows ? text : std::string_view(escaped)) {
    if (c != '\'') out += c;
    else out += shows ? "'\\''" : "\\'";
  }
  return concat(out, end);
}

std::string shell_path(const Naming& naming, std::string_view file) {
  return shell_word(file.empty() ? naming.label : naming.path_of(file));
}

namespace {

bool is_narrow(const Style& style) { return style.width > 0 && style.width < 100; }

/// "in 31 of 32 layers (not 31)"; "31/32 layers" where there is little room.
std::string absence_text(const Style& style, const analysis::OutlineNode& node) {
  if (node.present == node.of) return "";
  if (is_narrow(style)) return concat(node.present, "/", node.of, node.noun.empty() ? "" : " ", escape(node.noun));
  std::string out = concat("in ", node.present, " of ", node.of, node.noun.empty() ? "" : " ", escape(node.noun));
  const auto& list = node.only.empty() ? node.missing : node.only;
  for (std::size_t i = 0; i < list.size(); ++i) out += concat(i > 0 ? ", " : node.only.empty() ? " (not " : " (only ", list[i]);
  return list.empty() ? out : out + ")";
}

std::string node_label(const Style& style, const analysis::OutlineNode& node) {
  std::string out = shown_name(style, node.label);
  if (node.times > 1) out += concat(" ", times_sign(style), node.times);
  return out;
}

constexpr std::size_t kBarCells = 20;

void add_tree_row(Table& table, const Style& style, const Checkpoint& checkpoint, const analysis::OutlineNode& node,
                  const std::string& label, const std::string& note, std::uint64_t whole) {
  table.cell(label, node.depth == 0 ? Tone::strong : Tone::plain);
  if (node.tensor != kNone) {
    const Tensor& tensor = checkpoint.tensors[node.tensor];
    table.cell(dtype_name(tensor.dtype), Tone::faint);
    table.cell(shape_text(style, tensor.shape), Tone::faint);
  } else {
    table.cell("");
    table.cell("");
  }
  table.cell(is_narrow(style) ? std::string() : count_text(node.parameters));
  table.cell(node.bytes == 0 && node.parameters == 0 && node.tensors > 0 ? "shared" : bytes_text(style, node.bytes));
  table.cell(share_text(node.bytes, whole));
  table.cell(is_narrow(style) ? std::string() : bar(style, node.bytes, whole, kBarCells), Tone::accent);
  table.cell(note, Tone::caution);
}

}  // namespace

void write_tree_screen(Writer& out, const Style& style, std::string_view title, const Checkpoint& checkpoint,
                       const analysis::Outline& outline, std::size_t max_depth) {
  Table table({{.flexible = true, .cut_end = true, .least = 30}, {}, {}, {.right = true}, {.right = true}, {.right = true}, {}, {}});
  struct Open {
    std::uint32_t node;
    std::size_t next_child;
  };
  const auto& nodes = outline.nodes;
  add_tree_row(table, style, checkpoint, nodes[0], shown_name(style, title), "", nodes[0].bytes);
  std::string indent;
  std::vector<std::size_t> indents = {0};  // its length per open level
  std::vector<Open> path = {{0, 0}};
  while (!path.empty()) {
    const analysis::OutlineNode& node = nodes[path.back().node];
    if (path.back().next_child >= node.children.size() || node.depth >= max_depth) {
      path.pop_back();
      indents.pop_back();
      if (!indents.empty()) indent.resize(indents.back());
      continue;
    }
    std::uint32_t child = node.children[path.back().next_child++];
    const bool last = path.back().next_child == node.children.size();
    std::string label = indent + (style.unicode ? (last ? "└─ " : "├─ ") : (last ? "`- " : "|- "));
    // A chain of only children is one line: self_attn.q_proj.weight.
    label += node_label(style, nodes[child]);
    const std::string note = absence_text(style, nodes[child]);
    while (nodes[child].children.size() == 1 && nodes[child].tensor == kNone && nodes[child].depth < max_depth &&
           nodes[nodes[child].children[0]].present == nodes[nodes[child].children[0]].of) {
      child = nodes[child].children[0];
      label += concat(".", node_label(style, nodes[child]));
    }
    add_tree_row(table, style, checkpoint, nodes[child], label, note, nodes[0].bytes);
    indent += style.unicode ? (last ? "   " : "│  ") : (last ? "   " : "|  ");
    indents.push_back(indent.size());
    path.push_back({child, 0});
  }
  table.write(out, style);
}

Table stats_table(const Style& style) {
  std::vector<Column> columns = {{.title = "TENSOR", .flexible = true}, {.title = "DTYPE"},
                                 {.title = "MIN", .right = true},       {.title = "MAX", .right = true},
                                 {.title = "MEAN", .right = true},      {.title = "STD", .right = true},
                                 {.title = "ZERO", .right = true},      {.title = "NAN", .right = true},
                                 {.title = "INF", .right = true}};
  if (!is_narrow(style)) {
    columns.push_back({.title = "KURT", .right = true});
    columns.push_back({.title = "MEAN \u00b1 3 STD"});
    if (!style.unicode) columns.back().title = "MEAN +- 3 STD";
  }
  columns.push_back({.title = "MEASURED", .right = true});
  return Table(std::move(columns));
}

namespace {

std::string sketch_text(const Style& style, const analysis::Sketch& sketch) {
  constexpr std::string_view kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, kPlain = " .:-=+*#@";
  if (std::ranges::max(sketch) == 0) return "";
  std::string out;
  for (const std::uint8_t height : sketch) {
    if (style.unicode) out += kBlocks[height];
    else out += kPlain[height];
  }
  return out;
}

}  // namespace

void add_stats_row(Table& table, const Style& style, const Tensor& tensor, const analysis::Stats* stats, const analysis::Sketch& sketch) {
  const auto number = [](const std::optional<double>& value) { return value ? short_number(*value) : std::string("-"); };
  table.cell(shown_name(style, tensor.name));
  table.cell(tensor.dtype == DType::unknown ? shown_name(style, tensor.source_dtype) : std::string(dtype_name(tensor.dtype)));
  const bool wide = !is_narrow(style);
  if (stats == nullptr) {
    table.cell("not readable", Tone::bad);
    for (int i = 0; i < (wide ? 9 : 7); ++i) table.cell("");
    return;
  }
  table.cell(number(stats->min));
  table.cell(number(stats->max));
  table.cell(number(stats->mean));
  table.cell(number(stats->std));
  const std::uint64_t values = stats->measured * (dtype_info(tensor.dtype).kind == DTypeKind::complex ? 2 : 1);
  table.cell(stats->zeros == 0 ? std::string("0") : share_text(stats->zeros, values));
  const std::uint64_t infinities = stats->pos_inf + stats->neg_inf;
  table.cell(count_text(stats->nan), stats->nan > 0 ? Tone::bad : Tone::plain);
  table.cell(count_text(infinities), infinities > 0 ? Tone::bad : Tone::plain);
  if (wide) {
    table.cell(number(stats->kurtosis));
    table.cell(sketch_text(style, sketch), Tone::accent);
  }
  // Only where not everything was looked at.
  table.cell(stats->exact ? std::string() : share_text(stats->measured, stats->numel), Tone::caution);
}

}  // namespace assay::report
