// SPDX-License-Identifier: Apache-2.0
// Writes zip archives in memory for tests: as torch writes them, as other tools do, and as nobody should. Header-only; shares no code with
// the reader.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::testing {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::string_view text) {
  Bytes bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

inline void append(Bytes& out, const Bytes& more) { out.insert(out.end(), more.begin(), more.end()); }

/// The low `n` bytes of a number, least first.
inline void append_number(Bytes& out, std::uint64_t value, int n) {
  for (int i = 0; i < n; ++i) out.push_back(static_cast<std::byte>(i < 8 ? value >> (8 * i) : 0));
}
inline void put_number(Bytes& out, std::size_t at, std::uint64_t value, int n) {
  for (int i = 0; i < n; ++i) out[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(i < 8 ? value >> (8 * i) : 0);
}

/// Bytes that repeat late and differ by seed.
inline Bytes noise(std::size_t n, std::uint32_t seed = 1) {
  Bytes bytes(n);
  for (auto& byte : bytes) byte = static_cast<std::byte>((seed = seed * 1664525u + 1013904223u) >> 24);
  return bytes;
}

inline std::uint32_t slow_crc32(const Bytes& bytes) {
  std::uint32_t crc = ~0u;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? 0xedb88320u ^ (crc >> 1) : crc >> 1;
  }
  return ~crc;
}

/// A raw deflate stream without compression (blocks of stored bytes).
inline Bytes deflate_stored(const Bytes& data) {
  Bytes out;
  std::size_t at = 0;
  do {
    const std::size_t n = std::min<std::size_t>(data.size() - at, 65535);
    out.push_back(std::byte{at + n == data.size()});  // last block, type 00
    append_number(out, n, 2);
    append_number(out, ~n, 2);
    out.insert(out.end(), data.begin() + static_cast<std::ptrdiff_t>(at), data.begin() + static_cast<std::ptrdiff_t>(at + n));
    at += n;
  } while (at < data.size());
  return out;
}

/// A raw deflate stream of 1 + 258 * matches zero bytes: one literal, then copies of the byte before; 1032 to 1 would need dynamic codes,
/// this has 13 bits per match.
inline Bytes deflate_zeros(std::size_t matches) {
  Bytes out;
  std::uint32_t held = 0;
  int bits = 0;
  const auto put = [&](std::uint32_t code, int n) {  // least bit first
    held |= code << bits;
    for (bits += n; bits >= 8; bits -= 8, held >>= 8) out.push_back(static_cast<std::byte>(held));
  };
  const auto huffman = [&](std::uint32_t code, int n) {  // greatest bit first
    for (int i = n; i-- > 0;) put(code >> i & 1, 1);
  };
  put(1, 1), put(1, 2);                                                       // last block, fixed codes
  huffman(0x30, 8);                                                           // literal 0
  for (std::size_t i = 0; i < matches; ++i) huffman(0xc5, 8), huffman(0, 5);  // length 258, distance 1
  huffman(0, 7);                                                              // end of block
  put(0, 7);                                                                  // to a whole byte
  return out;
}

/// One member and how to write it. The defaults are a plain stored member.
struct ZipMember {
  std::string name;
  Bytes data;                              ///< as written to the file
  std::optional<std::uint64_t> size = {};  ///< unpacked; data.size() when absent
  std::optional<std::uint32_t> crc = {};   ///< of `data` when absent
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  bool descriptor = false;  ///< sizes and CRC only behind the data; sets flag bit 3
  bool descriptor_signature = true;
  bool descriptor_wide = false;  ///< 64-bit sizes
  std::uint32_t alignment = 0;   ///< of the data, by a torch "FB" extra field in the local header
  bool wide = false;             ///< the directory entry says 0xFFFFFFFF thrice and carries a ZIP64 field
  Bytes local_extra = {};
  Bytes entry_extra = {};  ///< in place of the ZIP64 field that `wide` asks for, when not empty
  std::optional<std::string> local_name = {};
  std::optional<std::uint16_t> local_method = {};
  std::optional<std::uint16_t> local_flags = {};
  std::optional<std::uint64_t> local_size = {};
};

/// The archive around the members.
struct ZipShape {
  bool zip64_end = false;
  bool directory = true;  ///< false: stop after the last member, as a broken save does
  std::string comment = {};
  std::optional<std::uint64_t> entries = {};  ///< claimed by the end records
  std::optional<std::uint64_t> directory_size = {}, directory_offset = {};
};

/// As torch.save writes a record.
inline ZipMember torch_member(std::string name, Bytes data) {
  const bool empty = data.empty();
  return {.name = std::move(name), .data = std::move(data), .flags = 0x0800, .descriptor = !empty, .alignment = 64};
}

class ZipBuilder {
 public:
  ZipBuilder& add(ZipMember member) {
    members_.push_back(std::move(member));
    return *this;
  }
  ZipBuilder& add(std::string name, Bytes data) { return add(ZipMember{.name = std::move(name), .data = std::move(data)}); }

