// SPDX-License-Identifier: Apache-2.0
// Claims come in three levels: what the format says of itself, storages, tensors. Within a level each byte goes to one claim; a higher
// level covers what is below it. Two storages on one byte overlap, and so do two of the format's parts, or a storage and a part that holds
// no data. Tensors share their storages as they like.
#include "model/byte_map.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/arith.hpp"
#include "base/sort.hpp"
#include "base/try.hpp"

namespace assay::model {

namespace {

constexpr std::uint64_t kMostPadding = 4096;
constexpr std::string_view kKindNames[kPartKinds] = {"header",     "pickle",  "local-header", "descriptor", "directory",
                                                     "end-record", "member",  "count",        "tensor",     "unused",
                                                     "padding",    "leading", "gap",          "trailing"};

/// Parts in which storages may lie.
bool holds_data(PartKind kind) { return kind == PartKind::member || kind == PartKind::pickle || kind == PartKind::unused; }

std::string_view claimant(std::string_view name, PartKind kind) { return name.empty() ? part_kind_name(kind) : name; }

struct Extent {
  std::uint64_t begin = 0, end = 0;  // bytes of the storage
};

/// The bytes of its storage that a tensor looks at, from the first to the last. All of them where its numbers cannot be right.
Extent extent_of(const Tensor& tensor, const Storage& storage) {
  const Extent all{0, storage.nbytes};
  const unsigned bits = dtype_bits(tensor.dtype);
  if (bits == 0 || !tensor.readable) return all;
  if (tensor.numel == 0) return {};
  std::uint64_t last = tensor.storage_offset;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    const auto reach = checked_mul(tensor.shape[d] - 1, tensor.stride_of(d));
    const auto sum = reach ? checked_add(last, *reach) : std::nullopt;
    if (!sum) return all;
    last = *sum;
  }
  const auto begin = checked_mul(tensor.storage_offset, bits), before_end = checked_mul(last, bits);
  const auto end = before_end ? checked_add(*before_end, bits) : std::nullopt;
  if (!begin || !end || bits_to_bytes(*end) > storage.nbytes) return all;
  return {*begin / 8, bits_to_bytes(*end)};
}

/// What of `low` is not covered by `high`, and all of `high`, in order.
std::vector<Part> overlay(const std::vector<Part>& low, const std::vector<Part>& high) {
  std::vector<Part> out;
  out.reserve(low.size() + high.size());
  std::size_t h = 0;
  for (const Part& part : low) {
    std::uint64_t at = part.offset;
    while (h < high.size() && high[h].offset < part.end()) {
      if (high[h].offset > at) {
        Part before = part;
        before.offset = at;
        before.length = high[h].offset - at;
        out.push_back(before);
      }
      at = std::max(at, high[h].end());
      if (at > part.end()) break;  // it reaches into the next one
      out.push_back(high[h++]);
    }
    if (at >= part.end()) continue;
    Part rest = part;
    rest.offset = at;
    rest.length = part.end() - at;
    out.push_back(rest);
  }
  for (; h < high.size(); ++h) out.push_back(high[h]);
  sort_stable(out, {}, &Part::offset);
  return out;
}

}  // namespace

std::string_view part_kind_name(PartKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

bool is_unowned(PartKind kind) { return kind == PartKind::leading || kind == PartKind::gap || kind == PartKind::trailing; }

std::uint64_t ByteMap::bytes(PartKind kind) const {
  std::uint64_t sum = 0;
  for (const Part& part : parts)
    if (part.kind == kind) sum += part.length;
  return sum;
}

std::uint64_t ByteMap::unowned() const { return bytes(PartKind::leading) + bytes(PartKind::gap) + bytes(PartKind::trailing); }

const Part* ByteMap::at(std::uint64_t offset) const {
  const auto behind = std::ranges::upper_bound(parts, offset, {}, &Part::offset);
  return offset >= size || behind == parts.begin() ? nullptr : &*std::prev(behind);
}

ByteMapBuilder::ByteMapBuilder(const Checkpoint& checkpoint, std::uint32_t file)
    : checkpoint_(checkpoint), file_(file), names_(std::make_shared<Arena>()) {
  map_.file = checkpoint.files[file].name;
  map_.size = checkpoint.files[file].source->size();
  map_.owner = names_;
}

void ByteMapBuilder::claim(std::vector<Claim>& level, PartKind kind, std::uint64_t offset, std::uint64_t length,
                           std::string_view name) const {
  if (offset >= map_.size || length == 0) return;
  level.push_back({offset, offset + std::min(length, map_.size - offset), kind, name});
}

void ByteMapBuilder::add(PartKind kind, std::uint64_t offset, std::uint64_t length, std::string_view name) {
  claim(kind == PartKind::count ? storages_ : own_, kind, offset, length, names_->text(name));
}

void ByteMapBuilder::claim_storages() {
  std::map<std::uint64_t, std::uint64_t> members;  // of packed storages only the members know how long they are
  for (const Claim& own : own_)
    if (own.kind == PartKind::member) members.try_emplace(own.begin, own.end - own.begin);
  const auto length_of = [&](const Storage& storage) {
    if (!storage.producer) return storage.nbytes;
    const auto member = members.find(storage.offset);
    return member == members.end() ? 0 : member->second;
  };
  std::vector<bool> used(checkpoint_.storages.size(), false);
  const auto look = [&](const Tensor& tensor) {
    if (tensor.storage == kNone) return;
    const Storage& storage = checkpoint_.storages[tensor.storage];
    if (storage.file != file_) return;
    used[tensor.storage] = true;
    const std::uint64_t length = length_of(storage);
    if (storage.producer) return claim(tensors_, PartKind::tensor, storage.offset, length, tensor.name);
    const Extent extent = extent_of(tensor, storage);
    const auto offset = checked_add(storage.offset, extent.begin);
    if (offset) claim(tensors_, PartKind::tensor, *offset, extent.end - extent.begin, tensor.name);
  };
  for (const Tensor& tensor : checkpoint_.tensors) look(tensor);
  for (const Quantizer& quantizer : checkpoint_.quantizers)
    if (quantizer.per_channel()) look(quantizer.scales), look(quantizer.zero_points);
  std::vector<std::string_view> first(checkpoint_.storages.size());
  for (const Tensor& tensor : checkpoint_.tensors)
    if (tensor.storage != kNone && first[tensor.storage].empty()) first[tensor.storage] = tensor.name;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const Storage& storage = checkpoint_.storages[i];
    if (used[i]) claim(storages_, PartKind::unused, storage.offset, length_of(storage), first[i]);
  }
}

