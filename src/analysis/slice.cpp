// SPDX-License-Identifier: Apache-2.0
#include "analysis/slice.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::analysis {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::unexpected<Error> wrong(std::string_view text, const std::string& why) {
  return fail(Error(Code::usage, concat("slice ", quote(text), ": ", why)).advise("written as in numpy: '[3, 10:20, ::2, -1]'"));
}

/// A whole number, which may be negative; nothing where the text is no number that fits.
std::optional<std::int64_t> integer(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Bounds {
  std::optional<std::int64_t> start, stop, step;
};

/// What Python's slice.indices() gives.
AxisRange resolved(const Bounds& bounds, std::int64_t size) {
  const std::int64_t step = bounds.step.value_or(1);
  const std::int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
  const auto place = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    if (!given) return otherwise;
    if (*given >= 0) return std::min(*given, highest);
    return *given < -size ? lowest : *given + size;
  };
  const std::int64_t start = place(bounds.start, step < 0 ? highest : lowest), stop = place(bounds.stop, step < 0 ? lowest : highest);
  const auto distance = static_cast<std::uint64_t>(step < 0 ? start - stop : stop - start);
  AxisRange range;
  if ((step < 0 ? stop < start : start < stop)) {
    const std::uint64_t stride = step < 0 ? 0 - static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
    range.first = static_cast<std::uint64_t>(start);
    range.count = (distance - 1) / stride + 1;
    if (range.count > 1) range.step = step;
  }
  return range;
}

Result<AxisRange> parse_axis(std::string_view all, std::string_view part, std::size_t axis, std::uint64_t size) {
  if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return wrong(all, concat("dimension ", axis, " is too long"));
  const auto signed_size = static_cast<std::int64_t>(size);
  if (part.find(':') == std::string_view::npos) {
    const auto index = integer(part);
    if (!index)
      return wrong(all, part.empty() ? std::string("an index is missing") : concat(quote(part), " is neither an index nor a range"));
    if (*index >= signed_size || *index < -signed_size)
      return wrong(all, concat("index ", *index, " is outside dimension ", axis, ", which has ", size));
    return AxisRange{static_cast<std::uint64_t>(*index < 0 ? *index + signed_size : *index), 1, 1, true};
  }
  Bounds bounds;
  std::optional<std::int64_t>* const fields[] = {&bounds.start, &bounds.stop, &bounds.step};
  std::size_t field = 0;
  for (std::string_view rest = part;; ++field) {
    const std::size_t colon = rest.find(':');
    const std::string_view word = trimmed(rest.substr(0, colon));
    if (field == std::size(fields)) return wrong(all, concat(quote(part), " has more than two colons"));
    if (!word.empty() && !(*fields[field] = integer(word))) return wrong(all, concat(quote(word), " is no whole number"));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (bounds.step == 0) return wrong(all, "a step of 0 leads nowhere");
  // A step of the least number could not be turned around.
  if (bounds.step && *bounds.step < -signed_size) bounds.step = -std::max<std::int64_t>(signed_size, 1);
  return resolved(bounds, signed_size);
}

}  // namespace

std::vector<AxisRange> whole(std::span<const std::uint64_t> shape) {
  std::vector<AxisRange> ranges;
  for (const std::uint64_t size : shape) ranges.push_back({0, 1, size, false});
  return ranges;
}

Result<std::vector<AxisRange>> parse_slice(std::string_view text, std::span<const std::uint64_t> shape) {
  std::string_view inside = trimmed(text);
  if (inside.starts_with('[') != inside.ends_with(']') || inside == "[") return wrong(text, "a bracket has no partner");
  if (inside.starts_with('[')) inside = trimmed(inside.substr(1, inside.size() - 2));
  std::vector<AxisRange> ranges = whole(shape);
  if (inside.empty()) return ranges;

  std::vector<std::string_view> parts;
  for (std::string_view rest = inside;;) {
    const std::size_t comma = rest.find(',');
    parts.push_back(trimmed(rest.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (trimmed(rest).empty()) break;  // a comma at the end, as tuples have
  }
  const auto dots = static_cast<std::size_t>(std::ranges::count(parts, std::string_view("...")));
  if (dots > 1) return wrong(text, "'...' may stand once");
  if (parts.size() - dots > shape.size())
    return wrong(text, concat(counted(parts.size() - dots, "index", "indices"), " for ", counted(shape.size(), "dimension", "dimensions")));
  std::size_t axis = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "...") {
      axis = shape.size() - (parts.size() - 1 - i);
      continue;
    }
    ASSAY_TRY(ranges[axis], parse_axis(text, parts[i], axis, shape[axis]));
    ++axis;
  }
  return ranges;
}

std::string slice_text(std::span<const AxisRange> slice, std::span<const std::uint64_t> shape) {
  const auto is_whole = [&](std::size_t i) {
    return !slice[i].single && slice[i].first == 0 && slice[i].step == 1 && slice[i].count == shape[i];
  };
  std::size_t last = slice.size();
  while (last > 0 && is_whole(last - 1)) --last;
  if (last == 0) return "";
  std::string out = "[";
  for (std::size_t i = 0; i < last; ++i) {
    const AxisRange& range = slice[i];
    if (i > 0) out += ", ";
    if (range.single) out += decimal(range.first);
    else if (is_whole(i)) out += ":";
    else if (range.count == 0) out += "0:0";
    else {
      const std::uint64_t end = range.at(range.count - 1);
      out += decimal(range.first) + ":";
      if (range.step > 0) out += decimal(end + 1);
      else if (end > 0) out += decimal(end - 1);
      if (range.step != 1) out += ":" + decimal(range.step);
    }
  }
  return out + "]";
}

}  // namespace assay::analysis
