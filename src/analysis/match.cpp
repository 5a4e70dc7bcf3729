// SPDX-License-Identifier: Apache-2.0
#include "analysis/match.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "analysis/tree.hpp"
#include "base/endian.hpp"
#include "base/sort.hpp"
#include "base/try.hpp"
#include "values/blocks.hpp"

namespace assay::analysis {
namespace {

constexpr std::string_view kWrappers[] = {"_orig_mod",   "_fsdp_wrapped_module", "_checkpoint_wrapped_module",
                                          "_fpw_module", "_forward_module",      "_ddp_module"};
constexpr std::string_view kContainers[] = {"module", "model",   "state_dict", "model_state_dict", "net", "network",
                                            "_model", "weights", "params"};
constexpr std::size_t kPrefixDepth = 8;  // components that a prefix found from the data may have
constexpr int kPrefixRounds = 16;

bool among(std::span<const std::string_view> words, std::string_view word) { return std::ranges::find(words, word) != words.end(); }

bool same_shape(const Tensor& a, const Tensor& b) { return std::ranges::equal(a.shape, b.shape); }

struct Side {
  const Checkpoint* checkpoint;
  std::vector<std::uint32_t> order;  // tensors, names in natural order
  std::vector<bool> taken;           // per place in `order`

  explicit Side(const Checkpoint& from) : checkpoint(&from), order(natural_order(from.tensors)), taken(order.size()) {}
  const Tensor& at(std::uint32_t place) const { return checkpoint->tensors[order[place]]; }
};

struct Keyed {
  std::string key;
  std::uint32_t place;
};

template <class Key>
std::vector<Keyed> keyed(const Side& side, Key key) {
  std::vector<Keyed> list;
  for (std::uint32_t place = 0; place < side.order.size(); ++place)
    if (!side.taken[place]) list.push_back({key(side.at(place)), place});
  sort_stable(list, [](const Keyed& x, const Keyed& y) { return x.key != y.key ? x.key < y.key : x.place < y.place; });
  return list;
}

std::size_t end_of_key(const std::vector<Keyed>& list, std::size_t from) {
  std::size_t end = from;
  while (end < list.size() && list[end].key == list[from].key) ++end;
  return end;
}

class Matcher {
 public:
  Matcher(const Checkpoint& a, const Checkpoint& b) : a_(a), b_(b) {}

  Matching run() {
    const auto whole = [](const Tensor& tensor) { return std::string(tensor.name); };
    pair_keys(keyed(a_, whole), keyed(b_, whole), false, MatchKind::name);
    for (const bool containers : {false, true}) {
      const auto plain = [&](const Tensor& tensor) { return plain_name(tensor.name, containers); };
      pair_keys(keyed(a_, plain), keyed(b_, plain), true, MatchKind::prefix);
    }
    for (int round = 0; round < kPrefixRounds && (find_prefix(a_, b_, false) || find_prefix(b_, a_, true)); ++round) continue;
    return finish();
  }

 private:
  void take(std::uint32_t place_a, std::uint32_t place_b, MatchKind kind) {
    a_.taken[place_a] = b_.taken[place_b] = true;
    pairs_.push_back({place_a, place_b, kind});
  }

  /// Pairs equal keys: the first with the first and so on, or only those that are unique on both sides.
  void pair_keys(const std::vector<Keyed>& a, const std::vector<Keyed>& b, bool unique, MatchKind kind) {
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
      if (a[i].key < b[j].key) {
        i = end_of_key(a, i);
      } else if (b[j].key < a[i].key) {
        j = end_of_key(b, j);
      } else {
        const std::size_t end_a = end_of_key(a, i), end_b = end_of_key(b, j);
        if (!unique || (end_a - i == 1 && end_b - j == 1))
          for (std::size_t k = 0; k < std::min(end_a - i, end_b - j); ++k) take(a[i + k].place, b[j + k].place, kind);
        i = end_a;
        j = end_b;
      }
    }
  }

