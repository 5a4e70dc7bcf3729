// SPDX-License-Identifier: Apache-2.0
// A tensor is cut into units of 4 MiB, each measured by itself and merged in their order, whoever measured them. Kinds of up to 16 bits
// are counted code by code where quantiles are wanted, and everything follows from the counts; of wider ones the counts only say where
// the quantiles are, and further rounds find them there.
#include "analysis/stats_run.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "analysis/census.hpp"
#include "analysis/meter.hpp"
#include "analysis/parallel.hpp"
#include "analysis/quantiles.hpp"
#include "assay/values.hpp"
#include "base/arith.hpp"
#include "base/sort.hpp"
#include "base/try.hpp"
#include "values/blocks.hpp"
#include "values/decode.hpp"
#include "values/dequantise.hpp"
#include "values/storage_order.hpp"

namespace assay::analysis {
namespace {

constexpr double kNearZero = 1e-6;
constexpr double kF32Normal = std::numeric_limits<float>::min();     // of dequantised values
constexpr std::size_t kBlock = Meter::kBlockBytes / sizeof(double);  // decoded reals
constexpr std::uint64_t kUnitBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kSampleBytes = std::uint64_t{1} << 20, kSampledFrom = std::uint64_t{16} << 20;  // one in sixteen

/// The kind of the reals a tensor consists of; none where values have to be decoded first.
std::optional<kernels::Real> real_of(const Tensor& tensor) {
  using kernels::Real;
  if (tensor.quantizer != kNone || tensor.conj) return std::nullopt;
  switch (tensor.dtype) {
    case DType::bf16:
    case DType::bc32: return Real::bf16;
    case DType::f16:
    case DType::c32: return Real::f16;
    case DType::f32:
    case DType::c64: return Real::f32;
    case DType::f64:
    case DType::c128: return Real::f64;
    case DType::i32: return Real::i32;
    case DType::u32: return Real::u32;
    default: return std::nullopt;
  }
}

/// How many blocks of kSampleBytes stand for a tensor; 0 for one that is small enough to be read.
std::uint64_t sampled_blocks(std::uint64_t numel, std::uint64_t size) {
  return numel > kSampledFrom / size ? numel / (16 * (kSampleBytes / size)) + 1 : 0;
}

CodeOrder order_of(DType dtype) {
  switch (dtype_info(dtype).kind) {
    case DTypeKind::real:
    case DTypeKind::complex: return CodeOrder::floating;
    case DTypeKind::signed_integer: return CodeOrder::signed_integer;
    default: return CodeOrder::unsigned_integer;
  }
}

/// What opening would find, without its cost, of the many tensors that are as simple as can be: row-major, within their storage.
bool surely_readable(const Checkpoint& checkpoint, const Tensor& tensor) {
  if (!tensor.readable || !tensor.stride.empty() || tensor.quantizer != kNone || tensor.storage >= checkpoint.storages.size()) return false;
  const Storage& storage = checkpoint.storages[tensor.storage];
  if (storage.file >= checkpoint.files.size() || !checkpoint.files[storage.file].source || values::decoder(tensor.dtype).raw_size == 0)
    return false;
  std::uint64_t numel = 1;
  for (const std::uint64_t size : tensor.shape) {
    const auto next = checked_mul(numel, size);
    if (!next || size == 0) return false;
    numel = *next;
  }
  const std::uint64_t most = storage.nbytes / std::max(1u, dtype_bits(tensor.dtype) / 8);
  return numel == tensor.numel && dtype_bits(tensor.dtype) >= 8 && within(tensor.storage_offset, numel, most);
}

void set_moments(Stats& stats, const Moments& moments, std::uint64_t weight) {
  if (moments.count() == 0) return;
  stats.min = moments.min() + 0.0;  // not -0
  stats.max = moments.max() + 0.0;
  stats.absmax = moments.absmax();
  stats.mean = moments.mean();
  stats.std = moments.std();
  stats.l2 = moments.l2(static_cast<double>(weight));
  stats.skew = moments.skew();
  stats.kurtosis = moments.kurtosis();
}

/// Sorts values whose codes ascend: they rise, then, where codes have a sign bit, fall (floats) or rise once more (integers).
Counted sorted_by_value(Counted counted) {
  const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto middle = std::is_sorted_until(counted.begin(), counted.end(), less);
  if (!std::is_sorted(middle, counted.end(), less)) std::reverse(middle, counted.end());
  Counted sorted(counted.size());
  std::merge(counted.begin(), middle, middle, counted.end(), sorted.begin(), less);
  return sorted;
}

/// Everything from the counts of codes. `quantizer` is null, or the one that all codes share.
Tally tally_of(const Census& census, const Tensor& tensor, const Quantizer* quantizer, Stats& stats) {
  const values::Decoder& decoder = values::decoder(tensor.dtype);
  const double least_normal = quantizer ? kF32Normal : decoder.least_normal;
  const std::vector<Census::Entry> entries = census.entries();
  Tally tally;
  Counted finite;
  finite.reserve(entries.size());
  for (const auto& [code, count] : entries) {
    double value;
    decoder.to_f64(std::as_bytes(std::span(&code, 1)).data(), 1, &value);
    if (quantizer) value = values::dequantised(value, static_cast<double>(quantizer->zero_point), values::whole_scale(*quantizer));
    if (tensor.neg) value = -value;
    const double magnitude = std::abs(value);
    if (std::isnan(value)) tally.nan += count;
    else if (std::isinf(value)) (value > 0 ? tally.pos_inf : tally.neg_inf) += count;
    else finite.emplace_back(value, count);
    if (magnitude == 0) tally.zeros += count;
    else if (magnitude < least_normal) tally.subnormal += count;
    if (magnitude < kNearZero) tally.near_zeros += count;
  }
  stats.distinct = entries.size();
  // What turns the order around, a scale or a sign, does so once more.
  if (quantizer || tensor.neg) sort_stable(finite);
  else finite = sorted_by_value(std::move(finite));
  if (!finite.empty()) tally.moments = Moments::of(finite);
  stats.quantiles = quantiles_of(finite);
  return tally;
}

/// Calls fn(codes) for the elements from `first` on, a block that the caches hold at a time; `whole`: when all of them are at hand.
template <class Fn>
Result<void> each_block(const TensorReader& reader, std::uint64_t first, std::uint64_t count, bool whole, Fn&& fn) {
  constexpr std::size_t kCached = 2 * Meter::kBlockBytes;
  const auto take = [&](std::uint64_t, std::span<const std::byte> codes) -> Result<void> {
    for (; codes.size() > kCached; codes = codes.subspan(kCached)) fn(codes.first(kCached));
    fn(codes);
    return {};
  };
  return values::for_each_raw_block(reader, first, count, take, whole ? static_cast<std::size_t>(count) * reader.raw_size() : kCached);
}

/// Values that have to be decoded to double: quantised ones, wide integers, conjugates.
Result<void> decode_into(Meter& meter, const TensorReader& reader, std::uint64_t first, std::uint64_t count) {
  const values::Decoder& decoder = values::decoder(reader.tensor().dtype);
  const bool complex = decoder.reals == 2;
  const auto buffer = std::make_unique_for_overwrite<double[]>(kBlock);
  const std::size_t block = kBlock / decoder.reals;
  std::vector<std::complex<double>> pairs(complex ? block : 0);
  for (std::uint64_t done = 0; done < count; done += block) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(block, count - done));
    if (complex) {
      ASSAY_CHECK(reader.read_complex(first + done, std::span(pairs).first(n)));
      for (std::size_t i = 0; i < n; ++i) {
        buffer[2 * i] = pairs[i].real();
        buffer[2 * i + 1] = pairs[i].imag();
      }
    } else {
      ASSAY_CHECK(reader.read_f64(first + done, std::span(buffer.get(), n)));
    }
    meter.add(std::as_bytes(std::span(buffer.get(), n * decoder.reals)));
  }
  return {};
}

}  // namespace

