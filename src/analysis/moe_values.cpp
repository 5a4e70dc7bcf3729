// SPDX-License-Identifier: Apache-2.0
// All experts of a layer are read side by side, a block of each at a time: their inner products, what is equal, what is dead.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>

#include "analysis/moe.hpp"
#include "analysis/moe_align.hpp"
#include "analysis/moe_products.hpp"
#include "analysis/sampling.hpp"
#include "analysis/summary.hpp"
#include "assay/values.hpp"
#include "base/parallel.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"

namespace assay::analysis {
namespace {

constexpr std::size_t kBufferElements = std::size_t{1} << 19;  // of all experts together; 4 MiB
constexpr std::size_t kLongestBlock = 8192;
constexpr std::size_t kMostCompared = 4096;  // experts of a layer whose square of products is kept
constexpr double kNotably = 0.05;            // by how much an aligned cosine must exceed the plain one
constexpr double kWorthMatching = 0.8;       // likeness of sketches from which on neurons are matched
constexpr std::size_t kMostMatched = 64;     // pairs of a layer
constexpr std::uint64_t kMostExpertsOfRouter = 1u << 16;

/// What is gathered of one part of one expert.
struct Tally {
  double min = 0, max = 0, absmax = 0;
  std::uint64_t not_finite = 0;
  bool any = false;
};

class LayerMeter {
 public:
  LayerMeter(const Checkpoint& checkpoint, MoeLayer& layer, const MoeOptions& options, std::vector<Finding>& findings)
      : checkpoint_(checkpoint), layer_(layer), options_(options), findings_(findings), size_(layer.experts.size()), failed_(size_, false),
        squares_(size_, 0.0), facts_(size_) {
    if (size_ <= kMostCompared) products_.resize(size_ * size_, 0.0);
  }
  Work<void> run();

 private:
  struct Facts {  // of one expert
    double absmax = 0;
    std::uint64_t not_finite = 0, elements = 0;
    std::size_t mains = 0, zero_mains = 0, constant_mains = 0;
    std::string_view zero_projection;  // a projection that alone silences the expert
    bool biased = false, weighed = false;
  };
  /// The same tensor of each expert; null where one has none or it cannot be used.
  struct Group {
    std::vector<const ExpertPart*> parts;
    PartKind kind = PartKind::companion;
  };

  void group_parts();
  void start_classes();
  void start_sketches();
  Work<void> measure(const Group& group);
  using Readers = std::map<const Tensor*, TensorReader>;
  Readers open(std::vector<const ExpertPart*>& parts);
  Result<void> read(const Readers& readers, std::vector<const ExpertPart*>& parts, std::uint64_t at, std::size_t n,
                    std::span<double> block);
  void lose(std::size_t expert, const Tensor& tensor, Error error);
  void add_block(std::span<double> block, std::uint64_t at, std::size_t n, const std::vector<const ExpertPart*>& parts,
                 std::vector<Tally>& tallies);
  void split_classes(std::span<const double> block, std::size_t n, const std::vector<const ExpertPart*>& parts);
  void conclude(std::size_t expert, const ExpertPart& part, const Tally& tally, std::uint64_t looked);
  void finish_experts();
  void name_dead();
  void find_pairs();
  void tell_identical();
  Work<void> find_aligned();
  void keep_best(std::size_t most);
  Work<void> measure_routers();
  bool weighed(const ExpertPart& part) const {
    return part.kind == PartKind::weight && dtype_info(checkpoint_.tensors[part.tensor].dtype).kind == DTypeKind::real;
  }
  const Tensor& tensor_of(const ExpertPart& part) const { return part.view ? *part.view : checkpoint_.tensors[part.tensor]; }
  double cosine(std::size_t a, std::size_t b) const { return products_[a * size_ + b] / std::sqrt(squares_[a]) / std::sqrt(squares_[b]); }

