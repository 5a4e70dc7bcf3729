// SPDX-License-Identifier: Apache-2.0
#include "formats/chunked_tensor.hpp"

#include <algorithm>
#include <optional>

#include "base/arith.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::formats {

namespace {

constexpr std::uint64_t kMostCells = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostMarks = std::uint64_t{1} << 24;

class KnownChunk final : public ChunkFinder {
 public:
  explicit KnownChunk(ChunkData data) : data_(std::move(data)) {}
  Result<ChunkData> find() const override { return data_; }

 private:
  ChunkData data_;
};

/// A chunk with what is computed of it once.
struct Piece {
  Chunk chunk;
  std::size_t run_from = 0;  // from this dimension on the box is as wide as the tensor: its elements follow each other in both
  mutable std::atomic<const ChunkData*> data = nullptr;

  Piece(Chunk chunk_in, std::span<const std::uint64_t> shape) : chunk(std::move(chunk_in)) {
    run_from = shape.size();
    while (run_from > 0 && chunk.sizes[run_from - 1] == shape[run_from - 1]) --run_from;
  }
  ~Piece() { delete data.load(); }

  bool holds(std::span<const std::uint64_t> index) const {
    for (std::size_t d = 0; d < index.size(); ++d)
      if (index[d] < chunk.offsets[d] || index[d] - chunk.offsets[d] >= chunk.sizes[d]) return false;
    return true;
  }

  Result<const ChunkData*> find() const {
    if (const ChunkData* known = data.load(std::memory_order_acquire)) return known;
    auto found = chunk.finder->find();
    if (!found) return fail(std::move(found).error().in_file(chunk.file));
    // Of two threads that looked at once the first one's answer stays.
    auto mine = std::make_unique<const ChunkData>(*std::move(found));
    const ChunkData* expected = nullptr;
    if (data.compare_exchange_strong(expected, mine.get(), std::memory_order_acq_rel)) return mine.release();
    return expected;
  }
};

class ChunkedSource final : public ByteSource {
 public:
  ChunkedSource(std::vector<std::uint64_t> shape, std::uint64_t unit, std::vector<Chunk> chunks, bool overlaps)
      : shape_(std::move(shape)), unit_(unit), size_(unit), overlaps_(overlaps) {
    for (const std::uint64_t n : shape_) size_ *= n;
    for (Chunk& chunk : chunks) pieces_.push_back(std::make_unique<const Piece>(std::move(chunk), shape_));
  }

