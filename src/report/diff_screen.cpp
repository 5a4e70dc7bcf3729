// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "analysis/select.hpp"
#include "analysis/summary.hpp"
#include "base/real_text.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "model/naming.hpp"
#include "report/diff_report.hpp"
#include "report/table.hpp"
#include "report/units.hpp"

namespace assay::report {
namespace {

constexpr std::size_t kLabel = 11;  // columns of "only in A  "

std::string_view arrow(const Style& style) { return style.unicode ? "→" : "->"; }
std::string_view delta_sign(const Style& style) { return style.unicode ? "Δ" : "d"; }
std::string ratio_sign(const Style& style) { return style.unicode ? "‖Δ‖/‖A‖" : "|d|/|A|"; }

void put_label(Writer& out, const Style& style, std::string_view label) {
  out.put(toned(style, Tone::faint, label));
  out.repeat(' ', kLabel - label.size());
}

void put_file(Writer& out, const Style& style, std::string_view letter, std::string_view path, const Checkpoint& checkpoint) {
  put_label(out, style, letter);
  const analysis::Summary summary = analysis::summarize(checkpoint);
  const std::string facts = concat("  ", checkpoint.format, " ", dot_sign(style), " ", counted(summary.tensor_count, "tensor", "tensors"),
                                   " ", dot_sign(style), " ", bytes_text(style, summary.tensor_bytes), style.exact_bytes ? " bytes" : "");
  const std::size_t room =
      style.width > 0 ? std::max<std::size_t>(style.width, kLabel + display_width(facts) + 12) - kLabel - display_width(facts) : 1000;
  out.put(concat(shortened(style, shown_name(style, path), room), facts, "\n"));
}

void put_only(Writer& out, const Style& style, std::string_view label, const Checkpoint& checkpoint,
              const std::vector<std::uint32_t>& tensors, std::size_t most) {
  if (tensors.empty()) return;
  put_label(out, style, label);
  out.put(concat(counted(tensors.size(), "tensor", "tensors"), "\n"));
  Table table({{}, {.flexible = true}, {}, {}});
  const std::size_t shown = most == 0 ? tensors.size() : std::min(most, tensors.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Tensor& tensor = checkpoint.tensors[tensors[i]];
    table.cell(" ");
    table.cell(shown_name(style, tensor.name));
    table.cell(dtype_name(tensor.dtype), Tone::faint);
    table.cell(shape_text(style, tensor.shape), Tone::faint);
  }
  table.write(out, style);
  if (shown < tensors.size()) out.put(concat("   ", ellipsis(style), " and ", tensors.size() - shown, " more\n"));
}

/// ", 120 without 'module.' in B, 3 by content alone": how tensors of other names were found.
std::string renames_text(const DiffReport& report) {
  std::map<analysis::Prefixes, std::size_t> prefixes;
  std::size_t by_content = 0;
  for (const DiffRow& row : report.rows) {
    if (row.pair.kind == analysis::MatchKind::content) ++by_content;
    if (row.pair.kind == analysis::MatchKind::prefix)
      ++prefixes[analysis::prefixes_of(report.a->tensors[row.pair.a].name, report.b->tensors[row.pair.b].name)];
  }
  std::vector<std::pair<analysis::Prefixes, std::size_t>> most(prefixes.begin(), prefixes.end());
  sort_stable(most, [](const auto& x, const auto& y) { return x.second > y.second; });
  std::string out;
  std::size_t others = 0;
  for (std::size_t i = 0; i < most.size(); ++i) {
    constexpr std::size_t kNamed = 2;
    const auto& [pair, count] = most[i];
    if (i >= kNamed) {
      others += count;
      continue;
    }
    out += concat(", ", count);
    if (pair.a.empty()) out += concat(" behind ", quote(pair.b));
    else if (pair.b.empty()) out += concat(" without ", quote(pair.a));
    else out += concat(" with ", quote(pair.b), " for ", quote(pair.a));
    out += " in B";
  }
  if (others > 0) out += concat(", ", others, " by other prefixes");
  if (by_content > 0) out += concat(", ", by_content, " by content alone");
  return out;
}

void put_structure(Writer& out, const Style& style, const DiffReport& report) {
  put_label(out, style, "names");
  out.put(concat(report.rows.size(), " paired", renames_text(report), "\n"));
  std::size_t shapes = 0, dtypes = 0;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> kinds;
  for (const DiffRow& row : report.rows) {
    if (row.difference.shape_differs) ++shapes;
    if (!row.difference.dtype_differs) continue;
    ++dtypes;
    ++kinds[{dtype_name(report.a->tensors[row.pair.a].dtype), dtype_name(report.b->tensors[row.pair.b].dtype)}];
  }
  put_label(out, style, "structure");
  if (report.rows.empty()) return out.put("nothing to compare\n");
  out.put(shapes == 0 ? std::string("same shapes") : concat("shapes differ in ", shapes));
  if (dtypes == 0) return out.put(", same dtypes\n");
  out.put(concat(", dtypes differ in ", dtypes));
  std::string_view before = ": ";
  for (const auto& [kind, count] : kinds) {
    out.put(concat(before, kind.first, " ", arrow(style), " ", kind.second));
    if (kinds.size() > 1) out.put(concat(" (", count, ")"));
    before = ", ";
  }
  out.put('\n');
}

void put_values(Writer& out, const Style& style, const DiffReport& report) {
  put_label(out, style, "values");
  if (!report.options.values) return out.put("not compared\n");
  std::string text = concat(report.identical, " identical");
  if (report.identical_by_value > 0) text += concat(" (", report.identical_by_value, " by value, with other codes)");
  if (report.within > 0) text += concat(", ", report.within, " within the tolerance");
  text += concat(", ", report.changed.size(), " changed");
  if (report.failed > 0) text += concat(", ", report.failed, " could not be read");
  std::vector<double> ratios;
  const bool only_state = std::ranges::none_of(report.changed, [&](std::uint32_t i) { return report.rows[i].weights; });
  for (const std::uint32_t i : report.changed)
    if (const DiffRow& row = report.rows[i]; row.difference.rel_l2 && !row.without_scales && (row.weights || only_state))
      ratios.push_back(*row.difference.rel_l2);
  if (!ratios.empty()) {
    sort_stable(ratios);
    text += concat(" ", dot_sign(style), " ", ratio_sign(style), " median ", short_number(ratios[(ratios.size() - 1) / 2]), ", most ",
                   short_number(ratios.back()));
  }
  out.put(text + "\n");
}

/// The cosine, never rounded up to that of equal directions.
std::string cosine_text(const analysis::Difference& d) {
  const std::optional<double> cosine = d.max_abs == 0.0 ? 1.0 : d.cosine;
  if (!cosine) return "-";
  constexpr double kPlaces = 1e5;
  char text[kRealText];
  return std::string(text, write_significant(text, std::trunc(*cosine * kPlaces) / kPlaces, 5));
}

bool exchanged(const DiffReport& report, const DiffRow& row) {
  return row.like != kNone && report.rows[row.like].like == static_cast<std::uint32_t>(&row - report.rows.data());
}

/// The first components in which the names of a row and of what it is like differ.
struct Apart {
  std::string_view front, own, other;  ///< front with its dot; own and other without
  bool same_end = false;               ///< behind these the names are equal

