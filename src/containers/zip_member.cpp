// SPDX-License-Identifier: Apache-2.0
// One member: where its data is, its bytes, and whether its local header agrees with the directory.
#include <algorithm>
#include <array>

#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/inflate.hpp"
#include "containers/zip_layout.hpp"

namespace assay::zip {

namespace {

constexpr struct {
  std::uint16_t method;
  std::string_view name;
} kMethods[] = {{0, "stored"},         {1, "shrink"}, {6, "implode"}, {8, "deflated"}, {9, "deflate64"}, {10, "dcl implode"},
                {12, "bzip2"},         {14, "lzma"},  {16, "cmpsc"},  {18, "terse"},   {19, "lz77"},     {20, "zstd (old number)"},
                {93, "zstd"},          {94, "mp3"},   {95, "xz"},     {96, "jpeg"},    {97, "wavpack"},  {98, "ppmd"},
                {99, "aes encryption"}};

std::string method_name(std::uint16_t method) {
  for (const auto& row : kMethods)
    if (row.method == method) return concat(row.name, " (method ", method, ')');
  return concat("method ", method);
}

Error member_error(Code code, const Member& member, std::string what) {
  return Error(code, concat("member ", quote(member.name), ' ', what)).at(member.header_offset).in_member(member.name);
}

/// Checks what the directory alone can tell about reading the member.
Result<void> check_readable(const Member& member, std::uint64_t max_size, const Limits& limits) {
  if (member.encrypted()) return fail(member_error(Code::encrypted_member, member, "is encrypted"));
  if ((member.flags & kPatch) != 0)
    return fail(member_error(Code::unsupported_compression, member, "claims to be a patch to another file, which no reader takes"));
  if (member.method == static_cast<std::uint16_t>(Method::stored)) {
    if (member.packed_size != member.size)
      return fail(member_error(Code::bad_zip, member,
                               concat("is stored, but has ", member.packed_size, " bytes where ", member.size, " are claimed"))
                      .expected_found(member.size, member.packed_size));
    return {};
  }
  if (member.method != static_cast<std::uint16_t>(Method::deflated))
    return fail(member_error(Code::unsupported_compression, member, concat("is packed with ", method_name(member.method)))
                    .fact("method", std::uint64_t{member.method}));
  if (member.size > max_size)
    return fail(member_error(Code::limit_exceeded, member, concat("inflates to ", member.size, " bytes, the limit is ", max_size))
                    .expected_found(max_size, member.size));
  if (member.size / std::max(limits.inflate_ratio, 1u) > member.packed_size)
    return fail(
        member_error(Code::limit_exceeded, member,
                     concat("inflates from ", member.packed_size, " to ", member.size, " bytes, more than ", limits.inflate_ratio, " to 1"))
            .expected_found(limits.inflate_ratio, member.size / std::max<std::uint64_t>(member.packed_size, 1)));
  return {};
}

Result<ByteBlock> inflate_range(const ByteSource& source, std::string_view name, std::uint64_t offset, std::uint64_t packed,
                                std::uint64_t size) {
  ASSAY_TRY(const ByteBlock bytes, source.view(offset, packed));
  auto inflated = inflate(bytes.view(), size);
  if (!inflated) return fail(std::move(inflated).error().at(offset).in_member(name));
  return inflated;
}

class InflatedMember final : public Producer {
 public:
  InflatedMember(const Member& member, std::uint64_t offset)
      : name_(member.name), offset_(offset), packed_(member.packed_size), size_(member.size) {}
  Result<ByteBlock> load(const ByteSource& file) const override { return inflate_range(file, name_, offset_, packed_, size_); }