  std::uint64_t size() const override { return size_; }

  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    ASSAY_CHECK(ByteSource::available(offset, out.size()));
    while (!out.empty()) {
      ASSAY_TRY(const Run run, run_at(offset));
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(run.size, out.size()));
      auto read = run.data->source->read(run.offset, out.first(n));
      if (!read) return fail(std::move(read).error().in_file(run.piece->chunk.file));
      out = out.subspan(n);
      offset += n;
    }
    return {};
  }

  std::optional<ByteView> mapped(std::uint64_t offset, std::uint64_t n) const override {
    if (n == 0 || !within(offset, n, size_)) return std::nullopt;
    const auto run = run_at(offset);
    if (!run || run->size < n) return std::nullopt;
    const auto view = run->data->source->mapped(run->offset, n);
    return view ? std::optional(ByteView(view->span(), offset)) : std::nullopt;
  }

 private:
  /// Bytes that follow each other in the tensor and in a chunk's source.
  struct Run {
    const Piece* piece;
    const ChunkData* data;
    std::uint64_t offset, size;
  };

  Result<Run> run_at(std::uint64_t offset) const {
    const std::uint64_t element = offset / unit_, within_element = offset % unit_;
    std::vector<std::uint64_t> index(shape_.size());
    for (std::uint64_t d = shape_.size(), rest = element; d-- > 0; rest /= shape_[d]) index[d] = rest % shape_[d];
    ASSAY_TRY(const Piece* const piece, piece_of(index));
    ASSAY_TRY(const ChunkData* const data, piece->find());
    const Chunk& chunk = piece->chunk;
    std::uint64_t position = 0, elements = 1;
    const bool plain = data->stride.empty();
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::uint64_t at = index[d] - chunk.offsets[d];
      position = plain ? position * chunk.sizes[d] + at : position + at * data->stride[d];
    }
    if (overlaps_) {
      elements = 1;  // the next one may be in an earlier chunk
    } else if (plain) {
      // All that follows up to the end of the innermost dimension that is cut, or of the box when none is.
      const std::size_t cut = piece->run_from == 0 ? 0 : piece->run_from - 1;
      std::uint64_t done = 0;
      for (std::size_t d = cut; d < index.size(); ++d) {
        elements *= chunk.sizes[d];
        done = done * chunk.sizes[d] + (index[d] - chunk.offsets[d]);
      }
      elements -= done;
    } else if (!index.empty() && data->stride.back() == 1) {
      elements = chunk.sizes.back() - (index.back() - chunk.offsets.back());
    }
    return Run{piece, data, data->offset + position * unit_ + within_element, elements * unit_ - within_element};
  }

  /// Walks go on from chunk to chunk: the last one found and the next are tried first.
  Result<const Piece*> piece_of(std::span<const std::uint64_t> index) const {
    const std::size_t from = last_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::size_t at = from + i < pieces_.size() ? from + i : from + i - pieces_.size();
      if (!pieces_[at]->holds(index)) continue;
      last_.store(at, std::memory_order_relaxed);
      return first_of(at, index);
    }
    return fail(Error(Code::gap, concat("element ", bracketed(index), " is in no chunk")));
  }
  /// Where chunks overlap, the first of them.
  const Piece* first_of(std::size_t at, std::span<const std::uint64_t> index) const {
    if (overlaps_) {
      for (std::size_t i = 0; i < at; ++i)
        if (pieces_[i]->holds(index)) return pieces_[i].get();
    }
    return pieces_[at].get();
  }

  std::vector<std::uint64_t> shape_;
  std::uint64_t unit_, size_;
  bool overlaps_;
  std::vector<std::unique_ptr<const Piece>> pieces_;
  mutable std::atomic<std::size_t> last_ = 0;
};

class ChunkedBytes final : public Producer {
 public:
  ChunkedBytes(std::vector<std::uint64_t> shape, std::uint64_t unit, std::vector<Chunk> chunks, bool overlaps)
      : source_(std::move(shape), unit, std::move(chunks), overlaps) {}
  Result<ByteBlock> load(const ByteSource&) const override { return source_.fetch(0, source_.size()); }
  const ByteSource* parts() const override { return &source_; }

 private:
  ChunkedSource source_;
};

