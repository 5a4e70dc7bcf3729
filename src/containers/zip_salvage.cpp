// SPDX-License-Identifier: Apache-2.0
// Listing an archive that lost its directory, by walking from local header to local header.
//
// Torch writes no sizes into local headers: they stand in the descriptor behind the data (PK\7\8, crc, packed size, size). The data's end
// is therefore searched: the first descriptor whose packed size is the distance to where it stands. Bytes of a tensor that look like one do
// not also know how far they are from its start.
#include <cstring>
#include <memory>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/zip_layout.hpp"

namespace assay::zip {

namespace {

constexpr std::uint64_t kChunk = std::uint64_t{4} << 20;
constexpr std::uint64_t kFirstHeaderWithin = std::uint64_t{1} << 20;

/// A quick look at a signature `distance` bytes behind the data's start: false when it surely does not tell the data's end. Most
/// bytes that look like signatures, and all that hostile files are full of, end here.
bool may_tell_end(ByteView bytes, std::size_t i, std::uint64_t distance) {
  const std::byte* p = bytes.data() + i;
  const auto packed_is = [](const std::byte* at, std::uint64_t n) { return load_le<std::uint32_t>(at) == static_cast<std::uint32_t>(n); };
  switch (load_le<std::uint32_t>(p)) {
    case kDescriptor: return bytes.size() - i < 12 || packed_is(p + 8, distance);
    case kLocalHeader:
    case kEntry: return i < 20 || packed_is(p - 8, distance - 12) || packed_is(p - 16, distance - 20);
    default: return false;
  }
}

bool follows_a_member(std::uint32_t signature) {
  return signature == kLocalHeader || signature == kEntry || signature == kZip64End || signature == kEndRecord;
}

class Salvager {
 public:
  Salvager(const ByteSource& source, const Limits& limits) : source_(source), limits_(limits), size_(source.size()) {}
  Result<Directory> run();

 private:
  struct Descriptor {
    std::uint64_t at, end, packed, size;
    std::uint32_t crc;
  };

  Result<std::optional<std::uint64_t>> first_header() const;
  /// The member at `at` goes to the members or becomes `cut`; gives where the next should start, nothing at the end of the walk.
  Result<std::optional<std::uint64_t>> step(std::uint64_t at);
  Result<std::optional<Descriptor>> find_descriptor(std::uint64_t data, bool stored);
  Result<std::optional<Descriptor>> try_signature(std::uint64_t at, std::uint32_t signature, std::uint64_t data, bool stored);
  Result<std::optional<Descriptor>> descriptor_at(std::uint64_t at, std::size_t lead, std::uint64_t packed, bool stored);
  Result<ByteView> peek(std::uint64_t offset, std::size_t n);
  Result<bool> member_may_end_at(std::uint64_t at);
  void cut(Member member, std::uint64_t from);

