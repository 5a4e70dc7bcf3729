// SPDX-License-Identifier: Apache-2.0
#include "containers/tar.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::tar {

namespace {

constexpr std::size_t kBlock = 512;
constexpr std::uint64_t kLongestRecords = std::uint64_t{1} << 20;

/// A field's text up to its first NUL.
std::string_view field(ByteView header, std::size_t at, std::size_t n) {
  const std::string_view text = header.slice(at, n).text();
  return text.substr(0, text.find('\0'));
}

/// Octal text between blanks, or base 256. Nothing when it is neither, negative, or beyond 64 bits.
std::optional<std::uint64_t> number(ByteView header, std::size_t at, std::size_t n) {
  const auto first = std::to_integer<unsigned>(header[at]);
  std::uint64_t value = 0;
  if (first & 0x80) {
    if (first != 0x80) return std::nullopt;
    for (std::size_t i = 1; i < n; ++i) {
      if (value >> 56) return std::nullopt;
      value = value << 8 | std::to_integer<unsigned>(header[at + i]);
    }
    return value;
  }
  std::string_view text = field(header, at, n);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  for (const char c : text) {
    if (c < '0' || c > '7' || value >> 61) return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

bool all_zero(ByteView bytes) {
  return std::ranges::all_of(bytes.span(), [](std::byte b) { return b == std::byte{0}; });
}

/// What PAX records and GNU long names say about the next member.
struct Overrides {
  std::optional<std::string> name, link;
  std::optional<std::uint64_t> size;
  // Of a sparse file, in its versions 0.0 (a record per number), 0.1 (one for all) and 1.0 (in front of the data).
  std::vector<std::uint64_t> offsets, sizes;
  std::optional<std::string> map;
  std::optional<std::uint64_t> real_size;
  bool map_in_data = false;
  bool sparse() const { return map || map_in_data || !offsets.empty() || real_size; }
};

std::optional<std::uint64_t> decimal_number(std::string_view text) {
  std::uint64_t value = 0;
  if (text.empty()) return std::nullopt;
  for (const char c : text) {
    const auto next = checked_mul(value, 10);
    if (c < '0' || c > '9' || !next) return std::nullopt;
    const auto sum = checked_add(*next, static_cast<std::uint64_t>(c - '0'));
    if (!sum) return std::nullopt;
    value = *sum;
  }
  return value;
}

/// False when the value is none.
bool take_sparse_record(std::string_view key, std::string_view value, Overrides& overrides) {
  if (key == "name" || key == "minor") return true;
  if (key == "map") {
    overrides.map = std::string(value);
    return true;
  }
  const auto number = decimal_number(value);
  if (!number) return false;
  if (key == "major") overrides.map_in_data = *number == 1;
  if (key == "realsize" || key == "size") overrides.real_size = *number;
  if (key == "offset") overrides.offsets.push_back(*number);
  if (key == "numbytes") overrides.sizes.push_back(*number);
  return true;
}

/// False when the records break off.
bool take_records(std::string_view text, Overrides& overrides) {
  while (!text.empty() && text.front() != '\0') {
    const std::size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return false;
    const auto length = decimal_number(text.substr(0, blank));
    if (!length || *length <= blank + 1 || *length > text.size()) return false;
    const std::string_view record = text.substr(blank + 1, static_cast<std::size_t>(*length) - blank - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path" || key == "GNU.sparse.name") overrides.name = std::string(value);
    if (key == "linkpath") overrides.link = std::string(value);
    if (key == "size") {
      overrides.size = decimal_number(value);
      if (!overrides.size) return false;
    }
    if (key.starts_with("GNU.sparse.") && !take_sparse_record(key.substr(11), value, overrides)) return false;
    text.remove_prefix(static_cast<std::size_t>(*length));
  }
  return true;
}

/// Types that have no data whatever their size says: links, devices, folders, pipes.
bool has_data(char type) { return type < '1' || type > '6'; }

class Reader {
 public:
  Reader(const ByteSource& source, const Limits& limits) : source_(source), limits_(limits), size_(source.size()) {}
  Result<Archive> run();

 private:
  /// The member or the records at `at_`; false at the end of the walk.
  Result<bool> step();
  Result<bool> take_header(ByteView header);
  Result<void> take_special(char type, std::uint64_t offset, std::uint64_t n);
  Result<void> take_sparse(ByteView header, Member& member);
  Result<bool> read_gnu_map(ByteView header, Member& member);
  Result<bool> read_map_in_data(Member& member);
  void complain(Code code, std::string text) { archive_.findings.add(Finding(code, std::move(text), {.offset = at_})); }

  const ByteSource& source_;
  const Limits& limits_;
  std::uint64_t size_;
  std::uint64_t at_ = 0;
  Overrides global_, next_;
  Archive archive_;
};

constexpr std::size_t kMostParts = 1'000'000;

/// Reads the parts of a sparse file from its header at 386 and the blocks behind it. False when a number is none.
Result<bool> Reader::read_gnu_map(ByteView header, Member& member) {
  constexpr std::size_t kNumber = 12, kInHeader = 4, kInBlock = 21;
  const auto take = [&](ByteView block, std::size_t at, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, at += 2 * kNumber) {
      const auto offset = number(block, at, kNumber), size = number(block, at + kNumber, kNumber);
      if (!offset || !size) return false;
      if (*size != 0) member.parts.push_back({*offset, *size});
    }
    return true;
  };
  const auto real = number(header, 483, kNumber);
  if (!real || !take(header, 386, kInHeader)) return false;
  member.real_size = *real;
  for (bool more = header[482] != std::byte{0}; more;) {
    if (!within(member.offset, kBlock, size_) || member.parts.size() > kMostParts) return false;
    ASSAY_TRY(const ByteBlock block, source_.fetch(member.offset, kBlock));
    if (!take(block.view(), 0, kInBlock)) return false;
    more = block.view()[504] != std::byte{0};
    member.offset += kBlock;
  }
  member.size = std::min(member.size, size_ - std::min(size_, member.offset));
  return true;
}

/// Reads the parts from the lines in front of the data: their count, then offset and size of each. Data follow at the next block.
Result<bool> Reader::read_map_in_data(Member& member) {
  ASSAY_TRY(const ByteBlock block, source_.fetch(member.offset, std::min(member.size, kLongestRecords)));
  const std::string_view text = block.view().text();
  std::size_t at = 0;
  const auto line = [&]() -> std::optional<std::uint64_t> {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return std::nullopt;
    const auto value = decimal_number(text.substr(at, end - at));
    at = end + 1;
    return value;
  };
  const auto count = line();
  if (!count || *count > kMostParts) return false;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto offset = line(), size = line();
    if (!offset || !size) return false;
    if (*size != 0) member.parts.push_back({*offset, *size});
  }
  const std::uint64_t used = std::min<std::uint64_t>((at + kBlock - 1) / kBlock * kBlock, member.size);
  member.offset += used;
  member.size -= used;
  return true;
}

Result<void> Reader::take_sparse(ByteView header, Member& member) {
  const bool gnu = member.type == 'S';
  if (!gnu && !next_.sparse()) return {};
  member.sparse = true;
  bool whole = true;
  if (gnu) {
    ASSAY_TRY(whole, read_gnu_map(header, member));
  } else if (next_.map_in_data) {
    ASSAY_TRY(whole, read_map_in_data(member));
  } else if (next_.map) {
    std::string_view rest = *next_.map;
    std::vector<std::uint64_t> numbers;
    for (bool more = true; more && whole;) {
      const std::size_t comma = rest.find(',');
      const auto value = decimal_number(rest.substr(0, comma));
      whole = value.has_value();
      numbers.push_back(value.value_or(0));
      more = comma != std::string_view::npos;
      if (more) rest.remove_prefix(comma + 1);
    }
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
      if (numbers[i + 1] != 0) member.parts.push_back({numbers[i], numbers[i + 1]});
  } else {
    whole = next_.offsets.size() == next_.sizes.size();
    for (std::size_t i = 0; whole && i < next_.offsets.size(); ++i)
      if (next_.sizes[i] != 0) member.parts.push_back({next_.offsets[i], next_.sizes[i]});
  }
  if (next_.real_size) member.real_size = *next_.real_size;
  // Parts that are out of order, over each other or beyond the end are read by everybody in a way of his own.
  std::uint64_t end = 0, stored = 0;
  for (const Part& part : member.parts) {
    whole = whole && part.offset >= end && within(part.offset, part.size, member.real_size);
    if (!whole) break;
    end = part.offset + part.size;
    stored += part.size;
  }
  if (whole && stored < member.size)
    complain(Code::bad_header,
             concat("the parts of the sparse file ", quote(member.name), " have ", stored, " bytes, ", member.size, " are there"));
  if (whole && stored <= member.size) return {};
  complain(Code::bad_header, concat("the parts of the sparse file ", quote(member.name), " cannot be where they claim"));
  member.sparse = false;
  member.parts.clear();
  return {};
}

std::string name_of(ByteView header) {
  std::string name(field(header, 0, 100));
  const std::string_view prefix = field(header, 345, 155);
  if (field(header, 257, 5) == "ustar" && header[262] == std::byte{0} && !prefix.empty()) name = concat(prefix, '/', name);
  return name;
}

Result<void> Reader::take_special(char type, std::uint64_t offset, std::uint64_t n) {
  if (n > kLongestRecords)
    return fail(
        Error(Code::limit_exceeded, concat("a tar name or its records have ", n, " bytes, the limit is ", kLongestRecords)).at(at_));
  ASSAY_TRY(const ByteBlock block, source_.fetch(offset, n));
  const std::string_view text = block.view().text();
  bool whole = true;
  switch (type) {
    case 'x':
    case 'X': whole = take_records(text, next_); break;
    case 'g': whole = take_records(text, global_); break;
    case 'L': next_.name = std::string(text.substr(0, text.find('\0'))); break;
    case 'K': next_.link = std::string(text.substr(0, text.find('\0'))); break;
    default: break;
  }
  if (!whole) complain(Code::bad_header, concat("the PAX records at ", offset, " cannot be read"));
  return {};
}

Result<bool> Reader::take_header(ByteView header) {
  const char type = static_cast<char>(header[156]);
  const auto size = number(header, 124, 12);
  if (!size) {
    complain(Code::bad_header, concat("the member at ", at_, " has no readable size"));
    return false;
  }
  if (!has_data(type) && *size != 0)
    complain(Code::ambiguous_archive,
             concat("the member at ", at_, " has no data by its type, but claims ", *size, " bytes; some readers skip as many"));
  const bool special = type == 'x' || type == 'X' || type == 'g' || type == 'L' || type == 'K';
  Member member{.name = next_.name     ? *next_.name
                        : global_.name ? *global_.name
                                       : name_of(header),
                .header_offset = at_,
                .offset = at_ + kBlock,
                .size = !has_data(type) ? 0
                        : special       ? *size
                        : next_.size    ? *next_.size
                        : global_.size  ? *global_.size
                                        : *size,
                .type = type};
  if (type == '1' || type == '2') member.link = next_.link ? *next_.link : global_.link ? *global_.link : field(header, 157, 100);
  if (member.name.size() > limits_.name_bytes) member.name.resize(limits_.name_bytes);
  const bool cut = !within(member.offset, member.size, size_);
  if (cut) {
    complain(Code::truncated,
             concat("member ", quote(member.name), " claims ", member.size, " bytes, ", size_ - member.offset, " are left"));
    member.size = size_ - member.offset;
  }
  std::uint64_t end = member.offset + member.size, padding = (kBlock - end % kBlock) % kBlock;
  if (special) {
    ASSAY_CHECK(take_special(type, member.offset, member.size));
  } else {
    ASSAY_CHECK(take_sparse(header, member));
    if (type == 'S') end = member.offset + member.size, padding = (kBlock - end % kBlock) % kBlock;
    archive_.members.push_back(std::move(member));
    next_ = {};
  }
  if (cut || padding > size_ - end) {
    at_ = size_;
    return false;
  }
  at_ = end + padding;
  return true;
}

Result<bool> Reader::step() {
  if (archive_.members.size() >= limits_.zip_members)
    return fail(Error(Code::limit_exceeded, concat("the archive has more than ", limits_.zip_members, " members")).at(at_));
  if (at_ == size_) {
    if (archive_.members.empty() || next_.name) complain(Code::truncated, "the archive ends without a member");
    return false;
  }
  if (size_ - at_ < kBlock) {
    complain(Code::truncated, concat("the archive ends ", size_ - at_, " bytes into a header"));
    return false;
  }
  ASSAY_TRY(const ByteBlock block, source_.fetch(at_, kBlock));
  if (all_zero(block.view())) {
    archive_.ended = true;
    at_ += kBlock;
    if (size_ - at_ >= kBlock) {
      ASSAY_TRY(const ByteBlock second, source_.fetch(at_, kBlock));
      if (all_zero(second.view())) at_ += kBlock;
    }
    return false;
  }
  if (!is_header(block.view())) {
    complain(Code::bad_header, concat("neither a member nor the archive's end stands at ", at_));
    return false;
  }
  return take_header(block.view());
}

Result<Archive> Reader::run() {
  bool more = true;
  while (more) {
    const std::uint64_t before = at_;
    ASSAY_TRY(more, step());
    if (before == 0 && archive_.members.empty() && !more && archive_.findings.has(Code::bad_header))
      return fail(Error(Code::bad_header, "no tar header at the start of the file").at(0));
  }
  archive_.end_offset = at_;
  return std::move(archive_);
}

}  // namespace

bool is_header(ByteView block) {
  if (block.size() < kBlock) return false;
  const auto claimed = number(block, 148, 8);
  if (!claimed) return false;
  std::uint64_t plain = 0, with_sign = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const unsigned byte = i >= 148 && i < 156 ? ' ' : std::to_integer<unsigned>(block[i]);
    plain += byte;
    with_sign += byte - (byte > 127 ? 256u : 0u);
  }
  // Old programs summed signed characters.
  return *claimed == plain || *claimed == (with_sign & 0xffffffff);
}