  /// Takes a prefix away from the names of `longer` where that makes the most of them names of `shorter`, of equal shape. A prefix
  /// that is no better than another one is no answer.
  bool find_prefix(Side& longer, Side& shorter, bool longer_is_b) {
    const auto plain = [](const Tensor& tensor) { return plain_name(tensor.name, true); };
    const std::vector<Keyed> from = keyed(longer, plain), to = keyed(shorter, plain);
    if (from.empty() || to.empty()) return false;
    struct Hit {
      std::string prefix;
      std::uint32_t from, to;
    };
    std::vector<Hit> hits;
    for (const Keyed& entry : from) {
      std::size_t at = 0;
      for (std::size_t depth = 0; depth < kPrefixDepth; ++depth) {
        const std::size_t dot = entry.key.find('.', at);
        if (dot == std::string::npos) break;
        at = dot + 1;
        const std::string_view rest = std::string_view(entry.key).substr(at);
        const auto found = std::ranges::lower_bound(to, rest, {}, &Keyed::key);
        if (found == to.end() || found->key != rest) continue;
        if (found + 1 != to.end() && (found + 1)->key == rest) continue;  // two of this name
        if (same_shape(longer.at(entry.place), shorter.at(found->place)))
          hits.push_back({entry.key.substr(0, at), entry.place, found->place});
      }
    }
    std::map<std::string_view, std::size_t> votes;
    for (const Hit& hit : hits) ++votes[hit.prefix];
    std::string_view best;
    std::size_t most = 0, second = 0;
    for (const auto& [prefix, count] : votes) {
      if (count > most) second = most, most = count, best = prefix;
      else second = std::max(second, count);
    }
    if (most == 0 || most == second) return false;
    bool any = false;
    for (const Hit& hit : hits) {
      if (hit.prefix != best || longer.taken[hit.from] || shorter.taken[hit.to]) continue;
      longer_is_b ? take(hit.to, hit.from, MatchKind::prefix) : take(hit.from, hit.to, MatchKind::prefix);
      any = true;
    }
    return any;
  }

  Matching finish() {
    sort_stable(pairs_, {}, &TensorPair::a);
    Matching matching;
    for (const TensorPair& pair : pairs_) matching.pairs.push_back({a_.order[pair.a], b_.order[pair.b], pair.kind});
    for (std::size_t i = 0; i < a_.order.size(); ++i)
      if (!a_.taken[i]) matching.only_a.push_back(a_.order[i]);
    for (std::size_t i = 0; i < b_.order.size(); ++i)
      if (!b_.taken[i]) matching.only_b.push_back(b_.order[i]);
    return matching;
  }

  Side a_, b_;
  std::vector<TensorPair> pairs_;  // places in the orders
};

/// Four lanes of multiply and rotate over 32 bytes at a time, mixed at the end.
class Hasher {
 public:
  void add(std::span<const std::byte> bytes) {
    bytes_ += bytes.size();
    if (filled_ > 0) {
      const std::size_t n = std::min(bytes.size(), sizeof tail_ - filled_);
      std::memcpy(tail_ + filled_, bytes.data(), n);
      filled_ += n;
      bytes = bytes.subspan(n);
      if (filled_ < sizeof tail_) return;
      step(tail_);
      filled_ = 0;
    }
    for (; bytes.size() >= sizeof tail_; bytes = bytes.subspan(sizeof tail_)) step(bytes.data());
    if (!bytes.empty()) std::memcpy(tail_, bytes.data(), bytes.size());
    filled_ = bytes.size();
  }
  void add(std::uint64_t number) {
    std::byte bytes[8];
    store_le(bytes, number);
    add(std::span<const std::byte>(bytes));
  }
  ContentHash finish() {
    const std::uint64_t size = bytes_;
    std::memset(tail_ + filled_, 0, sizeof tail_ - filled_);
    step(tail_);
    ContentHash hash{size, ~size};
    for (const std::uint64_t lane : lanes_) {
      hash.low = mix(hash.low ^ lane);
      hash.high = mix(hash.high + std::rotl(lane, 32) + hash.low);
    }
    return hash;
  }

 private:
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 32) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }
  void step(const std::byte* p) {
    for (std::size_t i = 0; i < 4; ++i)
      lanes_[i] = std::rotl((lanes_[i] ^ load_le<std::uint64_t>(p + 8 * i)) * kFactors[i], 31) + lanes_[(i + 1) % 4];
  }

  static constexpr std::uint64_t kFactors[4] = {0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u, 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu};
  std::uint64_t lanes_[4] = {0x243f6a8885a308d3u, 0x13198a2e03707344u, 0xa4093822299f31d0u, 0x082efa98ec4e6c89u};
  std::byte tail_[32];
  std::size_t filled_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::string plain_name(std::string_view name, bool containers) {
  std::string out;
  bool leading = true;
  while (true) {
    const std::size_t dot = name.find('.');
    const std::string_view component = name.substr(0, dot);
    const bool last = dot == std::string_view::npos;
    const bool dropped =
        !last && (among(kWrappers, component) || (leading && (component == "module" || (containers && among(kContainers, component)))));
    if (!dropped) {
      leading = false;
      out += component;
      if (!last) out += '.';
    }
    if (last) return out;
    name.remove_prefix(dot + 1);
  }
}

Prefixes prefixes_of(std::string_view a, std::string_view b) {
  std::size_t end_a = a.size(), end_b = b.size();
  // Where the component that ends at `end` (behind its dot, but for the last one) begins.
  const auto begin_of_component = [](std::string_view name, std::size_t end) {
    return name.substr(0, end == name.size() ? end : end - 1).rfind('.') + 1;
  };
  while (end_a > 0 && end_b > 0) {
    const std::size_t from_a = begin_of_component(a, end_a), from_b = begin_of_component(b, end_b);
    if (a.substr(from_a, end_a - from_a) != b.substr(from_b, end_b - from_b)) break;
    end_a = from_a;
    end_b = from_b;
  }
  return {a.substr(0, end_a), b.substr(0, end_b)};
}