  const Checkpoint& checkpoint_;
  MoeLayer& layer_;
  const MoeOptions& options_;
  std::vector<Finding>& findings_;
  std::size_t size_;
  std::vector<bool> failed_;
  std::vector<double> products_, squares_;  // upper triangle of the experts' products
  std::vector<Facts> facts_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> class_of_;  // equal so far
  std::size_t classes_ = 0;
  std::optional<NeuronSketches> sketches_;
};

void LayerMeter::lose(std::size_t expert, const Tensor& tensor, Error error) {
  // A tensor that its format refused has its finding already; one that holds all experts needs only one.
  const bool told = !tensor.readable || (!findings_.empty() && findings_.back().where.tensor == tensor.name);
  if (!failed_[expert] && !told) findings_.push_back(Finding::from(std::move(error).of_tensor(tensor.name)));
  failed_[expert] = true;
}

void LayerMeter::group_parts() {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> at;
  for (std::size_t e = 0; e < size_; ++e) {
    for (const ExpertPart& part : layer_.experts[e].parts) {
      const auto [found, made] = at.try_emplace({part.projection, part.suffix}, groups_.size());
      if (made) groups_.push_back({std::vector<const ExpertPart*>(size_, nullptr), part.kind});
      groups_[found->second].parts[e] = &part;
    }
  }
  for (Group& group : groups_) {
    const auto first = std::ranges::find_if(group.parts, [](const ExpertPart* part) { return part != nullptr; });
    for (std::size_t e = 0; e < size_; ++e) {
      const ExpertPart* part = group.parts[e];
      if (part == nullptr || (part->numel == (*first)->numel && part->rows == (*first)->rows)) continue;
      const Tensor &own = tensor_of(*part), &other = tensor_of(**first);
      findings_.push_back(
          Finding(Code::odd_expert,
                  concat(quote(own.name), " has shape ", bracketed(own.shape), ", ", quote(other.name), " has ", bracketed(other.shape)),
                  {.tensor = std::string(own.name)}, {{"expert", layer_.experts[e].index}, {"prefix", layer_.prefix}}));
      failed_[e] = true;
      group.parts[e] = nullptr;
    }
  }
}

/// Experts with the same parts of the same dtypes may be equal.
void LayerMeter::start_classes() {
  std::map<std::string, std::uint32_t> known;
  class_of_.resize(size_);
  for (std::size_t e = 0; e < size_; ++e) {
    std::string signature;
    for (const ExpertPart& part : layer_.experts[e].parts)
      signature += concat(part.projection, '\0', part.suffix, '\0', static_cast<unsigned>(checkpoint_.tensors[part.tensor].dtype), ' ',
                          part.rows, ' ', part.numel, '\n');
    class_of_[e] = known.try_emplace(std::move(signature), static_cast<std::uint32_t>(known.size())).first->second;
  }
}

void LayerMeter::start_sketches() {
  if (!options_.align || options_.sample || products_.empty()) return;
  std::uint64_t count = 0, inputs = 0;
  for (const ExpertPart& part : layer_.experts[0].parts) {
    const Neurons neurons = neurons_of(layer_, part);
    count = std::max(count, neurons.count);
    inputs = std::max(inputs, neurons.inputs);
  }
  sketches_.emplace(size_, count, inputs);
  if (!sketches_->usable()) sketches_.reset();
}

LayerMeter::Readers LayerMeter::open(std::vector<const ExpertPart*>& parts) {
  Readers readers;
  for (std::size_t e = 0; e < size_; ++e) {
    if (parts[e] == nullptr) continue;
    const Tensor& tensor = tensor_of(*parts[e]);
    if (failed_[e]) {
      parts[e] = nullptr;
    } else if (distinct_elements(tensor) != tensor.numel) {
      parts[e] = nullptr;
      failed_[e] = true;
      findings_.push_back(Finding(Code::odd_expert, concat(quote(tensor.name), " repeats its elements (a stride of 0) and is not measured"),
                                  {.tensor = std::string(tensor.name)}));
    } else if (!readers.contains(&tensor)) {
      auto reader = TensorReader::open(checkpoint_, tensor);
      if (reader) {
        readers.emplace(&tensor, *std::move(reader));
      } else {
        parts[e] = nullptr;
        lose(e, tensor, std::move(reader).error());
      }
    }
  }
  return readers;
}

void LayerMeter::split_classes(std::span<const double> block, std::size_t n, const std::vector<const ExpertPart*>& parts) {
  if (classes_ == size_) return;
  std::vector<std::uint32_t> members(size_, 0);
  for (const std::uint32_t c : class_of_) ++members[c];
  std::vector<std::vector<std::size_t>> seen(size_);  // per old class, the first expert of each part it splits into
  std::vector<std::uint32_t> next(size_);
  std::uint32_t classes = 0;
  for (std::size_t e = 0; e < size_; ++e) {
    const std::uint32_t old = class_of_[e];
    auto& firsts = seen[old];
    const auto same = members[old] == 1 ? firsts.end() : std::ranges::find_if(firsts, [&](std::size_t first) {
      if ((parts[e] == nullptr) != (parts[first] == nullptr) || failed_[e] || failed_[first]) return false;
      return parts[e] == nullptr || std::memcmp(&block[e * n], &block[first * n], n * sizeof(double)) == 0;
    });
    if (same != firsts.end()) {
      next[e] = next[*same];
    } else {
      firsts.push_back(e);
      next[e] = classes++;
    }
  }
  class_of_ = std::move(next);
  classes_ = classes;
}

/// Elements [at, at + n) of every expert's part, side by side; only `need-range` fails.
Result<void> LayerMeter::read(const Readers& readers, std::vector<const ExpertPart*>& parts, std::uint64_t at, std::size_t n,
                              std::span<double> block) {
  for (std::size_t e = 0; e < size_; ++e) {
    const std::span<double> own = block.subspan(e * n, n);
    if (parts[e] != nullptr) {
      const Tensor& tensor = tensor_of(*parts[e]);
      auto result = readers.at(&tensor).read_f64(parts[e]->first + at, own);
      if (!result) {
        if (result.error().code() == Code::need_range) return result;
        parts[e] = nullptr;
        lose(e, tensor, std::move(result).error());
      }
    }
    if (parts[e] == nullptr) std::ranges::fill(own, 0.0);
  }
  return {};
}

Work<void> LayerMeter::measure(const Group& group) {
  std::vector<const ExpertPart*> parts = group.parts;
  const Readers readers = open(parts);
  const auto first = std::ranges::find_if(parts, [](const ExpertPart* part) { return part != nullptr; });
  if (first == parts.end()) co_return {};
  const ExpertPart& any = **first;
  std::vector<Stretch> stretches = stretches_of(checkpoint_, any, options_.sample);
  if (stretches.empty()) stretches = {{0, any.numel}};
  else layer_.sampled = true;
  const std::uint64_t looked = elements_of(stretches);
  const double stands_for = looked == any.numel ? 1.0 : static_cast<double>(any.numel) / static_cast<double>(looked);
  const std::size_t block = std::clamp<std::size_t>(kBufferElements / size_, 64, kLongestBlock);
  std::vector<double> buffer(size_ * static_cast<std::size_t>(std::min<std::uint64_t>(block, any.numel)));
  std::vector<Tally> tallies(size_);
  for (const Stretch& stretch : stretches) {
    for (std::uint64_t done = 0; done < stretch.count; done += block) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(block, stretch.count - done));
      ASSAY_READ(read(readers, parts, stretch.first + done, n, buffer));
      add_block(buffer, stretch.first + done, n, parts, tallies);
      if (weighed(any)) add_products(buffer, n, stands_for, products_, squares_);
    }
  }
  for (std::size_t e = 0; e < size_; ++e)
    if (parts[e] != nullptr) conclude(e, *parts[e], tallies[e], looked);
  co_return {};
}