struct StatsRun::Job {
  Job(const Checkpoint& checkpoint, const Tensor& tensor, const StatsOptions& options);

  const Tensor& tensor() const { return order.tensor(); }
  std::size_t element_bytes() const { return std::max<std::size_t>(values::decoder(tensor().dtype).raw_size, 1); }
  /// Of a real: a complex element has two.
  std::size_t code_bytes() const { return element_bytes() / values::decoder(tensor().dtype).reals; }

  const Tensor* original;
  values::StorageOrder order;
  std::optional<kernels::Real> real;
  const Quantizer* quantizer = nullptr;
  bool counted = false;   // by a census alone
  bool searched = false;  // beside moments, quantiles by a search
  bool whole = true;      // all elements are to be measured
  std::size_t first_unit = 0;
  std::vector<Tally> tallies;                     // by unit
  std::atomic<std::uint64_t> measured = 0;        // elements, in the first round
  std::atomic<std::size_t> left = 0;              // units of this round
  std::vector<std::unique_ptr<Census>> censuses;  // by worker
  std::vector<std::unique_ptr<QuantileSearch::Pass>> passes;
  std::optional<QuantileSearch> search;
  std::atomic<bool> failing = false;
  std::optional<Error> error;
  bool concluded = false;
  Stats stats;
};