/// Drops boxes that an earlier one of the same place covers; true when there was one.
bool drop_copies(std::vector<Chunk>& chunks) {
  std::vector<std::size_t> order(chunks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto box = [&](std::size_t i) { return std::tie(chunks[i].offsets, chunks[i].sizes); };
  sort_stable(order, [&](std::size_t a, std::size_t b) { return box(a) < box(b); });
  std::vector<bool> copy(chunks.size(), false);
  bool any = false;
  for (std::size_t i = 1; i < order.size(); ++i)
    if (box(order[i]) == box(order[i - 1])) copy[order[i]] = any = true;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (!copy[i] && kept++ != i) chunks[kept - 1] = std::move(chunks[i]);
  chunks.resize(kept);
  return any;
}

std::uint64_t volume(std::span<const std::uint64_t> sizes) {
  std::uint64_t n = 1;
  for (const std::uint64_t size : sizes) n *= size;
  return n;
}

/// The tensor cut wherever a chunk begins or ends: cells that are in a chunk as a whole or not at all.
class Cells {
 public:
  Cells(std::span<const std::uint64_t> shape, const std::vector<Chunk>& chunks) : cuts_(shape.size()) {
    for (std::size_t d = 0; d < shape.size() && possible_; ++d) {
      cuts_[d] = {0, shape[d]};
      for (const Chunk& chunk : chunks) cuts_[d].insert(cuts_[d].end(), {chunk.offsets[d], chunk.offsets[d] + chunk.sizes[d]});
      sort_stable(cuts_[d]);
      cuts_[d].erase(std::ranges::unique(cuts_[d]).begin(), cuts_[d].end());
      cells_ *= cuts_[d].size() - 1;
      possible_ = cells_ <= kMostCells;
    }
  }
  bool possible() const { return possible_; }

  Coverage measure(const std::vector<Chunk>& chunks) {
    std::vector<std::uint8_t> times(static_cast<std::size_t>(cells_), 0);
    std::uint64_t marks = 0;
    for (const Chunk& chunk : chunks)
      if (!mark(chunk, times, marks)) return {.known = false};
    Coverage found;
    for_each({}, [&](std::size_t cell, std::uint64_t elements) {
      if (times[cell] == 0) found.missing += elements;
      if (times[cell] > 1) found.overlapping += elements;
    });
    return found;
  }

 private:
  struct Range {
    std::size_t first, last;  // cells of a dimension, last not included
  };
  Range range(const Chunk& chunk, std::size_t d) const {
    const auto find = [&](std::uint64_t at) { return static_cast<std::size_t>(std::ranges::lower_bound(cuts_[d], at) - cuts_[d].begin()); };
    return {find(chunk.offsets[d]), find(chunk.offsets[d] + chunk.sizes[d])};
  }
  bool mark(const Chunk& chunk, std::vector<std::uint8_t>& times, std::uint64_t& marks) {
    std::vector<Range> box;
    for (std::size_t d = 0; d < cuts_.size(); ++d) box.push_back(range(chunk, d));
    std::uint64_t n = 1;
    for (const Range& r : box) n *= r.last - r.first;
    marks += n;
    if (marks > kMostMarks) return false;
    for_each(box, [&](std::size_t cell, std::uint64_t) { times[cell] = static_cast<std::uint8_t>(std::min(times[cell] + 1, 2)); });
    return true;
  }
  /// All cells of a box, or all there are.
  template <class Fn>
  void for_each(std::vector<Range> box, Fn&& fn) {
    if (box.empty())
      for (const auto& cuts : cuts_) box.push_back({0, cuts.size() - 1});
    std::vector<std::size_t> at;
    for (const Range& r : box) {
      if (r.first == r.last) return;
      at.push_back(r.first);
    }
    for (;;) {
      std::size_t cell = 0;
      std::uint64_t elements = 1;
      for (std::size_t d = 0; d < at.size(); ++d) {
        cell = cell * (cuts_[d].size() - 1) + at[d];
        elements *= cuts_[d][at[d] + 1] - cuts_[d][at[d]];
      }
      fn(cell, elements);
      std::size_t d = at.size();
      while (d > 0 && ++at[d - 1] == box[d - 1].last) at[d - 1] = box[d - 1].first, --d;
      if (d == 0) return;
    }
  }

  std::vector<std::vector<std::uint64_t>> cuts_;
  std::uint64_t cells_ = 1;
  bool possible_ = true;
};

}  // namespace

Coverage coverage(std::span<const std::uint64_t> shape, const std::vector<Chunk>& chunks) {
  const std::uint64_t all = volume(shape);
  if (all == 0) return {};
  if (chunks.size() == 1) return {.missing = all - volume(chunks[0].sizes)};
  Cells cells(shape, chunks);
  if (!cells.possible()) return {.known = false};
  Coverage found = cells.measure(chunks);
  if (found.overlapping == 0) return found;
  std::vector<Chunk> boxes;
  for (const Chunk& chunk : chunks) boxes.push_back({chunk.offsets, chunk.sizes, nullptr, {}});
  drop_copies(boxes);
  found.same_boxes = cells.measure(boxes).overlapping == 0;
  return found;
}

std::shared_ptr<const Producer> join_chunks(std::vector<std::uint64_t> shape, std::uint64_t unit, std::vector<Chunk> chunks,
                                            bool overlaps) {
  if (overlaps && drop_copies(chunks)) overlaps = coverage(shape, chunks).overlapping != 0;
  return std::make_shared<ChunkedBytes>(std::move(shape), unit, std::move(chunks), overlaps);
}

std::shared_ptr<const ChunkFinder> chunk_at(ChunkData data) { return std::make_shared<KnownChunk>(std::move(data)); }

}  // namespace assay::formats
