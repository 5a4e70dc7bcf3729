// SPDX-License-Identifier: Apache-2.0
// Where bytes come from: a ByteView is a span that knows its absolute file offset, a ByteSource is one file however it is
// reached, a FileSet is the named files a host hands over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/result.hpp"

namespace assay {

/// Borrowed bytes and where they stand in their file. Slices keep the offset, so that an error deep inside a member names a
/// true position. Valid as long as whoever owns the bytes.
class ByteView {
 public:
  ByteView() = default;
  ByteView(std::span<const std::byte> bytes, std::uint64_t offset) : bytes_(bytes), offset_(offset) {}

  const std::byte* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  std::span<const std::byte> span() const { return bytes_; }
  std::byte operator[](std::size_t i) const { return bytes_[i]; }
  /// Absolute offset in the file of byte 0, or of byte i.
  std::uint64_t offset(std::size_t i = 0) const { return offset_ + i; }
  /// `n` bytes from `pos`. Precondition: pos + n <= size(); a wrong call stops the program.
  ByteView slice(std::size_t pos, std::size_t n) const;
  ByteView from(std::size_t pos) const { return slice(pos, size() - pos); }
  /// The bytes as text, not checked for UTF-8.
  std::string_view text() const;

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t offset_ = 0;
};

/// A ByteView that may own its bytes: zero-copy where the source is mapped or in memory, a read buffer elsewhere. Move-only.
class ByteBlock {
 public:
  ByteBlock() = default;
  explicit ByteBlock(ByteView borrowed) : view_(borrowed) {}
  ByteBlock(std::unique_ptr<std::byte[]> owned, std::size_t n, std::uint64_t offset)
      : owned_(std::move(owned)), view_({owned_.get(), n}, offset) {}

  const ByteView& view() const { return view_; }
  /// `n` bytes from `pos`, with the whole block's ownership. Precondition as ByteView::slice has.
  ByteBlock part(std::size_t pos, std::size_t n) && {
    view_ = view_.slice(pos, n);
    return std::move(*this);
  }
  bool owns() const { return owned_ != nullptr; }

 private:
  std::unique_ptr<std::byte[]> owned_;
  ByteView view_;
};

/// One file. All calls are const in meaning and safe from several threads at once, except where a kind says otherwise.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual std::uint64_t size() const = 0;
  /// Whether these bytes can be read: fails with `truncated` past the end, `need-range` where they are not at hand. Cost: no read.
  virtual Result<void> available(std::uint64_t offset, std::uint64_t n) const;
  /// Fills `out` from `offset`. Fails as `available` does, or with `io-error` or `file-changed`.
  virtual Result<void> read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  /// The bytes in place where the source is mapped or in memory; nothing elsewhere or past the end.
  virtual std::optional<ByteView> mapped(std::uint64_t offset, std::uint64_t n) const;
  /// `file-changed` when the file is no longer the size (or time) it was opened with.
  virtual Result<void> check_unchanged() const;

  /// `n` bytes from `offset`, read by `read` (headers: cheaper than faulting a map in). Asks `available` before it
  /// allocates, so that a claimed length costs nothing; fails with `out-of-memory` where the bytes are there and cannot be held.
  Result<ByteBlock> fetch(std::uint64_t offset, std::uint64_t n) const;
  /// The same, in place where that is possible (tensor data).
  Result<ByteBlock> view(std::uint64_t offset, std::uint64_t n) const;
};

/// A file's bytes that the host already holds; owns them or borrows them from the host.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::vector<std::byte> bytes);
  static std::shared_ptr<MemorySource> borrow(std::span<const std::byte> bytes);
  std::uint64_t size() const override { return bytes_.size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  std::optional<ByteView> mapped(std::uint64_t offset, std::uint64_t n) const override;

 private:
  MemorySource() = default;
  std::vector<std::byte> owned_;
  std::span<const std::byte> bytes_;
};

/// A file of which only some ranges are at hand (a web page, HTTP). A read outside them fails with `need-range`, whose
/// where().offset and where().length name the missing range; the host adds it and calls again. Not safe to add to while read;
/// what `mapped` and `view` gave is valid as long as the source: bytes that are held neither move nor change.
class RangeSource final : public ByteSource {
 public:
  explicit RangeSource(std::uint64_t size) : size_(size) {}
  /// Takes the bytes of [offset, offset + bytes.size()); what lies past size() or is held already is dropped.
  void add(std::uint64_t offset, std::vector<std::byte> bytes);
  std::uint64_t size() const override { return size_; }
  Result<void> available(std::uint64_t offset, std::uint64_t n) const override;
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  std::optional<ByteView> mapped(std::uint64_t offset, std::uint64_t n) const override;
  /// Bytes held.
  std::uint64_t held() const;

 private:
  struct Range {
    std::uint64_t offset;
    std::vector<std::byte> bytes;
    std::uint64_t end() const { return offset + bytes.size(); }
  };
  /// The range that holds the byte at `offset`; nullptr when none does.
  const Range* holding(std::uint64_t offset) const;

  std::uint64_t size_;
  std::vector<Range> ranges_;  // sorted by offset, none overlap
};

/// How to reach a file on disk.
enum class MapMode : std::uint8_t {
  automatic,  ///< map it; read it with pread on network file systems or where mapping fails
  never,      ///< pread only: safe when others may shrink the file
};

/// Opens a file for random access. Pipes and other unseekable things are refused with `not-seekable`. Native builds only.
Result<std::shared_ptr<ByteSource>> open_file(const std::string& path, MapMode mode = MapMode::automatic);

/// The named files a host hands over. Formats reach other files (shards, index, config.json) through this alone.
class FileSet {
 public:
  struct Entry {
    std::string name;  ///< relative to the set, '/' between folders
    std::uint64_t size = 0;
    bool folder = false;
  };
  virtual ~FileSet() = default;

  /// How the user named it: a path, or what a host calls it. For messages only.
  virtual const std::string& label() const = 0;
  /// The file that was asked for; "" when the set itself (a folder, several dropped files) was.
  virtual const std::string& primary() const = 0;
  /// The set's files in name order, not those of sub-folders. For a single file: it and its neighbours. Cost: one listing.
  virtual Result<std::vector<Entry>> list() const = 0;
  /// Opens a file by its name in the set. Names that leave the set fail with `path-escapes`, absent ones with `no-such-file`.
  virtual Result<std::shared_ptr<ByteSource>> open(std::string_view name) const = 0;
};

/// A path and its folder: a file is the primary with its neighbours in reach; a folder is a set without a primary.
Result<std::unique_ptr<FileSet>> open_path(const std::string& path, MapMode mode = MapMode::automatic);

/// Files a host already holds as sources (a page's dropped files, tests).
class SourceSet final : public FileSet {
 public:
  /// `primary` may be "": then the set itself is meant.
  SourceSet(std::string label, std::string primary) : label_(std::move(label)), primary_(std::move(primary)) {}
  void add(std::string name, std::shared_ptr<ByteSource> source);
  const std::string& label() const override { return label_; }
  const std::string& primary() const override { return primary_; }
  Result<std::vector<Entry>> list() const override;
  Result<std::shared_ptr<ByteSource>> open(std::string_view name) const override;

 private:
  std::string label_, primary_;
  std::vector<std::pair<std::string, std::shared_ptr<ByteSource>>> files_;  // sorted by name
};

}  // namespace assay