SparseSource::SparseSource(const ByteSource& outer, const Member& member) : outer_(outer), size_(member.real_size) {
  placed_.reserve(member.parts.size());
  std::uint64_t at = member.offset;
  for (const Part& part : member.parts) {
    placed_.push_back({part.offset, part.offset + part.size, at});
    at += part.size;
  }
}

template <class Take>
Result<void> SparseSource::each(std::uint64_t offset, std::uint64_t n, Take take) const {
  if (!within(offset, n, size_))
    return fail(Error(Code::truncated, concat(n, " bytes at ", offset, " are needed, the member has ", size_)).at(offset));
  auto part = std::ranges::upper_bound(placed_, offset, {}, &Placed::end);
  for (; part != placed_.end() && part->begin < offset + n; ++part)
    ASSAY_CHECK(take(*part, std::max(offset, part->begin), std::min(offset + n, part->end)));
  return {};
}

Result<void> SparseSource::available(std::uint64_t offset, std::uint64_t n) const {
  return each(offset, n, [this](const Placed& part, std::uint64_t from, std::uint64_t to) {
    return outer_.available(part.at + (from - part.begin), to - from);
  });
}

Result<void> SparseSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  std::ranges::fill(out, std::byte{0});
  return each(offset, out.size(), [&](const Placed& part, std::uint64_t from, std::uint64_t to) {
    return outer_.read(part.at + (from - part.begin),
                       out.subspan(static_cast<std::size_t>(from - offset), static_cast<std::size_t>(to - from)));
  });
}

Result<Archive> read_archive(const ByteSource& source, const Limits& limits) { return Reader(source, limits).run(); }

}  // namespace assay::tar