  Bytes build(const ZipShape& shape = {}) {
    Bytes out, directory;
    header_offsets.clear(), data_offsets.clear(), entry_offsets.clear();
    for (const ZipMember& member : members_) {
      write_member(out, member);
      write_entry(directory, member);
    }
    directory_offset = out.size();
    for (auto& offset : entry_offsets) offset += directory_offset;
    if (!shape.directory) return out;
    append(out, directory);
    write_end(out, shape, directory.size());
    return out;
  }
  /// As torch.save ends an archive.
  Bytes build_torch() { return build({.zip64_end = true}); }

  // Of the last build.
  std::vector<std::size_t> header_offsets, data_offsets, entry_offsets;
  std::size_t directory_offset = 0, end_record = 0;

 private:
  static std::uint32_t crc_of(const ZipMember& member) { return member.crc ? *member.crc : slow_crc32(member.data); }
  static std::uint64_t size_of(const ZipMember& member) { return member.size.value_or(member.data.size()); }
  static std::uint16_t flags_of(const ZipMember& member) { return static_cast<std::uint16_t>(member.flags | (member.descriptor ? 8 : 0)); }

  void write_member(Bytes& out, const ZipMember& member) {
    const std::string& name = member.local_name ? *member.local_name : member.name;
    header_offsets.push_back(out.size());
    Bytes extra = member.local_extra;
    if (member.alignment) {
      const std::size_t data = out.size() + 30 + name.size() + extra.size() + 4;
      const std::size_t pad = (member.alignment - data % member.alignment) % member.alignment;
      append_number(extra, 0x4246, 2);
      append_number(extra, pad, 2);
      extra.insert(extra.end(), pad, std::byte{'Z'});
    }
    append(out, bytes_of("PK\3\4"));
    append_number(out, 0, 2);
    append_number(out, member.local_flags.value_or(flags_of(member)), 2);
    append_number(out, member.local_method.value_or(member.method), 2);
    append_number(out, 0, 4);
    append_number(out, member.descriptor ? 0 : crc_of(member), 4);
    append_number(out, member.descriptor ? 0 : member.data.size(), 4);
    append_number(out, member.local_size.value_or(member.descriptor ? 0 : size_of(member)), 4);
    append_number(out, name.size(), 2);
    append_number(out, extra.size(), 2);
    append(out, bytes_of(name));
    append(out, extra);
    data_offsets.push_back(out.size());
    append(out, member.data);
    if (!member.descriptor) return;
    if (member.descriptor_signature) append(out, bytes_of("PK\7\10"));
    append_number(out, crc_of(member), 4);
    append_number(out, member.data.size(), member.descriptor_wide ? 8 : 4);
    append_number(out, size_of(member), member.descriptor_wide ? 8 : 4);
  }

  void write_entry(Bytes& out, const ZipMember& member) {
    Bytes extra = member.entry_extra;
    if (member.wide && extra.empty()) {
      append_number(extra, 1, 2);
      append_number(extra, 24, 2);
      append_number(extra, size_of(member), 8);
      append_number(extra, member.data.size(), 8);
      append_number(extra, header_offsets.back(), 8);
    }
    entry_offsets.push_back(out.size());
    append(out, bytes_of("PK\1\2"));
    append_number(out, 0, 4);
    append_number(out, flags_of(member), 2);
    append_number(out, member.method, 2);
    append_number(out, 0, 4);
    append_number(out, crc_of(member), 4);
    append_number(out, member.wide ? ~0u : member.data.size(), 4);
    append_number(out, member.wide ? ~0u : size_of(member), 4);
    append_number(out, member.name.size(), 2);
    append_number(out, extra.size(), 2);
    append_number(out, 0, 2 + 2 + 2 + 4);
    append_number(out, member.wide ? ~0u : header_offsets.back(), 4);
    append(out, bytes_of(member.name));
    append(out, extra);
  }

  void write_end(Bytes& out, const ZipShape& shape, std::size_t directory_bytes) {
    const std::uint64_t entries = shape.entries.value_or(members_.size());
    const std::uint64_t size = shape.directory_size.value_or(directory_bytes), offset = shape.directory_offset.value_or(directory_offset);
    if (shape.zip64_end) {
      const std::size_t at = out.size();
      append(out, bytes_of("PK\6\6"));
      append_number(out, 44, 8);
      append_number(out, 0x002d031e, 4);
      append_number(out, 0, 8);
      append_number(out, entries, 8);
      append_number(out, entries, 8);
      append_number(out, size, 8);
      append_number(out, offset, 8);
      append(out, bytes_of("PK\6\7"));
      append_number(out, 0, 4);
      append_number(out, at, 8);
      append_number(out, 1, 4);
    }
    end_record = out.size();
    append(out, bytes_of("PK\5\6"));
    append_number(out, 0, 4);
    append_number(out, std::min<std::uint64_t>(entries, 0xffff), 2);
    append_number(out, std::min<std::uint64_t>(entries, 0xffff), 2);
    append_number(out, std::min<std::uint64_t>(size, 0xffffffff), 4);
    append_number(out, std::min<std::uint64_t>(offset, 0xffffffff), 4);
    append_number(out, shape.comment.size(), 2);
    append(out, bytes_of(shape.comment));
  }

  std::vector<ZipMember> members_;
};

}  // namespace assay::testing
