// SPDX-License-Identifier: Apache-2.0
// A tensor is cut into units of 4 MiB, each measured by itself and merged in their order, whoever measured them. Kinds of up to 16 bits
// are counted code by code where quantiles are wanted, and everything follows from the counts; of wider ones the counts only say where
// the quantiles are, and further rounds find them there, but a few are sorted at once.
#include "analysis/stats_run.hpp"

#include <algorithm>
#include <complex>
#include <limits>

#include "analysis/census.hpp"
#include "analysis/meter.hpp"
#include "analysis/quantiles.hpp"
#include "analysis/run_blocks.hpp"
#include "analysis/sampling.hpp"
#include "analysis/stats_tally.hpp"
#include "assay/values.hpp"
#include "base/arith.hpp"
#include "base/parallel.hpp"
#include "base/sort.hpp"
#include "base/try.hpp"
#include "values/decode.hpp"
#include "values/storage_order.hpp"

namespace assay::analysis {
namespace {

constexpr std::size_t kBlock = Meter::kBlockBytes / sizeof(double);  // decoded reals
constexpr std::uint64_t kUnitBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kSorted = 16384;  // elements: a search, which goes through tables of 2^16 counts, is dearer for so few

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

struct StatsRun::Work {
  Work(const Checkpoint& checkpoint, const Tensor& tensor, const StatsOptions& options);

  const Tensor& tensor() const { return order.tensor(); }
  std::size_t element_bytes() const { return std::max<std::size_t>(values::decoder(tensor().dtype).raw_size, 1); }
  /// Of a real: a complex element has two.
  std::size_t code_bytes() const { return element_bytes() / values::decoder(tensor().dtype).reals; }
  CodeKeys keys() const { return {static_cast<unsigned>(8 * code_bytes()), order_of(tensor().dtype), tensor().neg}; }
  void set_quantiles(std::span<const std::pair<double, std::uint64_t>> codes);