  const ByteSource& source_;
  const Limits& limits_;
  std::uint64_t size_;
  ByteBlock chunk_;   // what is being searched
  ByteBlock peeked_;  // what `peek` had to read beyond it
  std::shared_ptr<Arena> names_ = std::make_shared<Arena>();
  Directory directory_;
};

/// n bytes that lie in the file, valid until the next call.
Result<ByteView> Salvager::peek(std::uint64_t offset, std::size_t n) {
  const ByteView held = chunk_.view();
  if (offset >= held.offset() && within(offset - held.offset(), n, held.size()))
    return held.slice(static_cast<std::size_t>(offset - held.offset()), n);
  ASSAY_TRY(peeked_, source_.fetch(offset, n));
  return peeked_.view();
}

Result<std::optional<std::uint64_t>> Salvager::first_header() const {
  const std::uint64_t n = std::min(size_, kFirstHeaderWithin);
  // Nearly always at the very front: look there before reading more.
  for (const std::uint64_t reach : {std::min<std::uint64_t>(n, 4), n}) {
    ASSAY_TRY(const ByteBlock block, source_.view(0, reach));
    const std::string_view text = block.view().text();
    const std::size_t at = text.find(std::string_view("PK\3\4", 4));
    if (at != text.npos) return at;
  }
  return std::nullopt;
}

/// True when a header or record starts at `at`, or too little is left to tell.
Result<bool> Salvager::member_may_end_at(std::uint64_t at) {
  if (at > size_) return false;
  if (size_ - at < 4) return true;
  ASSAY_TRY(const ByteView bytes, peek(at, 4));
  return follows_a_member(load_le<std::uint32_t>(bytes.data()));
}

/// A descriptor at `at` for data of `packed` bytes, its sizes 32 or 64 bits wide; `lead` is the length of its signature, 4 or 0.
Result<std::optional<Salvager::Descriptor>> Salvager::descriptor_at(std::uint64_t at, std::size_t lead, std::uint64_t packed, bool stored) {
  for (const std::size_t width : {4, 8}) {
    const std::size_t n = lead + 4 + 2 * width;
    if (!within(at, n, size_)) break;
    ASSAY_TRY(const ByteView bytes, peek(at, n));
    const std::byte* p = bytes.data() + lead;
    const auto number = [&](std::size_t i) -> std::uint64_t {
      return width == 4 ? load_le<std::uint32_t>(p + i) : load_le<std::uint64_t>(p + i);
    };
    const Descriptor found{.at = at, .end = at + n, .packed = number(4), .size = number(4 + width), .crc = load_le<std::uint32_t>(p)};
    if (found.packed != packed || (stored && found.size != packed)) continue;
    ASSAY_TRY(const bool ends, member_may_end_at(found.end));
    if (ends) return found;
  }
  return std::nullopt;
}

/// What a signature at `at` tells about the end of the data that starts at `data`: it begins a descriptor, or follows one without
/// signature.
Result<std::optional<Salvager::Descriptor>> Salvager::try_signature(std::uint64_t at, std::uint32_t signature, std::uint64_t data,
                                                                    bool stored) {
  if (signature == kDescriptor) return descriptor_at(at, 4, at - data, stored);
  if (signature != kLocalHeader && signature != kEntry) return std::nullopt;
  for (const std::uint64_t n : {12, 20}) {
    if (at - data < n) break;
    ASSAY_TRY(const auto found, descriptor_at(at - n, 0, at - n - data, stored));
    if (found && found->end == at) return found;
  }
  return std::nullopt;
}

Result<std::optional<Salvager::Descriptor>> Salvager::find_descriptor(std::uint64_t data, bool stored) {
  for (std::uint64_t at = data; size_ - at >= 4;) {
    const std::size_t n = static_cast<std::size_t>(std::min(kChunk, size_ - at));
    const ByteView held = chunk_.view();
    if (at < held.offset() || !within(at - held.offset(), n, held.size())) {
      ASSAY_TRY(chunk_, source_.view(at, n));
    }
    const ByteView bytes = chunk_.view().slice(static_cast<std::size_t>(at - chunk_.view().offset()), n);
    const std::byte* const end = bytes.data() + n - 3;
    for (const std::byte* p = bytes.data(); p < end; ++p) {
      p = static_cast<const std::byte*>(std::memchr(p, 'P', static_cast<std::size_t>(end - p)));
      if (!p) break;
      const auto i = static_cast<std::size_t>(p - bytes.data());
      if (p[1] != std::byte{'K'} || !may_tell_end(bytes, i, at + i - data)) continue;
      ASSAY_TRY(const auto found, try_signature(at + i, load_le<std::uint32_t>(p), data, stored));
      if (found) return found;
    }
    at += n - 3;
  }
  return std::nullopt;
}

void Salvager::cut(Member member, std::uint64_t from) {
  member.packed_size = size_ - std::min(from, size_);
  directory_.cut = member;
}

Result<std::optional<std::uint64_t>> Salvager::step(std::uint64_t at) {
  if (!within(at, kLocalHeaderSize, size_)) return std::nullopt;
  ASSAY_TRY(const ByteView header, peek(at, kLocalHeaderSize));
  const LocalHeader local = parse_local_header(header.data());
  if (local.signature != kLocalHeader) {
    if (!follows_a_member(local.signature))
      directory_.findings.add(Finding(
          Code::bad_zip, concat("neither a member nor the directory follows at ", at, ": found ", hex(local.signature)), {.offset = at}));
    return std::nullopt;
  }
  const std::size_t n = std::size_t{local.name_size} + local.extra_size;
  if (!within(at + kLocalHeaderSize, n, size_)) return std::nullopt;  // cut before it has a name
  if (directory_.members.size() == limits_.zip_members)
    return fail(Error(Code::limit_exceeded, concat("the archive has more than ", limits_.zip_members, " members")).at(at));
  ASSAY_TRY(const ByteView rest, peek(at + kLocalHeaderSize, n));
  WideNumbers numbers{.size = local.size, .packed = local.packed, .offset = 0};
  if (local.extra_size) widen(rest.from(local.name_size), numbers);
  Member member{.name = names_->text(rest.slice(0, local.name_size).text()),
                .header_offset = at,
                .packed_size = numbers.packed,
                .size = numbers.size,
                .entry_offset = at,
                .crc = local.crc,
                .method = local.method,
                .flags = local.flags,
                .salvaged = true};
  const std::uint64_t data = at + kLocalHeaderSize + n;
  std::uint64_t next = data;
  const bool stored = local.method == static_cast<std::uint16_t>(Method::stored) && !member.encrypted();
  if ((local.flags & kHasDescriptor) && numbers.packed == 0) {
    ASSAY_TRY(const auto found, find_descriptor(data, stored));
    if (!found) {
      cut(member, data);
      return std::nullopt;
    }
    member.packed_size = found->packed;
    member.size = found->size;
    member.crc = found->crc;
    next = found->end;
  } else if (!within(data, numbers.packed, size_)) {
    cut(member, data);
    return std::nullopt;
  } else {
    next = data + numbers.packed;
    if (local.flags & kHasDescriptor) {
      for (const std::size_t lead : {4, 0}) {
        ASSAY_TRY(const auto found, descriptor_at(next, lead, numbers.packed, stored));
        if (!found) continue;
        next = found->end;
        break;
      }
    }
  }
  directory_.members.push_back(member);
  return next;
}

Result<Directory> Salvager::run() {
  directory_.salvaged = true;
  directory_.directory_offset = directory_.end_offset = directory_.entries_end = directory_.records_offset = directory_.end_record = size_;
  ASSAY_TRY(const auto first, first_header());
  if (first) {
    directory_.prefix = *first;
    if (*first != 0)
      directory_.findings.add(Finding(Code::leading_bytes, concat(counted(*first, "byte stands", "bytes stand"), " before the archive"),
                                      {.offset = 0, .length = *first}));
    for (std::optional<std::uint64_t> at = *first; at;) {
      ASSAY_TRY(at, step(*at));
    }
  }
  DirectoryReader::keep_names(directory_, names_);
  return std::move(directory_);
}

}  // namespace

Result<Directory> salvage(const ByteSource& source, const Limits& limits) { return Salvager(source, limits).run(); }

}  // namespace assay::zip