void LayerMeter::add_block(std::span<double> block, std::uint64_t at, std::size_t n, const std::vector<const ExpertPart*>& parts,
                           std::vector<Tally>& tallies) {
  split_classes(block, n, parts);
  for (std::size_t e = 0; e < size_; ++e) {
    if (parts[e] == nullptr) continue;
    Tally& tally = tallies[e];
    for (double& value : std::span(&block[e * n], n)) {
      if (!std::isfinite(value)) {
        ++tally.not_finite;
        value = 0;
        continue;
      }
      if (!tally.any) tally.min = tally.max = value, tally.any = true;
      tally.min = std::min(tally.min, value);
      tally.max = std::max(tally.max, value);
    }
    if (sketches_ && weighed(*parts[e]))
      if (const Neurons neurons = neurons_of(layer_, *parts[e]); neurons.count > 0)
        sketches_->add(e, neurons, parts[e]->cols, at, std::span(&block[e * n], n));
  }
}

void LayerMeter::conclude(std::size_t expert, const ExpertPart& part, const Tally& tally, std::uint64_t looked) {
  Facts& facts = facts_[expert];
  const bool zero = part.numel > 0 && tally.not_finite == 0 && tally.min == 0 && tally.max == 0;
  if (part.kind == PartKind::bias) facts.biased = facts.biased || !zero;
  if (part.kind != PartKind::weight && part.kind != PartKind::packed) return;
  facts.elements += looked;
  facts.not_finite += tally.not_finite;
  ++facts.mains;
  if (zero) ++facts.zero_mains;
  if (tally.not_finite == 0 && tally.min == tally.max && part.numel > 1) ++facts.constant_mains;
  // Each of gate, up and down multiplies all that comes out. Codes of 0 mean 0 only together with their zero points.
  if (zero && part.kind == PartKind::weight && part.role != ExpertRole::other && facts.zero_projection.empty())
    facts.zero_projection = part.projection.empty() ? part.suffix : part.projection;
  if (!weighed(part)) return;
  facts.weighed = true;
  facts.absmax = std::max({facts.absmax, std::abs(tally.min), std::abs(tally.max)});
}

