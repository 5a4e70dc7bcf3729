// SPDX-License-Identifier: Apache-2.0
// Numbers for people: 1.5 GiB, 7.24 B, 12.5 %, bars; and how wide a text stands in a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "report/style.hpp"

namespace assay::report {

/// Three significant digits, trailing zeros dropped: "812 B", "7.75 KiB", "1002 MiB", "1.5 GiB". Exact style: "812".
std::string bytes_text(const Style& style, std::uint64_t bytes);
/// "812", "3.97 K", "525 M", "7.24 B", "1.2 T".
std::string count_text(std::uint64_t count);
/// "100 %", "12.5 %", "0.01 %"; "< 0.01 %" for what is there but less. "" when the whole is 0.
std::string share_text(std::uint64_t part, std::uint64_t whole);
/// A double in at most four significant digits, for tables: "0.0161", "-12.6", "1.2e-07".
std::string short_number(double value);
/// "[2, 3]" with × in place of the comma: "2×3"; "scalar" without dimensions.
std::string shape_text(const Style& style, std::span<const std::uint64_t> shape);
/// "2x3x4", "scalar": for machines.
std::string shape_word(std::span<const std::uint64_t> shape);
/// A bar of `cells` columns filled to part / whole, in eighths where Unicode is allowed.
std::string bar(const Style& style, std::uint64_t part, std::uint64_t whole, std::size_t cells);

/// Columns that a printable UTF-8 text takes in a terminal: 2 for wide East Asian characters and emoji, 0 for combining marks.
std::size_t display_width(std::string_view text);
/// The text cut in its middle to at most `width` columns.
std::string shortened(const Style& style, std::string_view text, std::size_t width);
/// The same of a tensor's name, of which the numbers of layers and experts stay: "…0…q_proj.weight".
std::string shortened_name(const Style& style, std::string_view name, std::size_t width);
/// The text cut at its end to at most `width` columns.
std::string clipped(const Style& style, std::string_view text, std::size_t width);
/// True when a name shows as it is: printable ASCII, no backslash, not empty.
bool is_plain(std::string_view name);
/// A name from a file, safe to print; an empty one is ''; without Unicode other characters become \u{…}.
std::string shown_name(const Style& style, std::string_view name);
/// Text that is safe to print already; without Unicode other characters become \u{…}.
std::string within_ascii(const Style& style, std::string safe);

}  // namespace assay::report