void ByteMapBuilder::add_overlap(std::uint64_t begin, std::uint64_t end, std::string_view a, std::string_view b) {
  if (map_.overlap_count++ < ByteMap::kMostOverlaps) map_.overlaps.push_back({begin, end - begin, a, b});
}

/// Sorts the level. Each claim is compared with the one before it that reaches furthest.
void ByteMapBuilder::find_overlaps(std::vector<Claim>& level) {
  sort_stable(level, [](const Claim& a, const Claim& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  const Claim* furthest = nullptr;
  for (const Claim& next : level) {
    if (furthest != nullptr && next.begin < furthest->end)
      add_overlap(next.begin, std::min(next.end, furthest->end), claimant(furthest->name, furthest->kind), claimant(next.name, next.kind));
    if (furthest == nullptr || next.end > furthest->end) furthest = &next;
  }
}

/// Storages on parts that hold no data.
void ByteMapBuilder::find_trespass(const std::vector<Part>& own, const std::vector<Part>& storages) {
  auto part = own.begin();
  for (const Part& storage : storages) {
    while (part != own.end() && part->end() <= storage.offset) ++part;
    for (auto met = part; met != own.end() && met->offset < storage.end(); ++met) {
      if (holds_data(met->kind)) continue;
      add_overlap(std::max(met->offset, storage.offset), std::min(met->end(), storage.end()), claimant(met->name, met->kind),
                  claimant(storage.name, storage.kind));
    }
  }
}

/// Each byte to the first of the claims on it, with how many there are.
std::vector<Part> ByteMapBuilder::settle(const std::vector<Claim>& level) {
  std::vector<std::uint64_t> bounds;
  bounds.reserve(2 * level.size());
  for (const Claim& claim : level) bounds.push_back(claim.begin), bounds.push_back(claim.end);
  sort_stable(bounds);
  std::vector<std::size_t> by_begin(level.size()), by_end(level.size());
  for (std::size_t i = 0; i < level.size(); ++i) by_begin[i] = by_end[i] = i;
  sort_stable(by_begin, {}, [&](std::size_t i) { return level[i].begin; });
  sort_stable(by_end, {}, [&](std::size_t i) { return level[i].end; });
  std::vector<Part> parts;
  std::set<std::size_t> open;
  std::size_t b = 0, e = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const std::uint64_t at = bounds[i];
    for (; e < by_end.size() && level[by_end[e]].end == at; ++e) open.erase(by_end[e]);
    for (; b < by_begin.size() && level[by_begin[b]].begin == at; ++b) open.insert(by_begin[b]);
    if (open.empty() || i + 1 == bounds.size() || bounds[i + 1] == at) continue;
    const Claim& owner = level[*open.begin()];
    const std::uint32_t tensors = owner.kind == PartKind::tensor ? static_cast<std::uint32_t>(open.size()) : 0;
    Part part{at, bounds[i + 1] - at, owner.kind, tensors, owner.name};
    // The same owners as before: one part.
    if (!parts.empty() && parts.back().end() == at && parts.back().name.data() == part.name.data() && parts.back().kind == part.kind &&
        parts.back().tensors == part.tensors && at != owner.begin)
      parts.back().length += part.length;
    else parts.push_back(part);
  }
  return parts;
}

/// What nothing claims: zeros that pad, or nobody's.
Result<void> ByteMapBuilder::fill_holes(std::vector<Part> parts) {
  std::uint64_t at = 0;
  const auto fill = [&](std::uint64_t end, PartKind kind) -> Result<void> {
    if (kind == PartKind::gap && end - at <= kMostPadding) {
      ASSAY_TRY(const ByteBlock bytes, source().fetch(at, end - at));
      if (std::ranges::all_of(bytes.view().span(), [](std::byte b) { return b == std::byte{0}; })) kind = PartKind::padding;
    }
    map_.parts.push_back({at, end - at, kind, 0, {}});
    return {};
  };
  map_.parts.reserve(parts.size() + 2);
  for (const Part& part : parts) {
    if (part.offset > at) ASSAY_CHECK(fill(part.offset, at == 0 ? PartKind::leading : PartKind::gap));
    map_.parts.push_back(part);
    at = part.end();
  }
  if (at < map_.size) ASSAY_CHECK(fill(map_.size, PartKind::trailing));
  return {};
}

Result<ByteMap> ByteMapBuilder::finish(bool described) {
  map_.described = described;
  claim_storages();
  find_overlaps(own_);
  find_overlaps(storages_);
  const std::vector<Part> own = settle(own_), storages = settle(storages_);
  find_trespass(own, storages);
  ASSAY_CHECK(fill_holes(overlay(overlay(own, storages), settle(tensors_))));
  return std::move(map_);
}

}  // namespace assay::model