void LayerMeter::name_dead() {
  for (std::size_t e = 0; e < size_; ++e) {
    Expert& expert = layer_.experts[e];
    const Facts& facts = facts_[e];
    if (!expert.measured || facts.mains == 0 || facts.elements == 0) continue;
    if (facts.not_finite == facts.elements) expert.dead = "none of its weights is finite";
    else if (facts.zero_mains == facts.mains) expert.dead = "all its weights are 0";
    else if (facts.constant_mains == facts.mains) expert.dead = "each of its weights holds one value only";
    else if (!facts.zero_projection.empty() && !facts.biased) expert.dead = concat("its ", escape(facts.zero_projection, 40), " is all 0");
    if (expert.dead.empty()) continue;
    if (layer_.sampled) expert.dead += ", as far as a sample shows";
    layer_.dead.push_back(expert.index);
    std::vector<Fact> where = {{"expert", expert.index}, {"prefix", layer_.prefix}};
    if (layer_.layer) where.push_back({"layer", *layer_.layer});
    findings_.push_back(Finding(Code::dead_expert, concat("expert ", expert.index, " of ", quote(layer_.prefix), " is dead: ", expert.dead),
                                {}, std::move(where)));
  }
}

void LayerMeter::finish_experts() {
  for (std::size_t e = 0; e < size_; ++e) {
    Expert& expert = layer_.experts[e];
    const Facts& facts = facts_[e];
    if (!products_.empty()) squares_[e] = products_[e * size_ + e];
    expert.measured = !failed_[e];
    if (!expert.measured) continue;
    expert.not_finite = facts.not_finite;
    if (facts.weighed) expert.norm = std::sqrt(squares_[e]), expert.absmax = facts.absmax;
    if (facts.not_finite > 0)
      findings_.push_back(Finding(Code::nan,
                                  concat("expert ", expert.index, " of ", quote(layer_.prefix), " has ",
                                         counted(facts.not_finite, "value that is", "values that are"), " not finite and left out",
                                         layer_.sampled ? ", as far as a sample shows" : ""),
                                  {}, {{"expert", expert.index}, {"prefix", layer_.prefix}, {"count", facts.not_finite}}));
  }
}

