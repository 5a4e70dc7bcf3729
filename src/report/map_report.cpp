// SPDX-License-Identifier: Apache-2.0
#include "report/map_report.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "report/table.hpp"
#include "report/units.hpp"

namespace assay::report {

namespace {

using model::ByteMap;
using model::Part;
using model::PartKind;

constexpr std::size_t kListed = 60;  // parts that are listed one by one
/// Columns of the picture.
std::size_t picture_columns(const Style& style) { return style.width > 0 && style.width < 100 ? 12 : 32; }
constexpr std::size_t kOverlapsShown = 8;

/// Several parts in one row, or one part.
struct Row {
  std::uint64_t offset = 0, length = 0;
  PartKind kind = PartKind::gap;
  std::size_t parts = 0;
  std::size_t tensors = 0;  // parts that are tensors
  std::string_view first, last;
};

/// Parts of an archive or a data area that come by the thousand.
bool is_common(PartKind kind) {
  return kind == PartKind::tensor || kind == PartKind::unused || kind == PartKind::member || kind == PartKind::local_header ||
         kind == PartKind::descriptor || kind == PartKind::padding || kind == PartKind::count;
}

std::vector<Row> rows_of(const ByteMap& map, bool all) {
  const bool one_by_one = all || map.parts.size() <= kListed;
  std::vector<Row> rows;
  bool joins = false;
  for (const Part& part : map.parts) {
    const bool common = is_common(part.kind);
    if (!joins || !common || one_by_one) rows.push_back({part.offset, 0, part.kind, 0, 0, part.name, part.name});
    Row& row = rows.back();
    row.length += part.length;
    ++row.parts;
    if (part.kind == PartKind::tensor) {
      if (row.tensors++ == 0) row.kind = PartKind::tensor, row.first = part.name;
      row.last = part.name;
    }
    joins = common;
  }
  return rows;
}

/// 0x0000_1f40: as many digits for every row as the largest offset needs.
std::string grouped_hex(std::uint64_t value, std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "0x";
  for (std::size_t i = digits; i-- > 0;) {
    out += kDigits[value >> 4 * i & 15];
    if (i > 0 && i % 4 == 0) out += '_';
  }
  return out;
}

std::size_t digits_for(std::uint64_t size) {
  std::size_t digits = 4;
  while (digits < 16 && size >> 4 * digits != 0) digits += 4;
  return digits;
}

/// Where in the file the row lies, each column the same number of bytes.
std::string picture(const Style& style, const Row& row, std::uint64_t size) {
  std::string out;
  const std::size_t all = picture_columns(style);
  const double scale = static_cast<double>(all) / static_cast<double>(size);
  const double from = static_cast<double>(row.offset) * scale, to = static_cast<double>(row.offset + row.length) * scale;
  const std::size_t least = std::min(static_cast<std::size_t>(from), all - 1);
  for (std::size_t i = 0; i < all; ++i) {
    const double covered = std::min(to, static_cast<double>(i + 1)) - std::max(from, static_cast<double>(i));
    const bool full = covered >= 0.5, some = covered > 0.05 || i == least;
    if (style.unicode) out += full ? "█" : some ? "▏" : "·";
    else out += full ? '#' : some ? '|' : '.';
  }
  return out;
}

std::string shown_range(const Style& style, std::string_view first, std::string_view last) {
  if (first == last) return shown_name(style, first);
  return concat(shown_name(style, first), ' ', ellipsis(style), ' ', shown_name(style, last));
}

std::string name_text(const Style& style, const Row& row, const Part& part) {
  if (row.parts > 1) return row.tensors > 0 ? shown_range(style, row.first, row.last) : std::string();
  std::string out = part.name.empty() ? std::string() : shown_name(style, part.name);
  if (part.tensors > 1) out += concat(" and ", counted(part.tensors - 1, "other tensor", "other tensors"));
  return out;
}

std::string kind_text(const Row& row) {
  if (row.parts == 1) return std::string(part_kind_name(row.kind));
  if (row.tensors == row.parts) return counted(row.tensors, "tensor", "tensors");
  if (row.tensors == 0) return counted(row.parts, "part", "parts");
  return concat(counted(row.tensors, "tensor", "tensors"), ", ", counted(row.parts - row.tensors, "other part", "other parts"));
}

Tone kind_tone(PartKind kind) {
  if (model::is_unowned(kind)) return Tone::caution;
  if (kind == PartKind::tensor) return Tone::plain;
  return kind == PartKind::unused ? Tone::accent : Tone::faint;
}

void write_totals(Writer& out, const Style& style, const ByteMap& map) {
  std::string line;
  for (std::size_t k = 0; k < model::kPartKinds; ++k) {
    const auto kind = static_cast<PartKind>(k);
    const std::uint64_t bytes = map.bytes(kind);
    if (bytes > 0)
      line += concat(line.empty() ? "" : ", ", part_kind_name(kind), ' ', bytes_text(style, bytes), " (", share_text(bytes, map.size), ')');
  }
  out.put(concat(line, "\n"));
  const std::uint64_t unowned = map.unowned();
  const std::string overlaps = map.overlap_count == 0 ? std::string("no overlaps") : counted(map.overlap_count, "overlap", "overlaps");
  const std::string owned =
      unowned == 0 ? std::string("every byte has an owner") : concat(counted(unowned, "byte belongs", "bytes belong"), " to nothing");
  out.put(toned(style, unowned == 0 && map.overlap_count == 0 ? Tone::good : Tone::caution, concat(owned, ", ", overlaps)) + "\n");
}

}  // namespace

void write_part(JsonWriter& json, const Part& part, std::string_view file) {
  json.begin_object();
  if (!file.empty()) json.key("file").text(file);
  json.key("offset").integer(part.offset);
  json.key("length").integer(part.length);
  json.key("kind").text(part_kind_name(part.kind));
  if (!part.name.empty()) json.key("name").text(part.name);
  if (part.tensors > 0) json.key("tensors").integer(part.tensors);
  json.end_object();
}

void write_map_keys(JsonWriter& json, std::span<const ByteMap> maps) {
  json.key("files").begin_array();
  for (const ByteMap& map : maps) {
    json.begin_object();
    json.key("name").text(map.file);
    json.key("size").integer(map.size);
    json.key("described").boolean(map.described);
    json.key("unowned").integer(map.unowned());
    json.key("bytes").begin_object();
    for (std::size_t k = 0; k < model::kPartKinds; ++k) {
      const auto kind = static_cast<PartKind>(k);
      if (const std::uint64_t bytes = map.bytes(kind); bytes > 0) json.key(part_kind_name(kind)).integer(bytes);
    }
    json.end_object();
    json.key("parts").begin_array();
    for (const Part& part : map.parts) write_part(json, part, {});
    json.end_array();
    json.key("overlaps").begin_array();
    for (const model::Overlap& overlap : map.overlaps) {
      json.begin_object();
      json.key("offset").integer(overlap.offset);
      json.key("length").integer(overlap.length);
      json.key("a").text(overlap.a);
      json.key("b").text(overlap.b);
      json.end_object();
    }
    json.end_array();
    json.key("overlap_count").integer(map.overlap_count);
    json.end_object();
  }
  json.end_array();
}

void write_map_screen(Writer& out, const Style& style, const ByteMap& map, bool all) {
  out.put(concat(toned(style, Tone::strong, shown_name(style, map.file)), "  ", bytes_text(style, map.size), "\n"));
  if (!map.described) out.put("of this format only tensors are known; what lies around them is shown as nobody's\n");
  Table table(
      {{.title = "OFFSET"}, {.title = "SIZE", .right = true}, {.title = "WHERE"}, {.title = "WHAT"}, {.title = "NAME", .flexible = true}});
  const std::size_t digits = digits_for(map.size);
  std::size_t p = 0;
  const std::vector<Row> rows = rows_of(map, all);
  for (const Row& row : rows) {
    const Part& part = map.parts[p];
    p += row.parts;
    table.cell(grouped_hex(row.offset, digits), Tone::faint);
    table.cell(bytes_text(style, row.length));
    table.cell(picture(style, row, map.size));
    table.cell(kind_text(row), kind_tone(row.kind));
    table.cell(name_text(style, row, part));
  }
  table.write(out, style);
  if (rows.size() < map.parts.size())
    out.put(toned(style, Tone::faint, concat(counted(map.parts.size(), "part", "parts"), " in all; --all lists each")) + "\n");
  for (std::size_t i = 0; i < std::min(map.overlaps.size(), kOverlapsShown); ++i) {
    const model::Overlap& overlap = map.overlaps[i];
    out.put(concat(grouped_hex(overlap.offset, digits), ": ", bytes_text(style, overlap.length), " claimed by ",
                   shown_name(style, overlap.a), " and by ", shown_name(style, overlap.b), "\n"));
  }
  write_totals(out, style, map);
}

}  // namespace assay::report
