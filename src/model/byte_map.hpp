// SPDX-License-Identifier: Apache-2.0
// Every byte of a file has an owner: the format's own parts, the storages and the tensors on them, and what is left over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/checkpoint.hpp"
#include "base/arena.hpp"

namespace assay::model {

/// What a run of bytes is for.
enum class PartKind : std::uint8_t {
  header,  ///< of the format, or of one array or archive member
  pickle,
  local_header,  ///< of a zip member: header, name, extra field
  descriptor,    ///< sizes and check sum behind a zip member
  directory,     ///< a zip's entries
  end_record,    ///< what closes an archive
  member,        ///< an archive member that is no tensor's storage
  count,         ///< how long the storage behind it is
  tensor,        ///< bytes that tensors look at
  unused,        ///< bytes of a storage that no tensor looks at
  padding,       ///< up to 4096 zeros between parts, and what a format pads with
  leading,       ///< before the first part; nobody's
  gap,           ///< between parts; nobody's
  trailing,      ///< behind the last part; nobody's
};
/// "local-header", "tensor", …
std::string_view part_kind_name(PartKind kind);
inline constexpr std::size_t kPartKinds = 14;
/// True for leading, gap and trailing.
bool is_unowned(PartKind kind);

struct Part {
  std::uint64_t offset = 0, length = 0;
  PartKind kind = PartKind::gap;
  std::uint32_t tensors = 0;   ///< how many look at these bytes
  std::string_view name = {};  ///< of the tensor (the first, where several), the member, or what a header says; lives as long as the map
  std::uint64_t end() const { return offset + length; }
};

/// Bytes that two parts claim.
struct Overlap {
  std::uint64_t offset = 0, length = 0;
  std::string_view a, b;
};

/// One file, from its first byte to its last: parts in order, none overlapping, none empty, none missing.
struct ByteMap {
  static constexpr std::size_t kMostOverlaps = 1000;

  std::string file;
  std::uint64_t size = 0;
  bool described = true;  ///< false where only tensors are known, because the format does not say what its own parts are
  std::vector<Part> parts;
  std::vector<Overlap> overlaps;  ///< the first kMostOverlaps; overlap_count has all
  std::uint64_t overlap_count = 0;
  std::shared_ptr<const void> owner;  ///< what the names live in, together with the Checkpoint that was mapped

  std::uint64_t bytes(PartKind kind) const;
  std::uint64_t unowned() const;
  /// The part that a byte belongs to; null past the end. Cost: a binary search.
  const Part* at(std::uint64_t offset) const;
};

/// Puts a map together. The format tells its own parts, the checkpoint the storages and tensors in the file.
class ByteMapBuilder {
 public:
  /// The map of checkpoint.files[file]. The checkpoint must outlive this and the map.
  ByteMapBuilder(const Checkpoint& checkpoint, std::uint32_t file);

  const Checkpoint& checkpoint() const { return checkpoint_; }
  const ByteSource& source() const { return *checkpoint_.files[file_].source; }
  /// What lies past the file's end is cut off. The name is copied.
  void add(PartKind kind, std::uint64_t offset, std::uint64_t length, std::string_view name = {});
  /// Adds storages and tensors, settles who owns what, and looks at what is left. Fails only as reading does. Cost: n log n, and a
  /// read of each small hole.
  Result<ByteMap> finish(bool described);

 private:
  struct Claim {
    std::uint64_t begin = 0, end = 0;
    PartKind kind = PartKind::gap;
    std::string_view name = {};
  };
  void claim(std::vector<Claim>& level, PartKind kind, std::uint64_t offset, std::uint64_t length, std::string_view name) const;
  void claim_storages();
  void find_overlaps(std::vector<Claim>& level);
  void find_trespass(const std::vector<Part>& own, const std::vector<Part>& storages);
  void add_overlap(std::uint64_t begin, std::uint64_t end, std::string_view a, std::string_view b);
  static std::vector<Part> settle(const std::vector<Claim>& level);
  Result<void> fill_holes(std::vector<Part> parts);

  const Checkpoint& checkpoint_;
  std::uint32_t file_;
  std::shared_ptr<Arena> names_;
  std::vector<Claim> own_, storages_, tensors_;
  ByteMap map_;
};

/// The maps of a checkpoint's files, in their order; files of a set are opened again one by one, a file that cannot be is left
/// out. The checkpoint must outlive them. Fails only as reading does. Cost: reads headers only, among them every local header of a zip.
/// Defined in formats/maps.cpp.
Result<std::vector<ByteMap>> map_bytes(const FileSet& files, const Checkpoint& checkpoint, const Limits& limits = {});

}  // namespace assay::model
