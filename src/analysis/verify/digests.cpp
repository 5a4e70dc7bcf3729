// SPDX-License-Identifier: Apache-2.0
#include "analysis/verify/verify.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"

namespace assay::analysis {

namespace {

constexpr std::size_t kDigits = 64;

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

bool is_sha256(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  return text.size() == kDigits && std::ranges::all_of(text, is_digit);
}

Result<Expected> read_lfs_pointer(std::string_view text) {
  constexpr std::string_view kOid = "oid sha256:", kSize = "size ";
  Expected expected;
  const bool versioned = text.starts_with("version https://");
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = next_line(rest);
    if (line.starts_with(kOid) && is_sha256(line.substr(kOid.size()))) expected.sha256 = lowered(line.substr(kOid.size()));
    if (!line.starts_with(kSize)) continue;
    std::uint64_t size = 0;
    const auto [end, failure] = std::from_chars(line.data() + kSize.size(), line.data() + line.size(), size);
    if (failure == std::errc() && end == line.data() + line.size()) expected.size = size;
  }
  if (!versioned || expected.sha256.empty())
    return fail(Code::bad_header, "not a Git LFS pointer: it has no version or no oid sha256 line");
  return expected;
}

std::vector<Sum> read_sums(std::string_view text) {
  constexpr std::string_view kBsd = "SHA256 (", kBetween = ") = ";
  std::vector<Sum> sums;
  while (!text.empty()) {
    std::string_view line = next_line(text);
    if (line.starts_with(kBsd)) {
      const std::size_t at = line.rfind(kBetween);
      if (at == std::string_view::npos || at < kBsd.size() || !is_sha256(line.substr(at + kBetween.size()))) continue;
      sums.push_back({lowered(line.substr(at + kBetween.size())), std::string(line.substr(kBsd.size(), at - kBsd.size()))});
      continue;
    }
    if (line.starts_with('\\')) line.remove_prefix(1);  // sha256sum marks names that it had to escape
    if (line.size() < kDigits + 2 || !is_sha256(line.substr(0, kDigits)) || line[kDigits] != ' ') continue;
    std::string_view name = line.substr(kDigits + 1);
    if (name.starts_with(' ') || name.starts_with('*')) name.remove_prefix(1);
    if (name.starts_with("./")) name.remove_prefix(2);
    if (!name.empty()) sums.push_back({lowered(line.substr(0, kDigits)), std::string(name)});
  }
  return sums;
}

Check no_digest() {
  return {.name = "sha256", .verdict = CheckVerdict::skip, .detail = "no digest to compare with; give --sums, --sha256 or --lfs"};
}

Check check_digest(const Expected& expected, std::string_view file, std::uint64_t size, std::string_view sha256) {
  Check check{.name = "sha256"};
  if (expected.size && *expected.size != size)
    check.wrong.push_back(concat(quote(file), " has ", grouped(size), " bytes, ", expected.from, " says ", grouped(*expected.size)));
  if (expected.sha256 != sha256) check.wrong.push_back(concat(quote(file), " is ", sha256, ", ", expected.from, " says ", expected.sha256));
  check.verdict = check.wrong.empty() ? CheckVerdict::pass : CheckVerdict::fail;
  check.detail =
      check.wrong.empty() ? concat(quote(file), " is what ", expected.from, " says: ", sha256.substr(0, 12), "…") : check.wrong.front();
  return check;
}

}  // namespace assay::analysis
