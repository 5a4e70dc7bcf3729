// SPDX-License-Identifier: Apache-2.0
// Looking members up by name as torch's miniz does, and telling which of them share a name or bytes.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/arith.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "containers/zip_layout.hpp"

namespace assay::zip {

namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighs = 0x8080808080808080;

/// Eight characters at once: 'A'-'Z' to lower case, '\\' to '/'.
std::uint64_t fold(std::uint64_t x) {
  const std::uint64_t low = x & ~kHighs;
  const std::uint64_t ascii = ~x & kHighs;
  const std::uint64_t upper = ((low + kOnes * (0x80 - 'A')) ^ (low + kOnes * (0x80 - 'Z' - 1))) & ascii;
  const std::uint64_t backslash = ~((low ^ kOnes * '\\') + ~kHighs) & ascii;
  return (x | (upper >> 2)) ^ ((backslash >> 7) * ('\\' ^ '/'));
}

std::uint64_t load(const char* p, std::size_t n) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, n);
  return word;
}

std::uint32_t hash_folded(std::string_view name) {
  std::uint64_t hash = name.size() * 0x9e3779b97f4a7c15;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ fold(word)) * 0xd6e8feb86659fd93;
    hash ^= hash >> 32;
  };
  std::size_t i = 0;
  for (; name.size() - i >= 8; i += 8) mix(load(name.data() + i, 8));
  if (i < name.size()) mix(load(name.data() + i, name.size() - i));
  hash *= 0x9e3779b97f4a7c15;
  return static_cast<std::uint32_t>(hash >> 32);
}

/// Some total order of folded names: below, equal or above zero.
int compare_folded(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (std::size_t i = 0; i < a.size(); i += 8) {
    const std::size_t n = std::min<std::size_t>(8, a.size() - i);
    const std::uint64_t x = fold(load(a.data() + i, n)), y = fold(load(b.data() + i, n));
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

std::uint32_t hash_of(std::uint64_t slot) { return static_cast<std::uint32_t>(slot >> 32); }
std::uint32_t index_of(std::uint64_t slot) { return static_cast<std::uint32_t>(slot); }
/// By the first bits of the hash; `buckets` is a power of two.
std::size_t bucket_of(std::uint32_t hash, std::size_t buckets) { return static_cast<std::size_t>(std::uint64_t{hash} * buckets >> 32); }

/// What a member surely occupies: its header without the name, and its data. Saturates.
std::uint64_t least_end(const Member& member) {
  const auto data = checked_add(member.header_offset, kLocalHeaderSize);
  return data ? checked_add(*data, member.packed_size).value_or(~std::uint64_t{0}) : ~std::uint64_t{0};
}

Finding overlap(const Member& first, const Member& second) {
  const bool same = first.header_offset == second.header_offset;
  std::string text =
      same ? concat("members ", quote(first.name), " and ", quote(second.name), " share the local header at ", second.header_offset)
           : concat("member ", quote(second.name), " at ", second.header_offset, " lies within ", quote(first.name), ", which spans ",
                    first.header_offset, " to ", least_end(first));
  return Finding(Code::overlapping_members, std::move(text), {.member = std::string(second.name), .offset = second.header_offset},
                 {{"other", std::string(first.name)}});
}

void find_overlaps(Directory& directory) {
  const auto& members = directory.members;
  const auto earlier = [](const Member& a, const Member& b) { return a.header_offset < b.header_offset; };
  std::vector<std::uint32_t> order;  // stays empty in the usual case: the directory is in file order
  if (!std::is_sorted(members.begin(), members.end(), earlier)) {
    order.resize(members.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    sort_stable(order, [&](std::uint32_t a, std::uint32_t b) {
      return members[a].header_offset != members[b].header_offset ? earlier(members[a], members[b]) : a < b;
    });
  }
  const Member* widest = nullptr;  // of the members so far, the one that ends last
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[order.empty() ? i : order[i]];
    if (widest && member.header_offset < least_end(*widest))
      add_finding(directory.findings, Code::overlapping_members, [&] { return overlap(*widest, member); });
    if (!widest || least_end(member) > least_end(*widest)) widest = &member;
  }
}

}  // namespace

const Member* Directory::find(std::string_view name) const {
  const std::uint32_t hash = hash_folded(name);
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), hash, [&](std::uint64_t slot, std::uint32_t wanted) {
    return hash_of(slot) != wanted ? hash_of(slot) < wanted : compare_folded(members[index_of(slot)].name, name) < 0;
  });
  if (at == by_name_.end() || hash_of(*at) != hash) return nullptr;
  const Member& member = members[index_of(*at)];
  return compare_folded(member.name, name) == 0 ? &member : nullptr;
}

// Spread over about as many buckets as there are names, then sort each bucket: linear for honest names, and n log n when all were made to
// have one hash.
void DirectoryReader::index_names(Directory& directory) {
  const auto& members = directory.members;
  if (members.empty()) return;
  std::vector<std::uint64_t> slots(members.size());
  std::vector<std::uint32_t> ends(
      std::bit_ceil(members.size()));  // first counts, then where each bucket starts, and ends once it is filled
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::uint32_t hash = hash_folded(members[i].name);
    slots[i] = std::uint64_t{hash} << 32 | i;
    ++ends[bucket_of(hash, ends.size())];
  }
  std::uint32_t start = 0;
  for (std::uint32_t& end : ends) start += std::exchange(end, start);
  auto& sorted = directory.by_name_;
  sorted.resize(members.size());
  for (const std::uint64_t slot : slots) sorted[ends[bucket_of(hash_of(slot), ends.size())]++] = slot;
  const auto less = [&](std::uint64_t a, std::uint64_t b) {
    if (hash_of(a) != hash_of(b)) return hash_of(a) < hash_of(b);
    const int order = compare_folded(members[index_of(a)].name, members[index_of(b)].name);
    return order != 0 ? order < 0 : index_of(a) < index_of(b);
  };
  std::uint32_t from = 0;
  for (const std::uint32_t end : ends) {
    if (end - from > 1) sort_stable(std::span(sorted).subspan(from, end - from), less);
    from = end;
  }
}

void DirectoryReader::find_duplicates(Directory& directory) {
  const auto& members = directory.members;
  const auto& sorted = directory.by_name_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> repeats;  // a later member, the first of its name
  std::size_t first = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (hash_of(sorted[i]) == hash_of(sorted[first]) &&
        compare_folded(members[index_of(sorted[i])].name, members[index_of(sorted[first])].name) == 0)
      repeats.emplace_back(index_of(sorted[i]), index_of(sorted[first]));
    else first = i;
  }
  sort_stable(repeats);
  for (const auto& [later, earlier] : repeats)
    add_finding(directory.findings, Code::ambiguous_archive, [&, later = later, earlier = earlier] {
      const Member &a = members[earlier], &b = members[later];
      std::string text = a.name == b.name
                             ? concat("two members are named ", quote(b.name), "; the first, at ", a.header_offset, ", is taken")
                             : concat("members ", quote(a.name), " and ", quote(b.name),
                                      " have one name for torch, which ignores case; the first, at ", a.header_offset, ", is taken");
      return Finding(Code::ambiguous_archive, std::move(text), {.member = std::string(b.name), .offset = b.header_offset});
    });
}

void DirectoryReader::index(Directory& directory) {
  index_names(directory);
  find_duplicates(directory);
  find_overlaps(directory);
}

}  // namespace assay::zip