  /// Whether the names are those of two numbered parts of one holder: "layers.0.experts." and 2 and 5.
  bool numbered() const { return same_end && model::is_number(own) && !front.empty(); }
  /// The holder's own name: "experts".
  std::string_view holder() const {
    const std::string_view path = front.substr(0, front.size() - 1);
    return path.substr(path.rfind('.') + 1);
  }
};
Apart apart(const DiffReport& report, const DiffRow& row) {
  const std::string_view x = report.a->tensors[row.pair.a].name, y = report.a->tensors[report.rows[row.like].pair.a].name;
  std::size_t at = static_cast<std::size_t>(std::ranges::mismatch(x, y).in1 - x.begin());
  at = at == 0 ? 0 : x.rfind('.', at - 1) + 1;
  const std::size_t x_end = std::min(x.find('.', at), x.size()), y_end = std::min(y.find('.', at), y.size());
  return {x.substr(0, at), x.substr(at, x_end - at), y.substr(at, y_end - at), x.substr(x_end) == y.substr(y_end)};
}

/// "experts.5" or, where more than a number is another, the whole name.
std::string_view place_of(const DiffReport& report, const DiffRow& row) {
  const Apart parts = apart(report, row);
  const std::string_view name = report.a->tensors[report.rows[row.like].pair.a].name;
  if (!parts.numbered()) return name;
  const std::size_t begin = parts.front.size() - parts.holder().size() - 1;
  return name.substr(begin, parts.front.size() + parts.other.size() - begin);
}

/// "experts 2 and 5 of layer 0", once for all their tensors.
void put_exchanged(Writer& out, const Style& style, const DiffReport& report) {
  std::map<std::string, std::size_t> places;
  for (std::uint32_t i = 0; i < report.rows.size(); ++i) {
    const DiffRow& row = report.rows[i];
    if (!exchanged(report, row) || row.like < i) continue;
    const Apart parts = apart(report, row);
    if (!parts.numbered()) continue;
    std::string text = concat(parts.holder(), " ", parts.own, " and ", parts.other);
    if (const auto layer = analysis::layer_of(parts.front)) text += concat(" of layer ", *layer);
    ++places[shown_name(style, text)];
  }
  constexpr std::size_t kShown = 10;
  std::size_t shown = 0;
  for (const auto& [text, tensors] : places) {
    if (shown++ >= kShown) break;
    put_label(out, style, "exchanged");
    out.put(concat(text, "  (", counted(2 * tensors, "tensor", "tensors"), ")\n"));
  }
  if (places.size() > kShown) {
    put_label(out, style, "");
    out.put(concat(ellipsis(style), " and ", places.size() - kShown, " more\n"));
  }
}

/// What holds for many rows, and is not said in each.
void put_common(Writer& out, const Style& style, const DiffReport& report) {
  std::map<std::string, std::size_t> roundings;
  std::size_t scaled = 0, applied = 0;
  for (const std::uint32_t i : report.changed) {
    const DiffRow& row = report.rows[i];
    if (row.without_scales) ++scaled;
    if (row.with_scales) ++applied;
    if (!row.difference.rounded) continue;
    const DType x = report.a->tensors[row.pair.a].dtype, y = report.b->tensors[row.pair.b].dtype;
    const bool of_b = dtype_bits(y) < dtype_bits(x) || (dtype_bits(y) == dtype_bits(x) && y == DType::bf16);
    ++roundings[of_b ? concat("B is A rounded to ", dtype_name(y)) : concat("A is B rounded to ", dtype_name(x))];
  }
  for (const auto& [text, tensors] : roundings) {
    put_label(out, style, "rounding");
    out.put(concat(text, ", exactly, in ", counted(tensors, "tensor", "tensors"), "\n"));
  }
  if (applied > 0) {
    put_label(out, style, "scales");
    out.put(concat(counted(applied, "tensor", "tensors"), " of one side ", applied == 1 ? "is" : "are",
                   " codes, compared as the numbers that scales beside them make of them\n"));
  }
  if (scaled == 0) return;
  put_label(out, style, "scales");
  out.put(concat(counted(scaled, "tensor", "tensors"), " of one side ", scaled == 1 ? "is" : "are",
                 " codes whose scales stand beside them; compared as codes, and listed last\n"));
}

/// "3 of 4096 rows" where the change is in so few.
std::string few_text(std::uint64_t part, std::uint64_t whole, std::string_view what) {
  constexpr std::uint64_t kFew = 8;
  return part <= whole / kFew ? concat(part, " of ", whole, " ", what) : std::string();
}

/// What is special about where a matrix changed: "3 of 4096 rows", "rank 8"; "" for nothing.
std::string rank_text(const analysis::RankEstimate& rank, const Tensor& tensor) {
  std::string text = few_text(rank.rows, tensor.shape[0], "rows");
  if (text.empty()) text = few_text(rank.columns, tensor.shape[1], "columns");
  if (text.empty() && rank.main_row) text = concat("mostly row ", *rank.main_row);
  if (text.empty() && rank.main_column) text = concat("mostly column ", *rank.main_column);
  return text.empty() && rank.rank ? concat("rank ", *rank.rank) : text;
}

/// The one thing that explains a row's numbers, where there is one.
template <class Say>
void say_obvious(const Style& style, const DiffReport& report, const DiffRow& row, const Say& say) {
  const analysis::Difference& d = row.difference;
  const Tensor& a = report.a->tensors[row.pair.a];
  const std::uint64_t special = d.nan_changed + d.inf_changed;
  if (special > 0 && special == d.changed_elements) return say("nothing else");
  if (d.rounded) return;  // said once, above
  if (d.b_l2 == 0 && d.a_l2 > 0) return say("all zero in B");
  if (d.a_l2 == 0 && d.b_l2 > 0) return say("all zero in A");
  if (d.factor) return say(concat("B is ", short_number(*d.factor), " ", times_sign(style), " A"));
  if (row.like != kNone)
    return say(concat(exchanged(report, row) ? "exchanged with " : "like ", shown_name(style, place_of(report, row)),
                      exchanged(report, row) ? "" : " in A"));
  if (d.keeps_nothing()) return say("nothing of A left");
  if (!d.rank) return;
  if (d.rank->zero_rows > 0) say(concat(counted(d.rank->zero_rows, "row", "rows"), " zero in B"));
  if (d.rank->zero_columns > 0) say(concat(counted(d.rank->zero_columns, "column", "columns"), " zero in B"));
  if (const std::string text = rank_text(*d.rank, a); !text.empty()) say(text);
}

/// What the numbers of a row do not say.
std::string note(const Style& style, const DiffReport& report, const DiffRow& row, bool dtypes) {
  const Tensor& a = report.a->tensors[row.pair.a];
  const Tensor& b = report.b->tensors[row.pair.b];
  const analysis::Difference& d = row.difference;
  std::string out;
  const auto say = [&](const std::string& text) { out += concat(out.empty() ? "" : ", ", text); };
  if (row.failed) say("not read");
  if (d.shape_differs) say(concat(shape_text(style, a.shape), " ", arrow(style), " ", shape_text(style, b.shape)));
  if (d.shape_differs && !d.compared && a.numel == b.numel) say("reshaped");
  if (d.dtype_differs && dtypes) say(concat(dtype_name(a.dtype), " ", arrow(style), " ", dtype_name(b.dtype)));
  if (d.nan_changed > 0) say(concat("NaN ", times_sign(style), count_text(d.nan_changed)));
  if (d.inf_changed > 0) say(concat("Inf ", times_sign(style), count_text(d.inf_changed)));
  if (row.with_scales) say("with scales");
  if (row.without_scales) say("codes without their scales");
  else say_obvious(style, report, row, say);
  if (row.pair.kind == analysis::MatchKind::content) say(concat("as ", shown_name(style, b.name)));
  return out;
}

/// The leading components that all these rows' names share: "model." Left out where there is little room.
std::string_view shared_front(const DiffReport& report, std::size_t rows) {
  std::string_view front = report.a->tensors[report.rows[report.changed[0]].pair.a].name;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string_view name = report.a->tensors[report.rows[report.changed[i]].pair.a].name;
    const auto end = std::ranges::mismatch(front, name).in1;
    front = front.substr(0, static_cast<std::size_t>(end - front.begin()));
  }
  return front.substr(0, front.rfind('.') + 1);
}

/// How many of a row's elements changed; "" where values are not looked at.
std::string share_of(const DiffReport& report, const DiffRow& row) {
  const analysis::Difference& d = row.difference;
  if (!report.options.values) return "";
  return !d.compared ? "-" : d.changed_elements == 0 ? "0 %" : share_text(d.changed_elements, d.numel);
}

void put_changed(Writer& out, const Style& style, const DiffReport& report, std::size_t most) {
  if (report.changed.empty()) return;
  const std::size_t shown = most == 0 ? report.changed.size() : std::min(most, report.changed.size());
  // One dtype for another throughout is said once, above.
  std::size_t dtypes = 0;
  for (const std::uint32_t i : report.changed) dtypes += report.rows[i].difference.dtype_differs ? 1 : 0;
  const bool narrow = style.width > 0 && style.width < 100;
  const bool mixed = dtypes > 0 && dtypes < report.rows.size();
  const std::string_view front = narrow ? shared_front(report, shown) : std::string_view();
  std::string title = "CHANGED TENSOR";
  if (!front.empty()) title += concat(" of ", shown_name(style, front.substr(0, front.size() - 1)));
  out.put('\n');
  Table table({{.title = title, .flexible = true, .least = 34},
               {.title = style.unicode ? "REL Δ" : "REL D", .right = true},
               {.title = "COS", .right = true},
               {.title = style.unicode ? "MAX |Δ|" : "MAX |D|", .right = true},
               {.title = "ULPS", .right = true},
               {.title = "CHANGED", .right = true},
               {.title = "NOTE"}});
  // Where there is little room, a note says more than the largest change, and than a share that all have.
  std::vector<std::string> notes, shares;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    const DiffRow& row = report.rows[report.changed[i]];
    notes.push_back(note(style, report, row, mixed));
    longest = std::max(longest, display_width(notes.back()));
    shares.push_back(share_of(report, row));
  }
  const bool crowded = narrow && longest > 12;
  const bool same_shares = std::ranges::adjacent_find(shares, std::ranges::not_equal_to()) == shares.end();
  const auto number = [&](const std::optional<double>& value) { return value ? short_number(*value) : std::string("-"); };
  for (std::size_t i = 0; i < shown; ++i) {
    const DiffRow& row = report.rows[report.changed[i]];
    const analysis::Difference& d = row.difference;
    table.cell(shown_name(style, report.a->tensors[row.pair.a].name.substr(front.size())));
    const bool measured = report.options.values;
    const bool zero = d.compared && d.same_bytes;
    table.cell(!measured ? "" : zero ? "0" : row.without_scales ? "-" : number(d.rel_l2));
    table.cell(!measured ? "" : zero ? "1" : cosine_text(d));
    table.cell(!measured || crowded ? "" : zero ? "0" : row.without_scales ? "-" : number(d.max_abs));
    const bool steps = dtype_bits(report.a->tensors[row.pair.a].dtype) <= 16 || report.by == "ulps";
    // Steps of wider floats are billions where a sign changed, and say nothing.
    table.cell(d.max_ulps && !narrow && steps ? concat(*d.max_ulps) : std::string());
    table.cell(crowded && same_shares ? "" : shares[i]);
    table.cell(notes[i], d.nan_changed + d.inf_changed > 0 || row.failed ? Tone::bad : Tone::caution);
  }
  table.write(out, style);
  if (shown < report.changed.size()) out.put(concat(ellipsis(style), " and ", report.changed.size() - shown, " more; --top 0 shows all\n"));
}

