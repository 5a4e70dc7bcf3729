// SPDX-License-Identifier: Apache-2.0
// What statistics, counts and comparisons reach of the speed at which this machine reads memory. Every figure is a ratio to a plain vector
// sum over the same mapping, taken in the same process and the same rounds; CPU time of the process, the median of the rounds.
//
//     numbers_bench [--mib N] [--rounds N] [--work FOLDER] [--results FOLDER]
//
// Exits 1 when a bar is missed by more than a third, so that noise alone does not fail it.
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "analysis/census.hpp"
#include "analysis/diff.hpp"
#include "analysis/kernels/kernels.hpp"
#include "analysis/stats_run.hpp"
#include "base/half.hpp"

namespace {

using namespace assay;
using analysis::StatsRun;

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double wall_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

volatile double g_sink;  // what is computed is used

/// The roofline: as simple as a pass over memory can be.
__attribute__((target_clones("default", "avx2", "arch=x86-64-v4"), optimize("O3"))) float plain_sum(const std::byte* p, std::size_t n) {
  constexpr std::size_t kLanes = 128;  // eight vectors of 512 bits
  float sums[kLanes] = {};
  for (std::size_t at = 0; at + sizeof sums <= n; at += sizeof sums) {
    float x[kLanes];
    std::memcpy(x, p + at, sizeof x);
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[lane];
  }
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

/// The same by two threads, each a half.
float plain_sum_by_two(std::span<const std::byte> bytes) {
  const std::size_t half = bytes.size() / 2;
  float other = 0;
  std::jthread thread([&] { other = plain_sum(bytes.data() + half, bytes.size() - half); });
  const float own = plain_sum(bytes.data(), half);
  thread.join();
  return own + other;
}

/// The roofline of counting code by code: for each code of 16 bits a write to a place of its own, and nothing else.
__attribute__((optimize("O3"))) std::uint32_t plain_writes(std::span<const std::byte> bytes) {
  static std::uint32_t table[65536];
  for (std::size_t at = 0; at + 64 <= bytes.size(); at += 64) {
    __builtin_prefetch(bytes.data() + at + 16384, 0, 2);
    for (std::size_t k = at; k < at + 64; k += 8) {
      std::uint64_t four;
      std::memcpy(&four, bytes.data() + k, 8);
      table[four & 0xffff] = table[four >> 16 & 0xffff] = table[four >> 32 & 0xffff] = table[four >> 48] = static_cast<std::uint32_t>(at);
    }
  }
  return table[0x3c00];
}

enum class Fill { weights, subnormals, random, zeros, nans, positive, sparse, norms_with_nan };

/// A file of one tensor, mapped.
struct Input {
  std::string path;
  Checkpoint checkpoint;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;

  const Tensor* tensor(std::size_t i = 0) const { return &checkpoint.tensors[i]; }
};

template <class Code>
void write_codes(const std::string& path, std::size_t bytes, const std::vector<Code>& values, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Code> block(std::size_t{1} << 20);
  std::ofstream file(path, std::ios::binary);
  for (std::size_t done = 0; done < bytes; done += block.size() * sizeof(Code)) {
    for (std::size_t i = 0; i < block.size(); i += 4) {
      const std::uint64_t four = random();
      for (std::size_t k = 0; k < 4; ++k) block[i + k] = values[four >> (16 * k) & 0xffff];
    }
    file.write(reinterpret_cast<const char*>(block.data()), static_cast<std::streamsize>(block.size() * sizeof(Code)));
  }
}

void write_values(const std::string& path, DType dtype, std::size_t bytes, Fill fill, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 0.02);
  std::vector<double> values(65536);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = fill == Fill::zeros ? 0 : fill == Fill::nans ? std::nan("") : normal(random);
    if (fill == Fill::positive) values[i] = std::abs(values[i]) + 0.5;
    if (fill == Fill::subnormals && i % 64 == 0) values[i] = 1e-39;
    if (fill == Fill::sparse && i % 10 != 0) values[i] = 0;
    if (fill == Fill::norms_with_nan) values[i] = i % 1024 == 0 ? std::nan("") : 1 + values[i];
  }
  if (dtype == DType::f32) return write_codes(path, bytes, std::vector<float>(values.begin(), values.end()), seed);
  if (dtype == DType::f64) return write_codes(path, bytes, values, seed);
  std::vector<std::uint16_t> codes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    codes.push_back(fill == Fill::random ? static_cast<std::uint16_t>(i) : dtype == DType::f16 ? f32_to_f16(value) : f32_to_bf16(value));
  }
  write_codes(path, bytes, codes, seed);
}

