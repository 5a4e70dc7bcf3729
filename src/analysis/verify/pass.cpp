// SPDX-License-Identifier: Apache-2.0
#include "analysis/verify/pass.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/stats.hpp"
#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/window.hpp"
#include "containers/inflate.hpp"
#include "values/decode.hpp"

namespace assay::analysis {

namespace {

constexpr std::uint64_t kLongestElement = 16;

bool has_values(const Tensor& tensor) {
  return tensor.readable && tensor.storage != kNone && tensor.numel > 0 && values::decoder(tensor.dtype).raw_size > 0;
}

/// One run of whole bytes in the file, as count_values takes it.
bool is_plain(const Checkpoint& checkpoint, const Tensor& tensor) {
  const Storage& storage = checkpoint.storages[tensor.storage];
  return checkpoint.file_offset(tensor) && !storage.big_endian && tensor.quantizer == kNone && tensor.contiguous() &&
         dtype_bits(tensor.dtype) % 8 == 0;
}

}  // namespace

Result<std::vector<Archive>> archives_in(const Checkpoint& checkpoint, std::uint32_t file, const Limits& limits) {
  constexpr std::uint32_t kLocalHeader = 0x04034b50;
  const ByteSource& source = *checkpoint.files[file].source;
  std::vector<Archive> whole = {{0, source.size()}};
  if (checkpoint.container == "zip" && checkpoint.files.size() == 1) return whole;  // bytes may stand before it
  if (source.size() < sizeof kLocalHeader) return std::vector<Archive>();
  ASSAY_TRY(const ByteBlock head, source.fetch(0, sizeof kLocalHeader));
  if (load_le<std::uint32_t>(head.view().data()) != kLocalHeader) return std::vector<Archive>();
  if (checkpoint.format != "torch-dcp") return whole;
  ASSAY_TRY(const std::vector<std::uint64_t> begins, zip::find_chain(source, limits));
  std::vector<Archive> archives;
  for (std::size_t i = 0; i < begins.size(); ++i)
    archives.push_back({begins[i], (i + 1 < begins.size() ? begins[i + 1] : source.size()) - begins[i]});
  return archives.empty() ? whole : archives;
}

Result<Pass> Pass::plan(const Checkpoint& checkpoint, PassOptions options) {
  Pass pass(checkpoint, std::move(options));
  pass.options_.whole.resize(checkpoint.files.size(), false);
  for (std::uint32_t file = 0; file < checkpoint.files.size(); ++file) {
    ASSAY_TRY(const std::vector<Archive> archives, archives_in(checkpoint, file, pass.options_.limits));
    for (const Archive& archive : archives) ASSAY_CHECK(pass.plan_members(file, archive));
  }
  if (pass.options_.values) pass.plan_values();
  pass.plan_blocks();
  return pass;
}

Result<void> Pass::plan_members(std::uint32_t file, Archive archive) {
  const WindowSource source(*checkpoint_->files[file].source, archive.begin, archive.size);
  auto directory = zip::read_directory(source, options_.limits);
  if (!directory) {
    if (directory.error().code() == Code::need_range) return fail(std::move(directory).error());
    return {};
  }
  directories_.push_back(*std::move(directory));
  for (const zip::Member& member : directories_.back().members) {
    MemberCheck& check = members_.emplace_back();
    check.file = file;
    check.archive = archive;
    check.member = member;
    const auto index = static_cast<std::uint32_t>(members_.size() - 1);
    auto offset = zip::data_offset(source, member);
    if (!offset) {
      if (offset.error().code() == Code::need_range) return fail(std::move(offset).error());
      check.unread = std::move(offset).error();
      continue;
    }
    check.offset = archive.begin + *offset;
    if (!check.known()) continue;
    const bool stored = member.method == static_cast<std::uint16_t>(zip::Method::stored) && member.size == member.packed_size;
    if (stored) pieces_.push_back({check.offset, check.offset + member.packed_size, file, true, index});
    else jobs_.push_back({true, index, member.packed_size});
  }
  return {};
}

void Pass::plan_values() {
  // Views that are the same are looked at once, for the first of them.
  using View = std::tuple<std::uint32_t, std::uint64_t, DType, std::vector<std::uint64_t>, std::vector<std::uint64_t>>;
  std::map<View, std::uint32_t> seen;
  std::vector<std::uint32_t> on_storage(checkpoint_->storages.size(), 0);
  for (const Tensor& tensor : checkpoint_->tensors)
    if (tensor.storage != kNone) ++on_storage[tensor.storage];
  for (std::uint32_t t = 0; t < checkpoint_->tensors.size(); ++t) {
    const Tensor& tensor = checkpoint_->tensors[t];
    if (!has_values(tensor)) continue;
    if (on_storage[tensor.storage] > 1) {
      View view{tensor.storage,
                tensor.storage_offset,
                tensor.dtype,
                {tensor.shape.begin(), tensor.shape.end()},
                {tensor.stride.begin(), tensor.stride.end()}};
      if (!seen.try_emplace(std::move(view), t).second) continue;
    }
    tensors_.push_back({t, {}, {}});
    const auto index = static_cast<std::uint32_t>(tensors_.size() - 1);
    if (is_plain(*checkpoint_, tensor)) {
      const std::uint64_t begin = *checkpoint_->file_offset(tensor);
      pieces_.push_back({begin, begin + tensor.nbytes(), checkpoint_->storages[tensor.storage].file, false, index});
    } else {
      jobs_.push_back({false, index, tensor.nbytes()});
    }
  }
}

void Pass::plan_blocks() {
  std::vector<std::uint32_t> order(pieces_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  sort_stable(order, [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(pieces_[a].file, pieces_[a].begin) < std::tuple(pieces_[b].file, pieces_[b].begin);
  });
  std::size_t next = 0;
  std::vector<std::uint32_t> open;  // pieces that reach beyond the last block
  for (std::uint32_t file = 0; file < checkpoint_->files.size(); ++file) {
    const std::uint64_t size = checkpoint_->files[file].source->size();
    open.clear();
    for (std::uint64_t at = 0; at < size;) {
      const bool more = next < order.size() && pieces_[order[next]].file == file;
      if (open.empty() && !options_.whole[file]) {
        if (!more) break;
        at = std::max(at, pieces_[order[next]].begin / options_.block_bytes * options_.block_bytes);
      }
      const std::uint64_t end = at + std::min(options_.block_bytes, size - at);
      while (next < order.size() && pieces_[order[next]].file == file && pieces_[order[next]].begin < end) open.push_back(order[next++]);
      block_first_.push_back(block_pieces_.size());
      blocks_.push_back({file, at, end - at});
      block_pieces_.insert(block_pieces_.end(), open.begin(), open.end());
      std::erase_if(open, [&](std::uint32_t p) { return pieces_[p].end <= end; });
      at = end;
    }
    while (next < order.size() && pieces_[order[next]].file == file) ++next;  // empty members at the file's end
  }
  block_first_.push_back(block_pieces_.size());
}

Result<ByteBlock> Pass::read(std::size_t block) const {
  const Block& where = blocks_[block];
  const ByteSource& source = *checkpoint_->files[where.file].source;
  const std::uint64_t ahead = std::min(kLongestElement - 1, source.size() - where.offset - where.length);
  return source.view(where.offset, where.length + ahead);
}

Pass::Partials Pass::check(std::size_t block, ByteView bytes) const {
  const Block& where = blocks_[block];
  const std::uint64_t block_end = where.offset + where.length;
  Partials partials;
  partials.reserve(block_first_[block + 1] - block_first_[block]);
  const auto at = [&](std::uint64_t offset) { return static_cast<std::size_t>(offset - where.offset); };
  for (std::size_t i = block_first_[block]; i < block_first_[block + 1]; ++i) {
    const Piece& piece = pieces_[block_pieces_[i]];
    Partial partial;
    partial.piece = block_pieces_[i];
    const std::uint64_t begin = std::max(piece.begin, where.offset), end = std::min(piece.end, block_end);
    if (piece.member) {
      partial.length = end - begin;
      partial.crc = crc32(bytes.slice(at(begin), static_cast<std::size_t>(end - begin)).span());
    } else {
      // The elements that begin in this block.
      const DType dtype = checkpoint_->tensors[tensors_[piece.index].tensor].dtype;
      const std::uint64_t size = dtype_bits(dtype) / 8;
      const std::uint64_t first = (begin - piece.begin + size - 1) / size, last = (end - piece.begin + size - 1) / size;
      partial.counts = count_values(dtype, bytes.data() + at(piece.begin + first * size), last - first);
    }
    partials.push_back(partial);
  }
  return partials;
}

void Pass::fold(const Partials& partials) {
  for (const Partial& partial : partials) {
    const Piece& piece = pieces_[partial.piece];
    if (piece.member) {
      members_[piece.index].crc = join_crc32(members_[piece.index].crc, partial.crc, partial.length);
      continue;
    }
    ValueCounts& counts = tensors_[piece.index].counts;
    counts.zeros += partial.counts.zeros;
    counts.nan += partial.counts.nan;
    counts.pos_inf += partial.counts.pos_inf;
    counts.neg_inf += partial.counts.neg_inf;
  }
}

Result<void> Pass::run_job(std::size_t job) {
  if (jobs_[job].member) {
    MemberCheck& check = members_[jobs_[job].index];
    const WindowSource source(*checkpoint_->files[check.file].source, check.archive.begin, check.archive.size);
    auto bytes = zip::read_member(source, check.member, options_.limits.inflate_bytes, options_.limits);
    if (!bytes && bytes.error().code() == Code::need_range) return fail(std::move(bytes).error());
    if (bytes) check.crc = crc32(bytes->view().span());
    else check.unread = Error(bytes.error().code(), bytes.error().what()).at(bytes.error().where().offset.value_or(check.offset));
    return {};
  }
  TensorCheck& check = tensors_[jobs_[job].index];
  auto stats = tensor_stats(*checkpoint_, checkpoint_->tensors[check.tensor], {.quantiles = false, .limits = options_.limits});
  if (!stats && stats.error().code() == Code::need_range) return fail(std::move(stats).error());
  if (stats) check.counts = {stats->zeros, stats->nan, stats->pos_inf, stats->neg_inf};
  else check.unread = Error(stats.error().code(), stats.error().what());
  return {};
}

std::uint64_t Pass::bytes() const {
  std::uint64_t sum = 0;
  for (const Block& block : blocks_) sum += block.length;
  for (const Job& job : jobs_) sum = checked_add(sum, job.bytes).value_or(sum);
  return sum;
}

}  // namespace assay::analysis
