// SPDX-License-Identifier: Apache-2.0
// One pass over a checkpoint's bytes, in blocks: the CRC-32 of every zip member, and NaN, infinities and zeros of the values. Blocks are
// independent: a caller reads and checks them on any threads, hashes the same bytes beside, and folds the results in order. What is not
// plain in the file (deflated members, strided tensors) are jobs of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/checkpoint.hpp"
#include "containers/zip.hpp"

namespace assay::analysis {

struct PassOptions {
  bool values = false;           ///< look at the values too
  std::vector<bool> whole = {};  ///< files of which every byte is wanted, by index; missing ones are not
  std::uint64_t block_bytes = std::uint64_t{1} << 20;
  Limits limits = {};
};

/// The zips in a file of the checkpoint: none, the file, or those that stand one behind the other (distributed checkpoints). Fails only as
/// reading does.
struct Archive {
  std::uint64_t begin = 0, size = 0;
};
Result<std::vector<Archive>> archives_in(const Checkpoint& checkpoint, std::uint32_t file, const Limits& limits);

/// A zip member and what its bytes say.
struct MemberCheck {
  std::uint32_t file = 0;
  zip::Member member;
  std::uint64_t offset = 0;     ///< of its data, absolute in the file
  Archive archive = {};         ///< what the member's own offsets count from
  std::uint32_t crc = 0;        ///< computed
  std::optional<Error> unread;  ///< why nothing was computed
  /// 0 in the directory means unknown: torch can be told not to compute it.
  bool known() const { return member.crc != 0 || member.size == 0; }
  bool matches() const { return !unread && known() && crc == member.crc; }
};

/// What was counted in one tensor.
struct ValueCounts {
  std::uint64_t zeros = 0, nan = 0, pos_inf = 0, neg_inf = 0;
};
struct TensorCheck {
  std::uint32_t tensor = 0;
  ValueCounts counts;
  std::optional<Error> unread;
};

class Pass {
 public:
  /// Reads the directories and local headers of zips. Fails only as reading does; a directory that cannot be read is left to others to
  /// tell. The checkpoint must outlive the pass.
  static Result<Pass> plan(const Checkpoint& checkpoint, PassOptions options);

  struct Block {
    std::uint32_t file = 0;
    std::uint64_t offset = 0, length = 0;
  };
  /// In order of files, then of offsets.
  const std::vector<Block>& blocks() const { return blocks_; }
  /// The block's bytes, and up to 15 more where an element reaches into the next block. Safe from several threads.
  Result<ByteBlock> read(std::size_t block) const;
  /// The part of each piece that lies in a block.
  struct Partial {
    std::uint32_t piece = 0;
    std::uint32_t crc = 0;
    std::uint64_t length = 0;
    ValueCounts counts;
  };
  using Partials = std::vector<Partial>;
  /// Safe from several threads.
  Partials check(std::size_t block, ByteView bytes) const;
  /// Takes the results of the next block; blocks are folded in order.
  void fold(const Partials& partials);

  /// Members and tensors that are read by themselves. Safe from several threads, once for each; order does not matter. One that cannot be
  /// read has that for its result; only `need-range` fails, and changes nothing.
  std::size_t jobs() const { return jobs_.size(); }
  std::uint64_t job_bytes(std::size_t job) const { return jobs_[job].bytes; }
  Result<void> run_job(std::size_t job);

  std::uint64_t bytes() const;  ///< of all blocks and jobs
  const std::vector<MemberCheck>& members() const { return members_; }
  const std::vector<TensorCheck>& tensors() const { return tensors_; }

 private:
  // A range of a file that has a result.
  struct Piece {
    std::uint64_t begin = 0, end = 0;
    std::uint32_t file = 0;
    bool member = false;      // else a tensor
    std::uint32_t index = 0;  // into members_ or tensors_
  };
  struct Job {
    bool member = false;
    std::uint32_t index = 0;
    std::uint64_t bytes = 0;
  };
  Pass(const Checkpoint& checkpoint, PassOptions options) : checkpoint_(&checkpoint), options_(std::move(options)) {}
  Result<void> plan_members(std::uint32_t file, Archive archive);
  void plan_values();
  void plan_blocks();

  const Checkpoint* checkpoint_;
  PassOptions options_;
  std::vector<zip::Directory> directories_;  // own the members' names
  std::vector<MemberCheck> members_;
  std::vector<TensorCheck> tensors_;
  std::vector<Piece> pieces_;
  std::vector<Job> jobs_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> block_pieces_;  // pieces of all blocks, block after block
  std::vector<std::size_t> block_first_;     // where those of a block begin
};

/// Counts in `n` elements of a dtype of whole bytes, unaligned and little endian; of a complex element both parts.
ValueCounts count_values(DType dtype, const std::byte* bytes, std::uint64_t n);
/// CRC-32 of two pieces of which the second has `length` bytes, from their own.
std::uint32_t join_crc32(std::uint32_t first, std::uint32_t second, std::uint64_t length);

}  // namespace assay::analysis
