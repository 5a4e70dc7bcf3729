// SPDX-License-Identifier: Apache-2.0
// The screen of `assay FILE`: one line per question.
#include <algorithm>

#include "analysis/cut.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "report/messages.hpp"
#include "report/screens.hpp"
#include "report/units.hpp"

namespace assay::report {
namespace {

using analysis::Outline;
using analysis::OutlineNode;

constexpr std::size_t kLabelWidth = 12;
constexpr std::size_t kMostFindings = 20;

/// "  tensors     …"; lines of one question after the first have no label.
void put_line(Writer& out, const Style& style, std::string_view label, std::string_view text) {
  out.put("  ");
  out.put(toned(style, Tone::faint, label));
  out.repeat(' ', kLabelWidth - label.size());
  out.put(text);
  out.put('\n');
}

std::string joined(const Style& style, const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts)
    out += concat(out.empty() ? "" : " ", out.empty() ? "" : dot_sign(style), out.empty() ? "" : " ", part);
  return out;
}

void put_tensors(Writer& out, const Style& style, const Checkpoint& checkpoint, const analysis::Summary& summary) {
  std::string text = counted(summary.tensor_count, "tensor", "tensors");
  if (checkpoint.files.size() > 1) text += concat(" in ", checkpoint.files.size(), " files");
  if (summary.tensor_count > 0) text += concat(", ", bytes_text(style, summary.tensor_bytes), style.exact_bytes ? " bytes" : "");
  if (summary.unreadable > 0) text += concat("; ", toned(style, Tone::bad, concat(summary.unreadable, " not readable")));
  put_line(out, style, "tensors", text);
  std::vector<std::string> parts;
  for (const analysis::DTypeCount& count : summary.dtypes) {
    if (parts.size() == 6) {
      parts.push_back(concat(summary.dtypes.size() - 6, " more"));
      break;
    }
    const std::string share = share_text(count.bytes, summary.tensor_bytes);
    parts.push_back(concat(dtype_name(count.dtype), share.empty() ? "" : " ", share));
  }
  if (!parts.empty()) put_line(out, style, "dtypes", joined(style, parts));
}

/// "model.layers ×32 (mlp.experts ×8)" for every outermost repeat, the largest first.
void put_layers(Writer& out, const Style& style, const Outline& outline) {
  std::vector<std::uint32_t> outer;
  for (std::uint32_t i = 1; i < outline.nodes.size(); ++i) {
    if (outline.nodes[i].times < 2) continue;
    bool inside = false;
    for (std::uint32_t up = outline.nodes[i].parent; up != kNone; up = outline.nodes[up].parent)
      inside = inside || outline.nodes[up].times > 1;
    if (!inside) outer.push_back(i);
  }
  const auto larger = [&](std::uint32_t a, std::uint32_t b) { return outline.nodes[a].bytes > outline.nodes[b].bytes; };
  sort_stable(outer, larger);
  std::string_view label = "repeats";
  for (std::size_t i = 0; i < outer.size() && i < 4; ++i) {
    const std::string base = outline.path(outer[i]);
    std::string_view front = base;
    if (front.ends_with(".*")) front.remove_suffix(2);
    std::string text = concat(shown_name(style, front), " ", times_sign(style), outline.nodes[outer[i]].times);
    std::size_t nested = 0;
    for (std::uint32_t n = outer[i] + 1; n < outline.nodes.size() && nested < 3; ++n) {
      if (outline.nodes[n].times < 2) continue;
      std::uint32_t up = outline.nodes[n].parent;
      while (up != kNone && up != outer[i]) up = outline.nodes[up].parent;
      if (up != outer[i]) continue;
      std::string below = outline.path(n).substr(base.size() + 1);
      if (below.ends_with(".*")) below.resize(below.size() - 2);
      text += concat(nested++ == 0 ? ", with " : ", ", shown_name(style, below), " ", times_sign(style), outline.nodes[n].times);
    }
    put_line(out, style, label, text);
    label = "";
  }
}

/// True when a sibling has the same name: the same tensor with another dtype or shape in other places.
bool is_variant(const Outline& outline, std::uint32_t node) {
  for (const std::uint32_t sibling : outline.nodes[outline.nodes[node].parent].children)
    if (sibling != node && outline.nodes[sibling].label == outline.nodes[node].label) return true;
  return false;
}

std::string odd_text(const Style& style, const Checkpoint& checkpoint, const Outline& outline, std::uint32_t node) {
  const OutlineNode& odd = outline.nodes[node];
  std::string shape;
  if (odd.tensor != kNone && is_variant(outline, node)) {
    const Tensor& tensor = checkpoint.tensors[odd.tensor];
    shape = concat(" is ", dtype_name(tensor.dtype), " ", shape_text(style, tensor.shape));
  }
  std::string text = concat(shape, " in ", odd.present, " of ", odd.of, odd.noun.empty() ? "" : " ", escape(odd.noun));
  const auto& list = odd.only.empty() ? odd.missing : odd.only;
  for (std::size_t i = 0; i < list.size(); ++i) text += concat(i > 0 ? ", " : odd.only.empty() ? " (not " : " (only ", list[i]);
  if (!list.empty()) text += ")";
  const std::string path = shown_name(style, outline.path(node));
  const std::size_t taken = kLabelWidth + 2 + display_width(text);
  return (style.width > taken ? shortened(style, path, style.width - taken) : path) + text;
}

/// What breaks a pattern, the outermost node of it.
void put_odd(Writer& out, const Style& style, const Checkpoint& checkpoint, const Outline& outline) {
  std::size_t shown = 0, all = 0;
  for (std::uint32_t i = 1; i < outline.nodes.size(); ++i) {
    const OutlineNode& node = outline.nodes[i];
    // Of a tensor that differs from place to place, the odd ones are news.
    if (node.present == node.of || (node.present * 2 > node.of && is_variant(outline, i))) continue;
    ++all;
    if (shown == 4) continue;
    put_line(out, style, shown++ == 0 ? "odd" : "", odd_text(style, checkpoint, outline, i));
  }
  if (all > shown) put_line(out, style, "", concat("and ", all - shown, " more; see assay tree"));
}

/// Which tensors are the same as others.
void put_ties(Writer& out, const Style& style, const Checkpoint& checkpoint, const analysis::Summary& summary) {
  constexpr std::size_t kMost = 4;
  const auto name = [&](std::uint32_t t) { return shown_name(style, checkpoint.tensors[t].name); };
  for (std::size_t i = 0; i < summary.ties.size() && i < kMost; ++i)
    put_line(out, style, i == 0 ? "tied" : "", concat(name(summary.ties[i].tensor), " is ", name(summary.ties[i].to)));
  if (summary.ties.size() > kMost) put_line(out, style, "", concat("and ", summary.ties.size() - kMost, " more; see assay tensors"));
}

/// The largest parts: what is largest is opened until there are enough of them.
void put_largest(Writer& out, const Style& style, const Outline& outline) {
  constexpr std::size_t kParts = 5;
  const auto& nodes = outline.nodes;
  std::vector<std::uint32_t> parts = {0};
  while (parts.size() < kParts) {
    std::uint32_t pick = kNone;
    for (const std::uint32_t p : parts)
      if (!nodes[p].children.empty() && nodes[p].tensor == kNone && (pick == kNone || nodes[p].bytes > nodes[pick].bytes)) pick = p;
    if (pick == kNone) break;
    std::erase(parts, pick);
    parts.insert(parts.end(), nodes[pick].children.begin(), nodes[pick].children.end());
  }
  sort_stable(parts, [&](std::uint32_t a, std::uint32_t b) { return nodes[a].bytes > nodes[b].bytes; });
  if (parts.size() > kParts) parts.resize(kParts);
  if (nodes[0].bytes == 0 || parts.size() < 2) return;
  Table table({{.flexible = true}, {.right = true}, {.right = true}, {}});
  for (const std::uint32_t p : parts) {
    table.cell(shown_name(style, outline.path(p)));
    table.cell(bytes_text(style, nodes[p].bytes));
    table.cell(share_text(nodes[p].bytes, nodes[0].bytes));
    table.cell(bar(style, nodes[p].bytes, nodes[0].bytes, 20), Tone::accent);
  }
  Writer lines;
  Style inner = style;
  if (inner.width > kLabelWidth + 2) inner.width -= kLabelWidth + 2;
  table.write(lines, inner);
  std::string_view rest = lines.text();
  for (std::string_view label = "largest"; !rest.empty(); label = "") {
    const std::size_t end = rest.find('\n');
    put_line(out, style, label, rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
}

std::string metadata_text(const Style& style, const MetadataEntry& entry) {
  using Kind = MetadataEntry::Kind;
  switch (entry.kind) {
    case Kind::null: return "none";
    case Kind::boolean: return entry.boolean ? "true" : "false";
    case Kind::integer: return decimal(entry.integer);
    case Kind::real: return short_number(entry.real);
    case Kind::text:
    case Kind::json:
    case Kind::object: break;
  }
  constexpr std::size_t kLong = 400, kWidth = 60, kBeginning = 40;
  if (entry.text.size() <= kLong) return shortened(style, shown_name(style, entry.text), kWidth);
  return concat(clipped(style, shown_name(style, entry.text.substr(0, kLong)), kBeginning), " (", bytes_text(style, entry.text.size()),
                ")");
}

void put_metadata(Writer& out, const Style& style, const Checkpoint& checkpoint) {
  constexpr std::size_t kMost = 6;
  const std::size_t n = checkpoint.metadata.size();
  for (std::size_t i = 0; i < n && i < kMost; ++i) {
    const MetadataEntry& entry = checkpoint.metadata[i];
    const std::string key = shortened(style, shown_name(style, entry.key.substr(0, 400)), 40);
    put_line(out, style, i == 0 ? "metadata" : "", concat(key, " = ", metadata_text(style, entry)));
  }
  if (n > kMost) put_line(out, style, "", concat("and ", n - kMost, " more; see --json"));
}

void put_sections(Writer& out, const Style& style, const Checkpoint& checkpoint) {
  if (checkpoint.sections.size() < 2) return;
  std::vector<std::string> parts;
  for (const Section& section : checkpoint.sections)
    parts.push_back(concat(shown_name(style, section.name), " ", bytes_text(style, section.bytes), " (",
                           counted(section.tensors, "tensor", "tensors"), ")"));
  if (parts.size() > 8) {
    parts.resize(8);
    parts.push_back(concat(checkpoint.sections.size() - 8, " more"));
  }
  put_line(out, style, "sections", joined(style, parts));
}

/// "1 damage, 2 notes"
std::string severities(const Style& style, const Findings& findings) {
  std::string text;
  for (const Severity severity : {Severity::danger, Severity::damage, Severity::warning, Severity::note}) {
    const auto n = static_cast<std::uint64_t>(std::ranges::count_if(findings.list(), [&](const Finding& finding) {
      return finding.severity == severity && !analysis::told_with_cut(findings, finding);
    }));
    if (n == 0) continue;
    const std::string word(severity_name(severity));
    const bool plural = severity == Severity::warning || severity == Severity::note;
    text += concat(text.empty() ? "" : ", ", toned(style, severity_tone(severity), concat(n, " ", word, plural && n > 1 ? "s" : "")));
  }
  return text;
}

/// How to get back what is lost with a file's end.
void put_cuts(Writer& out, const Style& style, const Naming& naming, const std::vector<analysis::Cut>& cuts, bool several) {
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < cuts.size() && i < kMost; ++i) {
    const analysis::Cut& cut = cuts[i];
    std::string text = several ? concat(shown_name(style, naming.path_of(cut.file)), ": ") : std::string();
    if (cut.ends_in_zeros) text += "the end was never written; get the file again from the start";
    else if (cut.missing == 0) text += concat("what follows byte ", grouped(cut.size));
    else if (cut.at_least) text += concat("at least ", grouped(cut.missing), " bytes, from byte ", grouped(cut.size), " on");
    else text += concat(grouped(cut.missing), " of ", grouped(cut.size + cut.missing), " bytes, from byte ", grouped(cut.size), " on");
    put_line(out, style, i == 0 ? "missing" : "", text);
  }
  if (cuts.size() > kMost) put_line(out, style, "", concat("and the ends of ", cuts.size() - kMost, " more files"));
}

/// A healthy file is looked at; what is wrong with a broken one is told by verify, and what is left of it by tensors. Before all else comes
/// what loading would run.
std::vector<std::string> next_commands(const Naming& naming, const Checkpoint& checkpoint, const analysis::Summary& summary,
                                       const std::vector<analysis::Cut>& cuts) {
  const std::string file = shell_word(naming.label);
  std::vector<std::string> next;
  const auto danger = std::ranges::find(checkpoint.findings.list(), Code::dangerous_import, &Finding::code);
  if (danger != checkpoint.findings.list().end()) next.push_back(concat("assay scan ", shell_path(naming, danger->where.file)));
  if (!checkpoint.complete) {
    if (cuts.size() == 1 && !cuts[0].ends_in_zeros) next.push_back(resume_command(naming, cuts[0]));
    next.push_back(concat("assay verify ", file));
    if (summary.tensor_count > 0) next.push_back(concat("assay tensors ", file));
    return next;
  }
  next.push_back(concat("assay tree ", file));
  if (summary.tensor_count > 0) {
    next.push_back(concat("assay tensors ", file));
    next.push_back(concat("assay stats ", file));
  }
  return next;
}

/// On one line where it fits, else one a line.
void put_next(Writer& out, const Style& style, const std::vector<std::string>& commands) {
  const std::string line = joined(style, commands);
  if (style.width == 0 || kLabelWidth + 2 + display_width(line) <= style.width) return put_line(out, style, "next", line);
  for (std::size_t i = 0; i < commands.size(); ++i) put_line(out, style, i == 0 ? "next" : "", commands[i]);
}

}  // namespace

void write_info_screen(Writer& out, const Style& style, const Naming& naming, std::string_view format_name, const Checkpoint& checkpoint,
                       const analysis::Summary& summary, const Outline& outline) {
  out.put(toned(style, Tone::strong, shown_name(style, naming.label)));
  out.put(concat("  ", format_name, " ", dot_sign(style), " ", bytes_text(style, summary.file_size), style.exact_bytes ? " bytes" : "", " ",
                 dot_sign(style), " ", count_text(summary.parameters), summary.parameters == 1 ? " parameter" : " parameters",
                 checkpoint.complete ? "" : " (incomplete)", "\n"));
  put_tensors(out, style, checkpoint, summary);
  put_sections(out, style, checkpoint);
  put_layers(out, style, outline);
  put_odd(out, style, checkpoint, outline);
  put_ties(out, style, checkpoint, summary);
  put_largest(out, style, outline);
  put_metadata(out, style, checkpoint);
  if (checkpoint.findings.empty()) {
    put_line(out, style, "findings", "none; values not read");
  } else {
    put_line(out, style, "findings", severities(style, checkpoint.findings));
  }
  const std::vector<analysis::Cut> cuts = analysis::cuts(checkpoint);
  put_cuts(out, style, naming, cuts, checkpoint.files.size() > 1);
  put_next(out, style, next_commands(naming, checkpoint, summary, cuts));
  if (checkpoint.findings.empty()) return;
  out.put('\n');
  write_finding_lines(out, style, naming, checkpoint.findings, Severity::note, kMostFindings);
}

}  // namespace assay::report