  values::StorageOrder order;
  std::optional<kernels::Real> real;
  const Quantizer* quantizer = nullptr;
  bool counted = false;   // by a census alone
  bool sorted = false;    // beside moments, quantiles by sorting the few codes there are
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

/// What is kept for every tensor, of which there may be a million.
struct StatsRun::Job {
  const Tensor* tensor = nullptr;
  std::unique_ptr<Work> work = nullptr;  ///< null for plain tensors, which only need a tally
  bool measured = false;
  Tally tally = {};
};

StatsRun::Work::Work(const Checkpoint& checkpoint, const Tensor& given, const StatsOptions& options)
    : order(given), real(real_of(order.tensor())) {
  const Tensor& own = tensor();
  stats.numel = given.numel;
  if (own.quantizer < checkpoint.quantizers.size()) quantizer = &checkpoint.quantizers[own.quantizer];
  const unsigned bits = dtype_bits(own.dtype);
  const bool shared_scale = !quantizer || !quantizer->per_channel();
  counted = bits <= 16 && shared_scale && (options.quantiles || !real);
  searched = options.quantiles && !counted && bits > 16 && !quantizer && !own.conj && values::decoder(own.dtype).swap_unit() >= 4;
  sorted = searched && own.numel <= kSorted;
  searched = searched && !sorted;
}

void StatsRun::Work::set_quantiles(std::span<const std::pair<double, std::uint64_t>> codes) {
  const values::Decoder& decoder = values::decoder(tensor().dtype);
  for (const auto& [p, code] : codes) {
    double value;
    decoder.to_f64(std::as_bytes(std::span(&code, 1)).data(), 1, &value);
    stats.quantiles.emplace_back(p, tensor().neg ? -value : value);
  }
}

struct StatsRun::Worker {
  std::size_t job = std::numeric_limits<std::size_t>::max();
  std::optional<TensorReader> reader;
  RunBlocks blocks;
  std::vector<std::uint64_t> keys, scratch;  // of codes that are sorted
};

StatsRun::~StatsRun() = default;

std::size_t StatsRun::workers() const { return workers_.size(); }

StatsRun::StatsRun(const Checkpoint& checkpoint, std::vector<const Tensor*> tensors, std::size_t workers, const StatsOptions& options)
    : checkpoint_(&checkpoint), options_(options), workers_(std::max<std::size_t>(workers, 1)) {
  for (const CheckpointFile& file : checkpoint.files)
    mapped_.push_back(file.source && file.source->mapped(0, file.source->size()) ? file.source->size() : 0);
  jobs_.reserve(tensors.size());
  units_.reserve(tensors.size());
  for (const Tensor* tensor : tensors) {
    const auto number = static_cast<std::uint32_t>(jobs_.size());
    jobs_.push_back({.tensor = tensor});
    if (is_plain(*tensor)) units_.push_back({number, static_cast<std::uint32_t>(tensor->nbytes()), 0, tensor->numel});
    else prepare(number);
  }
  make_steps();
}

/// Whether a tensor is one unit of reals that stand in a mapped file as they are: opened and measured in no time, as the many small ones
/// of a large checkpoint should be.
bool StatsRun::is_plain(const Tensor& tensor) const {
  if (options_.quantiles || tensor.neg || !real_of(tensor) || !surely_readable(*checkpoint_, tensor)) return false;
  const Storage& storage = checkpoint_->storages[tensor.storage];
  const std::uint64_t width = dtype_bits(tensor.dtype) / 8;
  return !storage.producer && !storage.big_endian && tensor.numel <= kUnitBytes / width &&
         within(storage.offset, storage.nbytes, mapped_[storage.file]);
}

void StatsRun::prepare(std::uint32_t number) {
  const Tensor& tensor = *jobs_[number].tensor;
  jobs_[number].work = std::make_unique<Work>(*checkpoint_, tensor, options_);
  Work& work = *jobs_[number].work;
  const Tensor& own = work.tensor();
  if (work.counted || work.searched) work.censuses.resize(workers_.size());
  // What cannot be read takes no step, and its claims make none.
  if (!surely_readable(*checkpoint_, own)) {
    auto reader = TensorReader::open(*checkpoint_, own, options_.limits);
    if (!reader) {
      work.error = std::move(reader).error();
      return;
    }
  }
  add_units(number);
}

void StatsRun::add_units(std::uint32_t number) {
  Work& work = *jobs_[number].work;
  const std::uint64_t numel = work.tensor().numel, size = work.element_bytes();
  work.first_unit = units_.size();
  const auto add = [&](std::uint64_t first, std::uint64_t count) {
    units_.push_back({number, static_cast<std::uint32_t>(count * size), first, count});
  };
  if (const auto stretches = options_.sample ? sampled(kTensorSampling, numel, size) : std::vector<Stretch>(); !stretches.empty()) {
    work.whole = false;
    for (const Stretch& stretch : stretches) add(stretch.first, stretch.count);
  } else {
    const std::uint64_t length = kUnitBytes / size;
    for (std::uint64_t first = 0; first < numel; first += length) add(first, std::min(length, numel - first));
  }
  const std::size_t units = units_.size() - work.first_unit;
  if (work.tallies.empty()) work.tallies.resize(units);
  work.left = units;
}

/// Small tensors share a step. A storage that has to be unpacked is unpacked by one worker.
void StatsRun::make_steps() {
  constexpr std::uint64_t kLeast = 1024;  // what the work on a scalar amounts to
  steps_.clear();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const Unit& unit = units_[i];
    const Work* work = jobs_[unit.job].work.get();
    const bool unpacked = work && checkpoint_->storages[work->tensor().storage].producer != nullptr;
    const bool goes_on = i > 0 && (units_[i - 1].job == unit.job ? unpacked : bytes < kUnitBytes);
    if (steps_.empty() || !(goes_on || bytes < kUnitBytes / 2)) {
      steps_.push_back({i, i});
      bytes = 0;
    }
    steps_.back().end = i + 1;
    bytes += std::max<std::uint64_t>(unit.bytes, kLeast);
    bytes_ += unit.bytes;
  }
}

std::uint64_t StatsRun::bytes_of(const Checkpoint& checkpoint, const Tensor& tensor, const StatsOptions& options) {
  if (!tensor.readable) return 0;
  const Work work(checkpoint, tensor, options);
  const std::uint64_t size = work.element_bytes(), numel = work.tensor().numel;
  const auto stretches = options.sample ? sampled(kTensorSampling, numel, size) : std::vector<Stretch>();
  const std::uint64_t once = (stretches.empty() ? numel : elements_of(stretches)) * size;
  return once * (work.searched ? work.code_bytes() / 2 : 1);
}

void StatsRun::run(std::size_t step, std::size_t w) {
  for (std::size_t i = steps_[step].begin; (i = run_plain(i, steps_[step].end)) < steps_[step].end; ++i) {
    Work& work = *jobs_[units_[i].job].work;
    if (auto taken = take(i, w, false); !taken)
      if (!work.failing.exchange(true)) work.error = std::move(taken).error();
    bytes_done_.fetch_add(units_[i].bytes, std::memory_order_relaxed);
    if (work.left.fetch_sub(1, std::memory_order_acq_rel) == 1) finish_round(work);
  }
}

Result<bool> StatsRun::advance() {
  for (std::uint64_t looked = 0; looked < kUnitBytes; ++next_unit_) {
    if (next_unit_ == units_.size()) {
      next_unit_ = 0;
      if (!next_round()) return false;
    }
    const Unit& unit = units_[next_unit_];
    looked += unit.bytes;
    if (run_plain(next_unit_, next_unit_ + 1) > next_unit_) continue;
    Work& work = *jobs_[unit.job].work;
    auto taken = take(next_unit_, 0, true);
    if (!taken && taken.error().code() == Code::need_range) return fail(std::move(taken).error());
    if (!taken && !work.failing.exchange(true)) work.error = std::move(taken).error();
    bytes_done_.fetch_add(unit.bytes, std::memory_order_relaxed);
    if (work.left.fetch_sub(1, std::memory_order_acq_rel) == 1) finish_round(work);
  }
  return true;
}

/// `whole`: nothing is counted of a unit whose bytes are not all there.
Result<void> StatsRun::take(std::size_t i, std::size_t w, bool whole) {
  Worker& worker = workers_[w];
  const Unit& unit = units_[i];
  Work& work = *jobs_[unit.job].work;
  if (work.failing) return {};
  if (worker.job != unit.job) {
    worker.reader.reset();
    worker.job = unit.job;
  }
  return measure(work, unit, i - work.first_unit, worker, w, whole);
}

/// All plain tensors from unit i on, up to the first that is none, which is given back.
std::size_t StatsRun::run_plain(std::size_t i, std::size_t end) {
  if (i == end || jobs_[units_[i].job].work) return i;
  const kernels::Subnormals flushed(kernels::Subnormals::Mode::flushed);  // once for all of them
  std::uint32_t file = kNone;
  std::optional<ByteView> bytes;
  std::uint64_t done = 0;
  for (; i < end && !jobs_[units_[i].job].work; ++i) {
    Job& job = jobs_[units_[i].job];
    const Storage& storage = checkpoint_->storages[job.tensor->storage];
    if (storage.file != file) {
      file = storage.file;
      const ByteSource& source = *checkpoint_->files[file].source;
      bytes = source.mapped(0, source.size());
    }
    if (!bytes) {
      // The file has shrunk. Reading it says so.
      job.work = std::make_unique<Work>(*checkpoint_, *job.tensor, options_);
      job.work->first_unit = i;
      job.work->tallies.resize(1);
      job.work->left = 1;
      break;
    }
    const std::uint64_t width = units_[i].bytes / units_[i].count;
    Meter meter(*real_of(*job.tensor), values::decoder(job.tensor->dtype).least_normal);
    meter.add(bytes->span().subspan(static_cast<std::size_t>(storage.offset + job.tensor->storage_offset * width), units_[i].bytes));
    job.tally = meter.tally();
    job.measured = true;
    done += units_[i].bytes;
  }
  bytes_done_.fetch_add(done, std::memory_order_relaxed);
  return i;
}

Result<void> StatsRun::measure(Work& work, const Unit& unit, std::size_t number, Worker& worker, std::size_t w, bool whole) {
  if (!worker.reader) {
    ASSAY_TRY(worker.reader, TensorReader::open(*checkpoint_, work.tensor(), options_.limits));
  }
  const TensorReader& reader = *worker.reader;
  if (work.search) {
    if (work.passes.empty()) return {};
    auto& pass = work.passes[w];
    if (!pass) pass = std::make_unique<QuantileSearch::Pass>(work.search->start());
    return each_block(reader, unit.first, unit.count, whole, [&](std::span<const std::byte> codes) { work.search->count(codes, *pass); });
  }
  Census* census = nullptr;
  if (work.counted || work.searched) {
    auto& own = work.censuses[w];
    if (!own) own = std::make_unique<Census>(work.code_bytes(), work.tensor().numel);
    census = own.get();
  }
  Meter meter(work.real.value_or(kernels::Real::f64), work.quantizer ? kF32Normal : values::decoder(work.tensor().dtype).least_normal);
  if (!work.counted && !work.real) ASSAY_CHECK(decode_into(meter, reader, unit.first, unit.count));
  worker.keys.clear();
  const auto add = [&](std::span<const std::byte> codes) {
    if (work.real && !work.counted) meter.add(codes);
    if (census) census->add(codes);
    if (work.sorted) work.keys().append(codes, worker.keys);
  };
  if (work.real && !work.counted) {
    const auto runs = values::MappedRuns::of(*checkpoint_, work.tensor(), options_.limits);  // of this unit: they may be gone by the next
    const bool alone = !census && !work.sorted;
    if (runs && alone)
      worker.blocks.for_each(*runs, unit.first, unit.count, [&](const kernels::Runs& codes, std::size_t n) { meter.add(codes, n); });
    else if (runs) worker.blocks.for_each_joined(*runs, unit.first, unit.count, add);
    else ASSAY_CHECK(each_full_block(reader, unit.first, unit.count, whole, add));
  } else if (work.counted || work.searched || work.sorted) {
    ASSAY_CHECK(each_block(reader, unit.first, unit.count, whole, add));
  }
  if (work.sorted) {
    sort_numbers(worker.keys, worker.scratch);
    work.set_quantiles(work.keys().quantiles(worker.keys));
  }
  if (!work.counted) {
    work.tallies[number] = meter.tally();
    if (work.real && work.tensor().neg) work.tallies[number].negate();
  }
  work.measured.fetch_add(unit.count, std::memory_order_relaxed);
  return {};
}

/// By whoever finished the last unit of a job: all others have finished theirs.
void StatsRun::finish_round(Work& work) {
  if (work.failing) return;
  if (!work.search) return conclude(work);
  QuantileSearch::Pass* all = nullptr;
  for (const auto& pass : work.passes) {
    if (pass && all) all->merge(*pass);
    else if (pass) all = pass.get();
  }
  if (all) work.search->finish(*all);
  work.passes.clear();
  if (work.search->open()) return;
  work.set_quantiles(work.search->codes());
}

/// From what the first round has gathered, all or not.
void StatsRun::conclude(Work& work) {
  if (work.concluded) return;
  work.concluded = true;
  const std::uint64_t weight = work.order.weight();
  Stats& stats = work.stats;
  stats.measured = work.measured * weight;
  stats.exact = stats.measured == stats.numel;
  Census* census = nullptr;
  for (const auto& own : work.censuses) {
    if (own && census) census->merge(*own);
    else if (own) census = own.get();
  }
  Tally total;
  if (work.counted) {
    if (census) total = tally_of(*census, work.tensor(), work.quantizer, stats);
    else if (stats.numel == 0) stats.distinct = 0;
  } else {
    for (const Tally& tally : work.tallies) total.merge(tally);
    if (census) work.search.emplace(work.keys(), census->entries());
  }
  work.censuses.clear();
  work.tallies.clear();
  set_tally(stats, total, weight);
}

bool StatsRun::next_round() {
  for (Worker& worker : workers_) worker.reader.reset(), worker.job = std::numeric_limits<std::size_t>::max();
  units_.clear();
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    Work* work = jobs_[i].work.get();
    if (!work || work->failing || !work->search || !work->search->open()) continue;
    work->passes.resize(workers_.size());
    add_units(i);
  }
  make_steps();
  return !steps_.empty();
}

Result<Stats> StatsRun::result(std::size_t i) {
  Job& job = jobs_[i];
  if (!job.work) {
    Stats stats;
    stats.numel = job.tensor->numel;
    stats.measured = job.measured ? stats.numel : 0;
    stats.exact = job.measured;
    set_tally(stats, job.tally, 1);
    return stats;
  }
  if (job.work->error) return fail(std::move(*job.work->error));
  conclude(*job.work);
  return job.work->stats;
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