Matching match_names(const Checkpoint& a, const Checkpoint& b) { return Matcher(a, b).run(); }

Result<ContentHash> content_hash(const Checkpoint& checkpoint, const Tensor& tensor, const Limits& limits) {
  return content_hash_work(checkpoint, tensor, limits).go_on();
}

Work<ContentHash> content_hash_work(const Checkpoint& checkpoint, const Tensor& tensor, Limits limits) {
  constexpr std::size_t kChunk = std::size_t{256} << 10;  // bytes
  ASSAY_TAKE(const TensorReader reader, TensorReader::open(checkpoint, tensor, limits));
  Hasher hasher;
  hasher.add(static_cast<std::uint64_t>(tensor.dtype) << 2 | std::uint64_t{tensor.conj} << 1 | std::uint64_t{tensor.neg});
  for (const std::uint64_t size : tensor.shape) hasher.add(size);
  const auto add = [&](std::uint64_t, std::span<const std::byte> codes) -> Result<void> {
    hasher.add(codes);
    return {};
  };
  // A chunk is read before any of it is added.
  for (std::uint64_t first = 0, n = kChunk / reader.raw_size(); first < tensor.numel; first += n) {
    n = std::min(n, tensor.numel - first);
    ASSAY_READ(values::for_each_raw_block(reader, first, n, add, kChunk));
  }
  co_return hasher.finish();
}

namespace {

bool worth_hashing(const Tensor& tensor) {
  return tensor.readable && tensor.storage != kNone && tensor.dtype != DType::unknown && tensor.numel > 0;
}

bool kind_less(const Tensor& a, const Tensor& b) {
  if (a.dtype != b.dtype) return a.dtype < b.dtype;
  return std::ranges::lexicographical_compare(a.shape, b.shape);
}

std::vector<std::uint32_t> with_partner(const Checkpoint& own, std::span<const std::uint32_t> list, const Checkpoint& other,
                                        std::span<const std::uint32_t> others) {
  const auto by_kind = [&](std::uint32_t x, std::uint32_t y) { return kind_less(other.tensors[x], other.tensors[y]); };
  std::vector<std::uint32_t> sorted;
  for (const std::uint32_t t : others)
    if (worth_hashing(other.tensors[t])) sorted.push_back(t);
  sort_stable(sorted, by_kind);
  std::vector<std::uint32_t> found;
  for (const std::uint32_t t : list) {
    const Tensor& tensor = own.tensors[t];
    if (!worth_hashing(tensor)) continue;
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), tensor,
                                     [&](std::uint32_t x, const Tensor& y) { return kind_less(other.tensors[x], y); });
    if (at != sorted.end() && !kind_less(tensor, other.tensors[*at])) found.push_back(t);
  }
  return found;
}

}  // namespace

ContentCandidates content_candidates(const Matching& matching, const Checkpoint& a, const Checkpoint& b) {
  return {with_partner(a, matching.only_a, b, matching.only_b), with_partner(b, matching.only_b, a, matching.only_a)};
}

void match_by_content(Matching& matching, const ContentCandidates& candidates, std::span<const std::optional<ContentHash>> hashes_a,
                      std::span<const std::optional<ContentHash>> hashes_b) {
  struct Entry {
    ContentHash hash;
    std::size_t place;
    std::uint32_t tensor;
    auto operator<=>(const Entry&) const = default;
  };
  const auto entries = [](std::span<const std::uint32_t> tensors, std::span<const std::optional<ContentHash>> hashes) {
    std::vector<Entry> list;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (hashes[i]) list.push_back({*hashes[i], i, tensors[i]});
    sort_stable(list);
    return list;
  };
  const std::vector<Entry> a = entries(candidates.a, hashes_a), b = entries(candidates.b, hashes_b);
  std::vector<std::uint32_t> taken_a, taken_b;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].hash < b[j].hash) {
      ++i;
    } else if (b[j].hash < a[i].hash) {
      ++j;
    } else {
      matching.pairs.push_back({a[i].tensor, b[j].tensor, MatchKind::content});
      taken_a.push_back(a[i++].tensor);
      taken_b.push_back(b[j++].tensor);
    }
  }
  sort_stable(taken_a);
  sort_stable(taken_b);
  std::erase_if(matching.only_a, [&](std::uint32_t t) { return std::ranges::binary_search(taken_a, t); });
  std::erase_if(matching.only_b, [&](std::uint32_t t) { return std::ranges::binary_search(taken_b, t); });
}

}  // namespace assay::analysis