Input make_input(const std::string& path, DType dtype, std::size_t bytes, Fill fill, unsigned seed, std::size_t pieces = 1) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || static_cast<std::size_t>(status.st_size) != bytes) write_values(path, dtype, bytes, fill, seed);
  Input input;
  input.path = path;
  auto source = open_file(path);
  if (!source) std::exit(2);
  input.checkpoint.files.push_back({path, bytes, *source});
  const std::size_t numel = bytes / (dtype_bits(dtype) / 8) / pieces;
  input.shape = {numel};
  Storage storage;
  storage.nbytes = bytes;
  input.checkpoint.storages.push_back(storage);
  for (std::size_t i = 0; i < pieces; ++i) {
    Tensor tensor;
    tensor.name = "tensor";
    tensor.dtype = dtype;
    tensor.shape = input.shape;
    tensor.numel = numel;
    tensor.storage = 0;
    tensor.storage_offset = i * numel;
    input.checkpoint.tensors.push_back(tensor);
  }
  input.bytes = (*source)->mapped(0, bytes)->span();
  return input;
}

/// Statistics of all tensors of an input, and what is known of each taken out.
void measure(const Input& input, std::size_t threads, bool quantiles) {
  std::vector<const Tensor*> tensors;
  for (const Tensor& tensor : input.checkpoint.tensors) tensors.push_back(&tensor);
  StatsRun run(input.checkpoint, tensors, threads, {.quantiles = quantiles});
  analysis::run_all(run);
  for (std::size_t i = 0; i < tensors.size(); ++i) g_sink = run.result(i)->l2.value_or(0);
}

void compare(const Input& a, const Input& b) {
  analysis::DiffOptions options;
  options.rank = analysis::DiffOptions::Rank::never;
  g_sink = static_cast<double>(analysis::compare_tensors(a.checkpoint, *a.tensor(), b.checkpoint, *b.tensor(), options)->changed_elements);
}

class Bench {
 public:
  explicit Bench(int rounds) : rounds_(rounds) {}

  /// Median of time(base) / time(work), taken in turns; both after once for nothing.
  double ratio(const std::function<void()>& base, const std::function<void()>& work, double (*clock)() = cpu_seconds) {
    std::vector<double> ratios;
    for (int round = -1; round < rounds_; ++round) {
      const double a = clock();
      base();
      const double b = clock();
      work();
      const double c = clock();
      if (round >= 0) ratios.push_back((b - a) / (c - b));
    }
    std::ranges::nth_element(ratios, ratios.begin() + rounds_ / 2);
    return ratios[static_cast<std::size_t>(rounds_ / 2)];
  }
  void row(const std::string& what, double value, double bar, const char* unit, bool least = true) {
    const bool good = least ? value >= bar : value <= bar;
    if (least ? value < bar / 1.5 : value > bar * 1.5) ++missed_;
    char text[256];
    std::snprintf(text, sizeof text, "| %s | %.3g %s | %s %g %s | %s |\n", what.c_str(), value, unit, least ? ">=" : "<=", bar, unit,
                  good ? "yes" : "NO");
    rows_ += text;
    std::printf("%-58s %8.3g %-4s (bar %s %g)%s\n", what.c_str(), value, unit, least ? ">=" : "<=", bar, good ? "" : " MISSED");
    std::fflush(stdout);
  }
  void note(const std::string& text) {
    notes_ += text + "\n";
    std::puts(text.c_str());
  }
  bool save(const std::string& folder) const;
  int missed() const { return missed_; }