StatsRun::Job::Job(const Checkpoint& checkpoint, const Tensor& given, const StatsOptions& options)
    : original(&given), order(given), real(real_of(order.tensor())) {
  const Tensor& own = tensor();
  stats.numel = given.numel;
  if (own.quantizer < checkpoint.quantizers.size()) quantizer = &checkpoint.quantizers[own.quantizer];
  const unsigned bits = dtype_bits(own.dtype);
  const bool shared_scale = !quantizer || !quantizer->per_channel();
  counted = bits <= 16 && shared_scale && (options.quantiles || !real);
  searched = options.quantiles && !counted && bits > 16 && !quantizer && !own.conj && values::decoder(own.dtype).swap_unit() >= 4;
}

struct StatsRun::Worker {
  std::size_t job = std::numeric_limits<std::size_t>::max();
  std::optional<TensorReader> reader;
};

StatsRun::~StatsRun() = default;

std::size_t StatsRun::workers() const { return workers_.size(); }

StatsRun::StatsRun(const Checkpoint& checkpoint, std::vector<const Tensor*> tensors, std::size_t workers, const StatsOptions& options)
    : checkpoint_(&checkpoint), options_(options), workers_(std::max<std::size_t>(workers, 1)) {
  for (const Tensor* tensor : tensors) {
    jobs_.push_back(std::make_unique<Job>(checkpoint, *tensor, options));
    Job& job = *jobs_.back();
    const Tensor& own = job.tensor();
    if (job.counted || job.searched) job.censuses.resize(workers_.size());
    // What cannot be read takes no step, and its claims make none.
    if (!surely_readable(checkpoint, own)) {
      auto reader = TensorReader::open(checkpoint, own, options.limits);
      if (!reader) {
        job.error = std::move(reader).error();
        continue;
      }
    }
    add_units(static_cast<std::uint32_t>(jobs_.size() - 1));
  }
  make_steps();
}

void StatsRun::add_units(std::uint32_t number) {
  Job& job = *jobs_[number];
  const std::uint64_t numel = job.tensor().numel, size = job.element_bytes();
  job.first_unit = units_.size();
  if (const std::uint64_t blocks = options_.sample ? sampled_blocks(numel, size) : 0; blocks > 0) {
    const std::uint64_t length = kSampleBytes / size;
    job.whole = false;
    for (std::uint64_t i = 0; i < blocks; ++i) units_.push_back({number, blocks == 1 ? 0 : (numel - length) / (blocks - 1) * i, length});
  } else {
    const std::uint64_t length = kUnitBytes / size;
    for (std::uint64_t first = 0; first < numel; first += length) units_.push_back({number, first, std::min(length, numel - first)});
  }
  const std::size_t units = units_.size() - job.first_unit;
  if (job.tallies.empty()) job.tallies.resize(units);
  job.left = units;
}