void LayerMeter::keep_best(std::size_t most) {
  sort_stable(layer_.similar, [](const SimilarPair& x, const SimilarPair& y) {
    const double of_x = x.aligned_cosine.value_or(x.cosine), of_y = y.aligned_cosine.value_or(y.cosine);
    return of_x != of_y ? of_x > of_y : std::pair(x.a, x.b) < std::pair(y.a, y.b);
  });
  if (layer_.similar.size() > most) layer_.similar.resize(most);
}

void LayerMeter::find_pairs() {
  double sum = 0;
  std::uint64_t pairs = 0;
  for (std::size_t a = 0; a < size_; ++a) {
    for (std::size_t b = a + 1; b < size_; ++b) {
      if (!layer_.experts[a].measured || !layer_.experts[b].measured) continue;
      const std::uint64_t of_a = layer_.experts[a].index, of_b = layer_.experts[b].index;
      // Of a sample, equality is but likeness.
      const bool identical = class_of_[a] == class_of_[b] && !layer_.sampled;
      if (identical) {
        if (++layer_.identical_count <= MoeLayer::kListed) layer_.identical.emplace_back(of_a, of_b);
      }
      if (products_.empty() || !(squares_[a] > 0) || !(squares_[b] > 0)) continue;
      const double alike = cosine(a, b);
      if (!std::isfinite(alike)) continue;
      sum += alike;
      ++pairs;
      if (identical || alike < options_.similar) continue;
      ++layer_.similar_count;
      layer_.similar.push_back({of_a, of_b, alike, std::nullopt});
      if (layer_.similar.size() >= 4 * MoeLayer::kListed) keep_best(MoeLayer::kListed);
    }
  }
  if (pairs > 0) layer_.mean_cosine = sum / static_cast<double>(pairs);
  tell_identical();
}

/// One finding a layer: of experts that were never trained all pairs are the same.
void LayerMeter::tell_identical() {
  if (layer_.identical.empty()) return;
  const auto [a, b] = layer_.identical.front();
  const std::uint64_t more = layer_.identical_count - 1;
  std::vector<Fact> facts = {{"a", a}, {"b", b}, {"pairs", layer_.identical_count}, {"prefix", layer_.prefix}};
  if (layer_.layer) facts.push_back({"layer", *layer_.layer});
  Finding finding(Code::duplicate_content,
                  concat("experts ", a, " and ", b, " of ", quote(layer_.prefix), " hold the same weights",
                         more > 0 ? concat("; so do ", counted(more, "more pair", "more pairs")) : std::string()),
                  {}, std::move(facts));
  finding.severity = Severity::warning;
  findings_.push_back(std::move(finding));
}

/// Pairs that a plain cosine does not show, because their neurons stand in another order.
Work<void> LayerMeter::find_aligned() {
  if (!sketches_) co_return {};
  sketches_->finish();
  struct Candidate {
    std::size_t a, b;
    double likeness;
  };
  std::vector<Candidate> candidates;
  for (std::size_t a = 0; a < size_; ++a) {
    for (std::size_t b = a + 1; b < size_; ++b) {
      if (!layer_.experts[a].measured || !layer_.experts[b].measured || class_of_[a] == class_of_[b]) continue;
      if (!(squares_[a] > 0) || !(squares_[b] > 0) || !(cosine(a, b) < options_.similar)) continue;
      const double likeness = sketches_->likeness(a, b);
      if (likeness >= kWorthMatching) candidates.push_back({a, b, likeness});
    }
  }
  sort_stable(candidates, std::ranges::greater(), &Candidate::likeness);
  if (candidates.size() > kMostMatched) candidates.resize(kMostMatched);
  for (const Candidate& pair : candidates) {
    const auto match = sketches_->match(pair.a, pair.b);
    auto product = co_await aligned_product(checkpoint_, layer_, layer_.experts[pair.a], layer_.experts[pair.b], match);
    if (!product) {
      lose(pair.a, checkpoint_.tensors[layer_.experts[pair.a].parts.front().tensor], std::move(product).error());
      continue;
    }
    const double plain = cosine(pair.a, pair.b), aligned = *product / std::sqrt(squares_[pair.a]) / std::sqrt(squares_[pair.b]);
    if (!(aligned >= options_.similar) || aligned < plain + kNotably) continue;
    ++layer_.similar_count;
    layer_.similar.push_back({layer_.experts[pair.a].index, layer_.experts[pair.b].index, plain, aligned});
  }
  co_return {};
}