 private:
  int rounds_, missed_ = 0;
  std::string rows_, notes_;
};

bool Bench::save(const std::string& folder) const {
  ::mkdir(folder.c_str(), 0777);
  utsname system;
  ::uname(&system);
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::localtime(&now));
  const std::string path = folder + "/" + date + "-" + system.machine + ".md";
  const bool fresh = !std::ifstream(path);
  std::ofstream file(path, std::ios::app);
  if (fresh) {
    std::string model = system.machine, line;
    for (std::ifstream info("/proc/cpuinfo"); std::getline(info, line);)
      if (line.starts_with("model name")) {
        model = line.substr(line.find(':') + 2);
        break;
      }
    file << "# Benchmarks, " << date << "\n\n"
         << model << ", " << ::sysconf(_SC_NPROCESSORS_ONLN) << " cores, Linux " << system.release << "\n";
  }
  double load = 0;
  ::getloadavg(&load, 1);
  char title[64];
  std::snprintf(title, sizeof title, "\n## Numbers, load %.1f at the end\n\n", load);
  file << title << notes_ << "\n| what | measured | bar | kept |\n|---|---|---|---|\n" << rows_;
  std::printf("written to %s\n", path.c_str());
  return static_cast<bool>(file);
}

std::uint64_t anonymous_bytes() {
  std::string line;
  for (std::ifstream status("/proc/self/status"); std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::strtoull(line.c_str() + 8, nullptr, 10) * 1024;
  return 0;
}

void bench_all(Bench& bench, const std::string& work, std::size_t bytes) {
  const auto input = [&](const char* name, DType dtype, std::size_t size, Fill fill, unsigned seed, std::size_t pieces = 1) {
    return make_input(work + "/" + name + "." + std::to_string(size >> 20), dtype, size, fill, seed, pieces);
  };
  const auto sum = [](const Input& of) { return [&of] { g_sink = plain_sum(of.bytes.data(), of.bytes.size()); }; };
  const Input bf16 = input("bf16", DType::bf16, bytes, Fill::weights, 1), f16 = input("f16", DType::f16, bytes, Fill::weights, 2);
  const Input f32 = input("f32", DType::f32, bytes, Fill::weights, 3), f64 = input("f64", DType::f64, bytes / 2, Fill::weights, 4);
  const Input other = input("bf16b", DType::bf16, bytes, Fill::weights, 5), same = input("bf16", DType::bf16, bytes, Fill::weights, 1);
  {
    sum(bf16)();
    const double before = cpu_seconds();
    sum(bf16)();
    char text[160];
    std::snprintf(text, sizeof text, "Roofline: a plain sum at %.1f GB/s over %zu MiB; kernels for %s.",
                  1e-9 * static_cast<double>(bytes) / (cpu_seconds() - before), bytes >> 20, analysis::kernels::best().name);
    bench.note(text);
  }
  // Memory beside the mapping: first, while the heap is as small as in a program of its own.
  for (const std::size_t threads : {1u, 2u}) {
    StatsRun run(f32.checkpoint, {f32.tensor()}, threads, {.quantiles = true});
    const std::uint64_t before = anonymous_bytes();
    std::uint64_t most = before;
    int steps = 0;
    analysis::run_all(run, [&] {
      if (++steps % 8 == 0) most = std::max(most, anonymous_bytes());
      return true;
    });
    bench.row("anonymous memory, quantiles, threads: " + std::to_string(threads), 1e-6 * static_cast<double>(most - before),
              8.0 + 2.0 * static_cast<double>(threads), "MB", false);
  }
  // Statistics.
  const auto stats = [](const Input& of, bool quantiles = false, std::size_t threads = 1) {
    return [&of, quantiles, threads] { measure(of, threads, quantiles); };
  };
  bench.row("statistics, BF16 / plain sum", bench.ratio(sum(bf16), stats(bf16)), 1.0, "x");
  bench.row("statistics, F16 / plain sum", bench.ratio(sum(f16), stats(f16)), 0.85, "x");
  bench.row("statistics, F32 / plain sum", bench.ratio(sum(f32), stats(f32)), 0.90, "x");
  bench.row("statistics, F64 / plain sum", bench.ratio(sum(f64), stats(f64)), 0.70, "x");
  const auto sum_by_two = [&] { g_sink = plain_sum_by_two(bf16.bytes); };
  char gain[96];
  std::snprintf(gain, sizeof gain, "Two threads: the plain sum is %.2f times as fast as on one.",
                bench.ratio(sum(bf16), sum_by_two, wall_seconds));
  bench.note(gain);
  bench.row("statistics, BF16, two threads / one (wall time)", bench.ratio(stats(bf16), stats(bf16, false, 2), wall_seconds), 1.85, "x");
  bench.row("the same / plain sum by two threads", bench.ratio(sum_by_two, stats(bf16, false, 2), wall_seconds), 1.0, "x");
  const Input tiny = input("bf16", DType::bf16, bytes, Fill::weights, 1, bytes / 4096);
  bench.row("statistics, tensors of 4 KiB, time / one tensor", 1 / bench.ratio(stats(bf16), stats(tiny)), 1.15, "x", false);
  const std::size_t part = bytes / 8;
  const Input part_bf16 = input("bf16", DType::bf16, part, Fill::weights, 1),
              tiny_bf16 = input("bf16", DType::bf16, part, Fill::weights, 1, part / 4096);
  const Input part_f32 = input("f32", DType::f32, part, Fill::weights, 3),
              tiny_f32 = input("f32", DType::f32, part, Fill::weights, 3, part / 4096);
  bench.row("all statistics with quantiles, BF16, tensors of 4 KiB, time / one tensor",
            1 / bench.ratio(stats(part_bf16, true), stats(tiny_bf16, true)), 1.15, "x", false);
  bench.row("all statistics with quantiles, F32, tensors of 4 KiB, time / one tensor",
            1 / bench.ratio(stats(part_f32, true), stats(tiny_f32, true)), 1.15, "x", false);
  // Views: the left part of every row, by the bytes they hold, and rows that are all the same one.
  const std::tuple<const char*, std::uint64_t, std::uint64_t> kViews[] = {
      {"half of every row of 8 KiB", 4096, 2048}, {"a third of every row of 12 KiB", 6144, 2048}, {"half of every row of 1 KiB", 512, 256}};
  for (const auto& [name, row, kept] : kViews) {
    Input view = input("bf16", DType::bf16, bytes, Fill::weights, 1);
    const std::vector<std::uint64_t> shape = {bytes / 2 / row, kept}, stride = {row, 1};
    Tensor& tensor = view.checkpoint.tensors[0];
    tensor.shape = shape;
    tensor.stride = stride;
    tensor.numel = shape[0] * kept;
    const double share = static_cast<double>(tensor.numel * 2) / static_cast<double>(bytes);
    bench.row(std::string("statistics, BF16, ") + name + ", time / as many bytes", 1 / bench.ratio(stats(bf16), stats(view)) / share, 2,
              "x", false);
    // What the machine gives where it reads with gaps: it fetches some of what lies between.
    const auto rows = [&] {
      float sum = 0;
      for (std::size_t i = 0; i < shape[0]; ++i) sum += plain_sum(view.bytes.data() + i * row * 2, kept * 2);
      g_sink = sum;
    };
    bench.row("the same / plain sum of each of these rows", bench.ratio(rows, stats(view)), 1.0, "x");
  }
  {
    Input view = input("bf16", DType::bf16, bytes, Fill::weights, 1);
    const std::vector<std::uint64_t> shape = {1000, bytes / 2}, stride = {0, 1};
    Tensor& tensor = view.checkpoint.tensors[0];
    tensor.shape = shape;
    tensor.stride = stride;
    tensor.numel = 1000 * (bytes / 2);
    bench.row("statistics, BF16, expanded a thousand times, time / once", 1 / bench.ratio(stats(bf16), stats(view)), 1.15, "x", false);
  }
  // Hostile values: never much slower than weights.
  const std::size_t quarter = bytes / 4;
  const Input normal = input("normal", DType::bf16, quarter, Fill::weights, 6);
  const std::pair<const char*, Fill> kHostile[] = {{"subnormals", Fill::subnormals},
                                                   {"random", Fill::random},
                                                   {"zeros", Fill::zeros},
                                                   {"nans", Fill::nans},
                                                   {"positive", Fill::positive},
                                                   {"nine zeros in ten", Fill::sparse},
                                                   {"near 1 with a NaN in 1024", Fill::norms_with_nan}};
  for (const auto& [name, fill] : kHostile) {
    const Input hostile = input(name, DType::bf16, quarter, fill, 7);
    bench.row(std::string("statistics, BF16, ") + name + ", time / weights", 1 / bench.ratio(stats(normal), stats(hostile)), 1.3, "x",
              false);
  }
  // Counts.
  const auto census = [](const Input& of, std::size_t width) {
    return [&of, width] {
      analysis::Census counts(width, of.bytes.size() / width);
      counts.add(of.bytes);
      g_sink = static_cast<double>(counts.entries().size());
    };
  };
  bench.row("census of 16-bit values / plain sum", bench.ratio(sum(bf16), census(bf16, 2)), 0.35, "x");
  bench.row("the same / a write for each value", bench.ratio([&] { g_sink = plain_writes(bf16.bytes); }, census(bf16, 2)), 0.9, "x");
  bench.row("census of F32, upper 16 bits / plain sum", bench.ratio(sum(f32), census(f32, 4)), 0.50, "x");
  bench.row("census of bytes / plain sum", bench.ratio(sum(f32), census(f32, 1)), 0.19, "x");
  bench.row("all statistics with quantiles, BF16 / plain sum", bench.ratio(sum(bf16), stats(bf16, true)), 0.30, "x");
  bench.row("the same / a write for each value", bench.ratio([&] { g_sink = plain_writes(bf16.bytes); }, stats(bf16, true)), 0.85, "x");
  const Input sparse = input("nine zeros in ten", DType::bf16, quarter, Fill::sparse, 7);
  bench.row("census of 16-bit values, nine zeros in ten, time / weights", 1 / bench.ratio(census(normal, 2), census(sparse, 2)), 1.3, "x",
            false);
  bench.row("all statistics with exact quantiles, F32 / plain sum", bench.ratio(sum(f32), stats(f32, true)), 0.15, "x");
  // Comparisons, by the bytes of both sides.
  const auto both = [&](const Input& a, const Input& b) {
    return [&] {
      sum(a)();
      sum(b)();
    };
  };
  bench.row("bitwise comparison / plain sum of both", bench.ratio(both(bf16, same), [&] { compare(bf16, same); }), 0.95, "x");
  bench.row("numeric difference, BF16 / plain sum of both", bench.ratio(both(bf16, other), [&] { compare(bf16, other); }), 0.90, "x");
}

}  // namespace

int main(int argc, char** argv) {
  std::string work = "build/bench-inputs", results = "bench/results";
  std::size_t mib = 512;
  int rounds = 5;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--mib") mib = std::strtoull(argv[i + 1], nullptr, 10);
    else if (flag == "--rounds") rounds = std::atoi(argv[i + 1]);
    else if (flag == "--work") work = argv[i + 1];
    else if (flag == "--results") results = argv[i + 1];
    else return 2;
  }
  ::mkdir(work.c_str(), 0777);
  Bench bench(rounds);
  bench_all(bench, work, mib << 20);
  if (!results.empty() && !bench.save(results)) return 2;
  return bench.missed() > 0 ? 1 : 0;
}