/// Small tensors share a step. A storage that has to be unpacked is unpacked by one worker.
void StatsRun::make_steps() {
  steps_.clear();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const Job& job = *jobs_[units_[i].job];
    const bool unpacked = checkpoint_->storages[job.tensor().storage].producer != nullptr;
    const bool goes_on = i > 0 && (units_[i - 1].job == units_[i].job ? unpacked : bytes < kUnitBytes);
    if (steps_.empty() || !(goes_on || bytes < kUnitBytes / 2)) {
      steps_.push_back({i, i});
      bytes = 0;
    }
    steps_.back().end = i + 1;
    const std::uint64_t size = units_[i].count * job.element_bytes();
    bytes += size;
    bytes_ += size;
  }
}

std::uint64_t StatsRun::bytes_of(const Checkpoint& checkpoint, const Tensor& tensor, const StatsOptions& options) {
  if (!tensor.readable) return 0;
  const Job job(checkpoint, tensor, options);
  const std::uint64_t size = job.element_bytes(), numel = job.tensor().numel;
  const std::uint64_t blocks = options.sample ? sampled_blocks(numel, size) : 0;
  const std::uint64_t once = blocks > 0 ? blocks * (kSampleBytes / size) * size : numel * size;
  return once * (job.searched ? job.code_bytes() / 2 : 1);
}

void StatsRun::run(std::size_t step, std::size_t w) {
  for (std::size_t i = steps_[step].begin; i < steps_[step].end; ++i) {
    Job& job = *jobs_[units_[i].job];
    if (auto taken = take(i, w, false); !taken)
      if (!job.failing.exchange(true)) job.error = std::move(taken).error();
    bytes_done_.fetch_add(units_[i].count * job.element_bytes(), std::memory_order_relaxed);
    if (job.left.fetch_sub(1, std::memory_order_acq_rel) == 1) finish_round(job);
  }
}

Result<bool> StatsRun::advance() {
  for (std::uint64_t looked = 0; looked < kUnitBytes; ++next_unit_) {
    if (next_unit_ == units_.size()) {
      next_unit_ = 0;
      if (!next_round()) return false;
    }
    const Unit& unit = units_[next_unit_];
    Job& job = *jobs_[unit.job];
    auto taken = take(next_unit_, 0, true);
    if (!taken && taken.error().code() == Code::need_range) return fail(std::move(taken).error());
    if (!taken && !job.failing.exchange(true)) job.error = std::move(taken).error();
    const std::uint64_t size = unit.count * job.element_bytes();
    looked += size;
    bytes_done_.fetch_add(size, std::memory_order_relaxed);
    if (job.left.fetch_sub(1, std::memory_order_acq_rel) == 1) finish_round(job);
  }
  return true;
}

/// `whole`: nothing is counted of a unit whose bytes are not all there.
Result<void> StatsRun::take(std::size_t i, std::size_t w, bool whole) {
  Worker& worker = workers_[w];
  const Unit& unit = units_[i];
  Job& job = *jobs_[unit.job];
  if (job.failing) return {};
  if (worker.job != unit.job) {
    worker.reader.reset();
    worker.job = unit.job;
  }
  return measure(job, unit, i - job.first_unit, worker, w, whole);
}

Result<void> StatsRun::measure(Job& job, const Unit& unit, std::size_t number, Worker& worker, std::size_t w, bool whole) {
  if (!worker.reader) {
    ASSAY_TRY(worker.reader, TensorReader::open(*checkpoint_, job.tensor(), options_.limits));
  }
  const TensorReader& reader = *worker.reader;
  if (job.search) {
    if (job.passes.empty()) return {};
    auto& pass = job.passes[w];
    if (!pass) pass = std::make_unique<QuantileSearch::Pass>(job.search->start());
    return each_block(reader, unit.first, unit.count, whole, [&](std::span<const std::byte> codes) { job.search->count(codes, *pass); });
  }
  Census* census = nullptr;
  if (job.counted || job.searched) {
    auto& own = job.censuses[w];
    if (!own) own = std::make_unique<Census>(job.code_bytes(), job.tensor().numel);
    census = own.get();
  }
  Meter meter(job.real.value_or(kernels::Real::f64), job.quantizer ? kF32Normal : values::decoder(job.tensor().dtype).least_normal);
  if (!job.counted && !job.real) ASSAY_CHECK(decode_into(meter, reader, unit.first, unit.count));
  if (job.counted || job.real || job.searched) {
    ASSAY_CHECK(each_block(reader, unit.first, unit.count, whole, [&](std::span<const std::byte> codes) {
      if (job.real && !job.counted) meter.add(codes);
      if (census) census->add(codes);
    }));
  }
  if (!job.counted) {
    job.tallies[number] = meter.tally();
    if (job.real && job.tensor().neg) job.tallies[number].negate();
  }
  job.measured.fetch_add(unit.count, std::memory_order_relaxed);
  return {};
}