void put_ranks(Writer& out, const Style& style, const DiffReport& report) {
  std::size_t low = 0, matrices = 0;
  for (const std::uint32_t i : report.changed) {
    const auto& rank = report.rows[i].difference.rank;
    if (rank) ++matrices;
    if (rank && rank_text(*rank, report.a->tensors[report.rows[i].pair.a]).starts_with("rank")) ++low;
  }
  // One of many is no adapter: the others would be of low rank, too, or unchanged.
  if (low == 0 || 2 * low < matrices) return;
  put_label(out, style, "rank");
  out.put(concat(delta_sign(style), " is of low rank in ", counted(low, "tensor", "tensors"), ", as a merged LoRA leaves it\n"));
}

/// One sign a layer, as high as it moved; several layers a sign where there is no room.
void put_layers(Writer& out, const Style& style, const DiffReport& report) {
  constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::string_view kPlain = ".:-=+*#@";
  const auto& layers = report.layers;
  const auto worst = std::ranges::max_element(layers, {}, &LayerChange::rel_l2);
  if (layers.size() < 2 || worst->rel_l2 == 0) return;
  double top = 0;
  for (const LayerChange& layer : layers)
    if (std::isfinite(layer.rel_l2)) top = std::max(top, layer.rel_l2);
  const std::string tail = concat("  (", layers.front().layer, " ", ellipsis(style), " ", layers.back().layer, ", most ",
                                  short_number(worst->rel_l2), " in layer ", worst->layer, ")");
  const std::size_t taken = kLabel + display_width(tail);
  const std::size_t room = style.width == 0 ? 128 : std::max<std::size_t>(style.width > taken ? style.width - taken : 0, 8);
  const std::size_t each = (layers.size() + room - 1) / room;
  put_label(out, style, "by layer");
  for (std::size_t from = 0; from < layers.size(); from += each) {
    double most = 0;
    for (std::size_t i = from; i < std::min(from + each, layers.size()); ++i) most = std::max(most, layers[i].rel_l2);
    if (most == 0) {
      out.put(dot_sign(style));
      continue;
    }
    const double share = top > 0 ? std::min(most / top, 1.0) : 1.0;
    const auto step = std::min<std::size_t>(static_cast<std::size_t>(share * 8), 7);
    style.unicode ? out.put(kBlocks[step]) : out.put(kPlain[step]);
  }
  out.put(tail + "\n");
}

}  // namespace

void write_diff_screen(Writer& out, const Style& style, const DiffReport& report, std::size_t most) {
  put_file(out, style, "A", report.path_a, *report.a);
  put_file(out, style, "B", report.path_b, *report.b);
  put_structure(out, style, report);
  put_only(out, style, "only in A", *report.a, report.only_a, most);
  put_only(out, style, "only in B", *report.b, report.only_b, most);
  put_values(out, style, report);
  put_common(out, style, report);
  put_exchanged(out, style, report);
  put_layers(out, style, report);
  put_ranks(out, style, report);
  put_changed(out, style, report, most);
}

}  // namespace assay::report