 private:
  std::string name_;
  std::uint64_t offset_, packed_, size_;
};

/// Adds what one local header, already read, says otherwise than the directory.
void compare(const LocalHeader& local, std::string_view name, ByteView extra, const Member& member, Findings& findings) {
  const auto add = [&](Code code, std::string text) {
    add_finding(findings, code, [&] {
      return Finding(code, concat("member ", quote(member.name), ": ", text),
                     {.member = std::string(member.name), .offset = member.header_offset});
    });
  };
  if (name != member.name) add(Code::name_mismatch, concat("its local header names it ", quote(name)));
  if (local.method != member.method)
    add(Code::ambiguous_archive,
        concat("its local header says ", method_name(local.method), ", the directory ", method_name(member.method)));
  if ((local.flags ^ member.flags) & kEncryption)
    add(Code::ambiguous_archive, member.encrypted() ? "encrypted according to the directory, not to its local header"
                                                    : "encrypted according to its local header, not to the directory");
  WideNumbers numbers{.size = local.size, .packed = local.packed, .offset = 0};
  if (widen(extra, numbers) == Zip64Extra::twice) add(Code::bad_zip, "its local header has two ZIP64 fields");
  const auto differs = [&](std::string_view what, std::uint64_t here, std::uint64_t there) {
    if (here != 0 && here != there)
      add(Code::ambiguous_archive, concat("its local header claims ", what, ' ', here, ", the directory ", there));
  };
  differs("packed size", numbers.packed, member.packed_size);
  differs("size", numbers.size, member.size);
  if (member.crc != 0) differs("CRC", local.crc, member.crc);
}

}  // namespace

LocalHeader parse_local_header(const std::byte* p) {
  return {.signature = load_le<std::uint32_t>(p),
          .crc = load_le<std::uint32_t>(p + 14),
          .packed = load_le<std::uint32_t>(p + 18),
          .size = load_le<std::uint32_t>(p + 22),
          .flags = load_le<std::uint16_t>(p + 6),
          .method = load_le<std::uint16_t>(p + 8),
          .name_size = load_le<std::uint16_t>(p + 26),
          .extra_size = load_le<std::uint16_t>(p + 28)};
}

Zip64Extra widen(ByteView extra, WideNumbers& numbers) {
  constexpr std::uint64_t kWide = 0xffffffff;
  bool seen = false, twice = false, short_of = false;
  const bool needed = numbers.size == kWide || numbers.packed == kWide || numbers.offset == kWide || numbers.wide_disk;
  for (std::size_t i = 0; extra.size() - i >= 4;) {
    const auto id = load_le<std::uint16_t>(extra.data() + i);
    const std::size_t n = load_le<std::uint16_t>(extra.data() + i + 2);
    i += 4;
    if (n > extra.size() - i) break;
    if (id == 1 && seen) twice = true;
    if (id == 1 && !seen) {
      seen = true;
      std::size_t used = 0;
      for (std::uint64_t* number : {&numbers.size, &numbers.packed, &numbers.offset}) {
        if (*number != kWide) continue;
        if (n - used < 8) short_of = true;
        else *number = load_le<std::uint64_t>(extra.data() + i + used), used += 8;
      }
      if (numbers.wide_disk && n - used < 4) short_of = true;
    }
    i += n;
  }
  if (twice) return Zip64Extra::twice;
  return needed && (!seen || short_of) ? Zip64Extra::missing : Zip64Extra::fine;
}

Result<std::uint64_t> data_offset(const ByteSource& source, const Member& member) {
  if (member.encrypted()) return fail(member_error(Code::encrypted_member, member, "is encrypted"));
  const std::uint64_t end = source.size();
  if (!within(member.header_offset, kLocalHeaderSize, end))
    return fail(
        member_error(Code::bad_zip, member, concat("has its local header at ", member.header_offset, ", the file has ", end, " bytes")));
  std::array<std::byte, kLocalHeaderSize> bytes;
  ASSAY_CHECK(source.read(member.header_offset, bytes));
  const LocalHeader local = parse_local_header(bytes.data());
  if (local.signature != kLocalHeader)
    return fail(
        member_error(Code::bad_zip, member, concat("has no local header at ", member.header_offset, ": found ", hex(local.signature)))
            .fact("signature", std::uint64_t{local.signature}));
  const std::uint64_t data = member.header_offset + kLocalHeaderSize + local.name_size + local.extra_size;
  if (!within(data, member.packed_size, end))
    return fail(member_error(Code::truncated, member,
                             concat("needs ", member.packed_size, " bytes from ", data, ", ", data < end ? end - data : 0, " are left"))
                    .expected_found(member.packed_size, data < end ? end - data : 0));
  return data;
}

Result<ByteBlock> read_member(const ByteSource& source, const Member& member, std::uint64_t max_size, const Limits& limits) {
  ASSAY_CHECK(check_readable(member, max_size, limits));
  ASSAY_TRY(const std::uint64_t offset, data_offset(source, member));
  if (member.method == static_cast<std::uint16_t>(Method::stored)) return source.view(offset, member.size);
  return inflate_range(source, member.name, offset, member.packed_size, member.size);
}

std::uint64_t most_parsed(const Member& member, const Limits& limits) {
  constexpr std::uint64_t kHarmless = 4 << 20;
  if (member.method == static_cast<std::uint16_t>(Method::stored)) return limits.pickle_bytes;
  const auto believed = checked_mul(member.packed_size, limits.inflate_pickle_ratio);
  return std::min(limits.inflate_pickle_bytes, std::max(kHarmless, believed.value_or(limits.inflate_pickle_bytes)));
}

Result<Storage> storage_of(const ByteSource& source, const Member& member, const Limits& limits) {
  ASSAY_CHECK(check_readable(member, limits.inflate_bytes, limits));
  ASSAY_TRY(const std::uint64_t offset, data_offset(source, member));
  Storage storage;
  storage.offset = offset;
  storage.nbytes = member.size;
  if (member.method != static_cast<std::uint16_t>(Method::stored)) storage.producer = std::make_shared<InflatedMember>(member, offset);
  return storage;
}

Result<Findings> compare_local_headers(const ByteSource& source, const Directory& directory) {
  Findings findings;
  const std::uint64_t end = source.size();
  for (const Member& member : directory.members) {
    if (member.salvaged) continue;
    const auto missing = [&] {
      add_finding(findings, Code::bad_zip, [&] {
        return Finding(Code::bad_zip, concat("member ", quote(member.name), " has no whole local header at ", member.header_offset),
                       {.member = std::string(member.name), .offset = member.header_offset});
      });
    };
    if (!within(member.header_offset, kLocalHeaderSize, end)) {
      missing();
      continue;
    }
    std::array<std::byte, kLocalHeaderSize> bytes;
    ASSAY_CHECK(source.read(member.header_offset, bytes));
    const LocalHeader local = parse_local_header(bytes.data());
    const std::uint64_t rest = member.header_offset + kLocalHeaderSize;
    const std::size_t n = std::size_t{local.name_size} + local.extra_size;
    if (local.signature != kLocalHeader || !within(rest, n, end)) {
      missing();
      continue;
    }
    ASSAY_TRY(const ByteBlock block, source.fetch(rest, n));
    compare(local, block.view().slice(0, local.name_size).text(), block.view().from(local.name_size), member, findings);
  }
  return findings;
}

}  // namespace assay::zip