/// By whoever finished the last unit of a job: all others have finished theirs.
void StatsRun::finish_round(Job& job) {
  if (job.failing) return;
  if (!job.search) return conclude(job);
  QuantileSearch::Pass* all = nullptr;
  for (const auto& pass : job.passes) {
    if (pass && all) all->merge(*pass);
    else if (pass) all = pass.get();
  }
  if (all) job.search->finish(*all);
  job.passes.clear();
  if (job.search->open()) return;
  const values::Decoder& decoder = values::decoder(job.tensor().dtype);
  for (const auto& [p, code] : job.search->codes()) {
    double value;
    decoder.to_f64(std::as_bytes(std::span(&code, 1)).data(), 1, &value);
    job.stats.quantiles.emplace_back(p, job.tensor().neg ? -value : value);
  }
}

/// From what the first round has gathered, all or not.
void StatsRun::conclude(Job& job) {
  if (job.concluded) return;
  job.concluded = true;
  const std::uint64_t weight = job.order.weight();
  Stats& stats = job.stats;
  stats.measured = job.measured * weight;
  stats.exact = stats.measured == stats.numel;
  Census* census = nullptr;
  for (const auto& own : job.censuses) {
    if (own && census) census->merge(*own);
    else if (own) census = own.get();
  }
  Tally total;
  if (job.counted) {
    if (census) total = tally_of(*census, job.tensor(), job.quantizer, stats);
    else if (stats.numel == 0) stats.distinct = 0;
  } else {
    for (const Tally& tally : job.tallies) total.merge(tally);
    if (census) job.search.emplace(job.code_bytes(), order_of(job.tensor().dtype), job.tensor().neg, census->entries());
  }
  job.censuses.clear();
  job.tallies.clear();
  set_moments(stats, total.moments, weight);
  stats.zeros = total.zeros * weight;
  stats.near_zeros = total.near_zeros * weight;
  stats.nan = total.nan * weight;
  stats.pos_inf = total.pos_inf * weight;
  stats.neg_inf = total.neg_inf * weight;
  stats.subnormal = total.subnormal * weight;
}

bool StatsRun::next_round() {
  for (Worker& worker : workers_) worker.reader.reset(), worker.job = std::numeric_limits<std::size_t>::max();
  units_.clear();
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    Job& job = *jobs_[i];
    if (job.failing || !job.search || !job.search->open()) continue;
    job.passes.resize(workers_.size());
    add_units(i);
  }
  make_steps();
  return !steps_.empty();
}

Result<Stats> StatsRun::result(std::size_t i) {
  Job& job = *jobs_[i];
  if (job.error) return fail(std::move(*job.error));
  conclude(job);
  return job.stats;
}

bool run_all(StatsRun& run, const std::function<bool()>& watch) {
  do {
    if (!in_parallel(run.steps(), run.workers(), [&](std::size_t step, std::size_t worker) { run.run(step, worker); }, watch)) return false;
  } while (run.next_round());
  return true;
}

Result<Stats> tensor_stats(const Checkpoint& checkpoint, const Tensor& tensor, const StatsOptions& options) {
  StatsRun run(checkpoint, {&tensor}, 1, options);
  run_all(run);
  return run.result(0);
}

}  // namespace assay::analysis