Work<void> LayerMeter::measure_routers() {
  std::uint64_t base = 0;
  for (const Router& router : layer_.routers) {
    const Tensor& tensor = checkpoint_.tensors[router.tensor];
    if (!tensor.readable || router.experts > kMostExpertsOfRouter || distinct_elements(tensor) != tensor.numel) continue;
    auto reader = TensorReader::open(checkpoint_, tensor);
    std::vector<double> squares(static_cast<std::size_t>(router.experts), 0.0), buffer(kLongestBlock);
    Result<void> read;
    for (std::uint64_t at = 0; reader && read && at < tensor.numel; at += buffer.size()) {
      const std::span<double> part(buffer.data(), static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), tensor.numel - at)));
      while (lacks_range(read = reader->read_f64(at, part))) co_await Missing(std::move(read).error());
      if (!read) break;
      for (std::size_t i = 0; i < part.size(); ++i) {
        const std::uint64_t entry = router.axis == 0 ? (at + i) / tensor.shape[1] : (at + i) % tensor.shape[1];
        squares[static_cast<std::size_t>(entry)] += part[i] * part[i];
      }
    }
    if (!reader || !read) {
      Error error = reader ? std::move(read).error() : std::move(reader).error();
      findings_.push_back(Finding::from(std::move(error).of_tensor(tensor.name)));
    } else {
      for (Expert& expert : layer_.experts)
        if (expert.index >= base && expert.index - base < router.experts)
          expert.router_norm = std::sqrt(squares[static_cast<std::size_t>(expert.index - base)]);
    }
    base += router.experts;
  }
  co_return {};
}

Work<void> LayerMeter::run() {
  if (size_ == 0) co_return {};
  group_parts();
  start_classes();
  start_sketches();
  for (const Group& group : groups_) ASSAY_AWAIT_CHECK(measure(group));
  finish_experts();
  name_dead();
  find_pairs();
  ASSAY_AWAIT_CHECK(find_aligned());
  keep_best(MoeLayer::kListed);
  ASSAY_AWAIT_CHECK(measure_routers());
  co_return {};
}

}  // namespace

Result<void> measure_experts(const Checkpoint& checkpoint, Moe& moe, const MoeOptions& options, std::vector<Finding>& findings) {
  const std::size_t layers = moe.layers.size();
  std::vector<std::vector<Finding>> found(layers);
  std::vector<Result<void>> results(layers);
  std::atomic<std::size_t> done = 0;
  if (layers > 0 && options.watch && !options.watch(0, layers)) return {};
  in_parallel(
      layers, options.threads,
      [&](std::size_t i, std::size_t) {
        results[i] = LayerMeter(checkpoint, moe.layers[i], options, found[i]).run().go_on();
        ++done;
      },
      [&] { return !options.watch || done == layers || options.watch(done, layers); });
  // In the order of the layers, whoever was first.
  for (std::size_t i = 0; i < layers; ++i) {
    for (Finding& finding : found[i]) findings.push_back(std::move(finding));
    if (!results[i]) return std::unexpected(std::move(results[i]).error());
  }
  return {};
}

Work<void> measure_experts_work(const Checkpoint& checkpoint, Moe& moe, const MoeOptions& options, std::vector<Finding>& findings) {
  const std::size_t layers = moe.layers.size();
  for (std::size_t i = 0; i < layers; ++i) {
    if (options.watch && !options.watch(i, layers)) break;
    std::vector<Finding> found;
    LayerMeter meter(checkpoint, moe.layers[i], options, found);
    ASSAY_AWAIT_CHECK(meter.run());
    for (Finding& finding : found) findings.push_back(std::move(finding));
  }
  co_return {};
}

}  // namespace assay::analysis
