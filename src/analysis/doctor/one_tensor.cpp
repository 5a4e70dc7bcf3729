// SPDX-License-Identifier: Apache-2.0
// What one tensor's values say by themselves.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "analysis/doctor/checks.hpp"
#include "analysis/summary.hpp"
#include "assay/values.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "values/decode.hpp"

namespace assay::analysis::doctor {
namespace {

/// Magnitudes that a kind of number has in real checkpoints. What is read as it stands may be odd; what is believed may not.
struct Sane {
  DType dtype;
  double odd_below, odd_above;  // as it stands
  double good_from, good_to;    // in the other byte order
  double good_from_if_small;    // the same where nothing is too large as it stands: what is small may be so by nature
  double odd_share;             // of nonzero values, from which on it is suspicious
  std::size_t least;            // nonzero values looked at
};
constexpr Sane kSane[] = {{DType::f32, 1e-20, 1e10, 1e-9, 1e6, 1e-9, 0.4, 3},       {DType::bf16, 1e-20, 1e10, 1e-9, 1e6, 1e-9, 0.4, 3},
                          {DType::f16, 6.2e-5, 128, 1e-5, 512, 1.0 / 256, 0.2, 64}, {DType::f64, 1e-30, 1e20, 1e-12, 1e9, 1e-12, 0.4, 3},
                          {DType::i64, 0, 1e12, 1, 4294967296.0, 1, 0.5, 2},        {DType::i32, 0, 16777215, 1, 65536, 1, 0.5, 3}};

}  // namespace

Result<bool> looks_swapped(const Checkpoint& checkpoint, const Tensor& tensor, TensorRole role) {
  constexpr std::size_t kStretch = 512, kStretches = 8, kFew = 16, kRound = 4;
  const auto* sane = std::find_if(std::begin(kSane), std::end(kSane), [&](const Sane& row) { return row.dtype == tensor.dtype; });
  if (sane == std::end(kSane) || role == TensorRole::state || role == TensorRole::mask) return false;
  ASSAY_TRY(const TensorReader reader, TensorReader::open(checkpoint, tensor));
  const values::Decoder& decoder = values::decoder(tensor.dtype);
  std::vector<std::byte> codes(kStretch * reader.raw_size());
  std::array<double, kStretch> as_is, other;
  std::size_t nonzero = 0, odd = 0, large = 0, negative = 0, good = 0, good_if_small = 0;
  const std::uint64_t step = std::max<std::uint64_t>(tensor.numel / kStretches, kStretch);
  for (std::uint64_t at = 0; at < tensor.numel; at += step) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kStretch, tensor.numel - at));
    const std::span<std::byte> part(codes.data(), n * reader.raw_size());
    ASSAY_CHECK(reader.read_raw(at, n, part));
    decoder.to_f64(part.data(), n, as_is.data());
    values::swap_units(part, decoder.swap_unit());
    decoder.to_f64(part.data(), n, other.data());
    for (std::size_t i = 0; i < n; ++i) {
      if (as_is[i] == 0 || as_is[i] == other[i]) continue;  // the same in both orders
      ++nonzero;
      const double plain = std::abs(as_is[i]), swapped = std::abs(other[i]);
      if (!(plain >= sane->odd_below && plain <= sane->odd_above)) ++odd;
      large += !(plain <= sane->odd_above);
      negative += as_is[i] < 0;
      if (swapped >= sane->good_from && swapped <= sane->good_to) ++good;
      if (swapped >= sane->good_from_if_small && swapped <= sane->good_to) ++good_if_small;
    }
  }
  if (large == 0) good = good_if_small;
  // Few round numbers are small in the other order and without a sign, which tiny weights are not.
  if (nonzero < sane->least) return large == 0 && negative == 0 && nonzero >= kRound && odd == nonzero && good == nonzero;
  if (nonzero < kFew) return odd == nonzero && good == nonzero;
  return static_cast<double>(odd) >= sane->odd_share * static_cast<double>(nonzero) && good * 100 >= nonzero * 99;
}

namespace {

/// "[0, 12]" of an element counted in logical order.
std::string place_text(const Tensor& tensor, std::uint64_t element) {
  std::vector<std::uint64_t> at(tensor.shape.size());
  for (std::size_t d = tensor.shape.size(); d-- > 0;) {
    at[d] = element % tensor.shape[d];
    element /= tensor.shape[d];
  }
  return bracketed(at);
}

/// Which of some values is the one that is looked for, told the place of the first; how many they are when none is.
using Finder = std::function<std::size_t(std::uint64_t at, std::span<const double> values)>;
template <class Fn>
std::size_t place_where(std::span<const double> values, Fn wanted) {
  return static_cast<std::size_t>(std::ranges::find_if(values, wanted) - values.begin());
}

/// The first element that `finder` finds; numel when there is none.
Work<std::uint64_t> find_first(const Checkpoint& checkpoint, const Tensor& tensor, Finder finder) {
  constexpr std::size_t kBlock = 8192;
  ASSAY_TAKE(const TensorReader reader, TensorReader::open(checkpoint, tensor));
  std::vector<double> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, tensor.numel)));
  for (std::uint64_t at = 0; at < tensor.numel; at += buffer.size()) {
    const std::span<double> part(buffer.data(), static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), tensor.numel - at)));
    ASSAY_READ(reader.read_f64(at, part));
    if (const std::size_t found = finder(at, part); found < part.size()) co_return at + found;
  }
  co_return tensor.numel;
}

Work<void> tell_special(const Checkpoint& checkpoint, const Patient& patient, Chart& chart, Code code, std::uint64_t count,
                        std::string amount, Finder finder) {
  const Tensor& tensor = checkpoint.tensors[patient.tensor];
  std::uint64_t first = tensor.numel;
  if (!patient.sampled()) {
    ASSAY_AWAIT(first, find_first(checkpoint, tensor, std::move(finder)));
  }
  const bool normal = code == Code::inf && patient.role == TensorRole::mask;
  // The imaginary part of a complex value is not what was searched.
  const std::string where =
      first < tensor.numel && !tensor.shape.empty() ? concat(", the first at ", place_text(tensor, first)) : std::string();
  std::vector<Fact> facts = {{"count", count}};
  if (first < tensor.numel) facts.push_back({"first", first});
  const std::string_view has = patient.sampled() ? " has at least " : " has ";
  chart.add(code, normal ? Severity::note : Severity::warning,
            tensor.numel == 1 ? concat(quote(tensor.name), " is ", code == Code::nan ? "NaN" : "infinite")
                              : concat(quote(tensor.name), has, amount, " among its ", tensor.numel, " values", where),
            tensor.name, std::move(facts));
  co_return {};
}

}  // namespace

Work<void> check_special(const Checkpoint& checkpoint, const Patient& patient, Chart& chart) {
  const Stats& stats = patient.stats;
  if (stats.nan > 0)
    ASSAY_AWAIT_CHECK(tell_special(
        checkpoint, patient, chart, Code::nan, stats.nan, concat(stats.nan, " NaN"),
        [](std::uint64_t, std::span<const double> values) { return place_where(values, [](double x) { return std::isnan(x); }); }));
  if (const std::uint64_t infinities = stats.pos_inf + stats.neg_inf; infinities > 0)
    ASSAY_AWAIT_CHECK(tell_special(
        checkpoint, patient, chart, Code::inf, infinities, counted(infinities, "infinity", "infinities"),
        [](std::uint64_t, std::span<const double> values) { return place_where(values, [](double x) { return std::isinf(x); }); }));
  co_return {};
}

void check_flat(const Checkpoint& checkpoint, const Patient& patient, Chart& chart) {
  const Tensor& tensor = checkpoint.tensors[patient.tensor];
  const bool zero = patient.all_zero();
  if (patient.role == TensorRole::adapter) return;  // see check_adapters
  if (dtype_info(tensor.dtype).kind != DTypeKind::real || tensor.numel < 2) return;
  const bool matters = patient.role == TensorRole::weight || patient.role == TensorRole::embedding;
  // A norm that scales by 0 shuts off all behind it; its offset (".bias") may well be 0.
  const bool shuts_off = patient.role == TensorRole::norm && zero && !tensor.name.ends_with("bias");
  const Severity severity = shuts_off || (matters && tensor.shape.size() >= 2) ? Severity::warning : Severity::note;
  // A norm scales by 1 until it is trained.
  const bool unused_norm = patient.role == TensorRole::norm && tensor.shape.size() == 1;
  const bool usual = patient.role == TensorRole::mask || patient.role == TensorRole::state || patient.role == TensorRole::scale ||
                     patient.role == TensorRole::index || patient.role == TensorRole::counter;
  if (usual) return;
  if (zero) chart.share(Code::all_zero, severity, "is all 0", "are all 0", patient.tensor);
  else if (patient.constant() && !unused_norm)
    chart.share(Code::constant, severity, "holds one value only", "hold one value each", patient.tensor);
}

namespace {

/// Which do not live, those that follow each other as one: "0-31", "3, 6 and 12 more".
std::string dead_text(const std::vector<bool>& lives) {
  constexpr int kRuns = 4;
  std::string text;
  std::size_t left = static_cast<std::size_t>(std::count(lives.begin(), lives.end(), false));
  std::size_t at = 0;
  for (int run = 0; run < kRuns && left > 0; ++run) {
    while (lives[at]) ++at;
    const std::size_t from = at;
    while (at < lives.size() && !lives[at]) ++at;
    left -= at - from;
    text += concat(text.empty() ? "" : ", ", from);
    if (at - from > 1) text += concat("-", at - 1);
  }
  return left == 0 ? text : concat(text, " and ", left, " more");
}

}  // namespace

Work<void> check_rows(const Checkpoint& checkpoint, const Patient& patient, Chart& chart) {
  const Tensor& tensor = checkpoint.tensors[patient.tensor];
  const bool asked = patient.role == TensorRole::weight || patient.role == TensorRole::embedding || patient.role == TensorRole::adapter;
  if (!asked || tensor.shape.size() < 2 || dtype_info(tensor.dtype).kind != DTypeKind::real || patient.all_zero() || patient.sampled())
    co_return {};
  if (distinct_elements(tensor) != tensor.numel) co_return {};
  const std::uint64_t rows = tensor.shape[0], cols = tensor.numel / rows;
  const bool matrix = tensor.shape.size() == 2;
  if (rows < 2 || cols < 2 || patient.stats.zeros < std::min(cols, matrix ? rows : cols)) co_return {};
  std::vector<bool> row_lives(static_cast<std::size_t>(rows), false), col_lives(static_cast<std::size_t>(matrix ? cols : 0), false);
  constexpr std::size_t kBlock = 8192;
  ASSAY_TAKE(const TensorReader reader, TensorReader::open(checkpoint, tensor));
  std::vector<double> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, tensor.numel)));
  for (std::uint64_t at = 0, row = 0, col = 0; at < tensor.numel; at += buffer.size()) {
    const std::span<double> block(buffer.data(), static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), tensor.numel - at)));
    ASSAY_READ(reader.read_f64(at, block));
    for (const double value : block) {
      if (value != 0) {
        row_lives[static_cast<std::size_t>(row)] = true;
        if (matrix) col_lives[static_cast<std::size_t>(col)] = true;
      }
      if (++col == cols) col = 0, ++row;
    }
  }
  const auto tell = [&](Code code, const std::vector<bool>& lives, std::string_view many) {
    const auto dead = static_cast<std::uint64_t>(std::count(lives.begin(), lives.end(), false));
    if (dead == 0) return;
    const auto first = static_cast<std::uint64_t>(std::find(lives.begin(), lives.end(), false) - lives.begin());
    const bool padding = patient.role == TensorRole::embedding;
    chart.add(code, padding ? Severity::note : Severity::warning,
              concat(quote(tensor.name), " has ", dead, " of ", lives.size(), " ", many, " that ", dead == 1 ? "is" : "are",
                     " all 0: ", dead_text(lives), padding ? "; tokens that never occurred look so" : ""),
              tensor.name, {{"count", dead}, {"of", std::uint64_t{lives.size()}}, {"first", first}});
  };
  tell(Code::dead_rows, row_lives, "rows");
  if (matrix) tell(Code::dead_columns, col_lives, "columns");
  co_return {};
}

Work<void> check_index(const Checkpoint& checkpoint, const Patient& patient, Chart& chart) {
  const Tensor& tensor = checkpoint.tensors[patient.tensor];
  const bool real = dtype_info(tensor.dtype).kind == DTypeKind::real;
  if (patient.role == TensorRole::counter && real)
    chart.share(Code::float_index_buffer, Severity::note, "counts in a floating dtype", "count in a floating dtype", patient.tensor);
  if (patient.role != TensorRole::index || patient.sampled()) co_return {};
  const bool counts_up = tensor.name.ends_with("position_ids") && !tensor.shape.empty();
  std::uint64_t wrong = tensor.numel;
  if (counts_up || real) {
    const std::uint64_t n = tensor.shape.empty() ? 1 : tensor.shape.back();
    const Finder find_wrong = [=](std::uint64_t at, std::span<const double> values) {
      return place_where(values, [&](double x) { return counts_up ? x != static_cast<double>(at++ % n) : x != std::floor(x); });
    };
    ASSAY_AWAIT(wrong, find_first(checkpoint, tensor, find_wrong));
  }
  if (wrong < tensor.numel) {
    double value = 0;
    ASSAY_TAKE(const TensorReader reader, TensorReader::open(checkpoint, tensor));
    ASSAY_READ(reader.read_f64(wrong, std::span(&value, 1)));
    chart.add(
        Code::float_index_buffer, Severity::warning,
        concat(quote(tensor.name), real ? concat(" is stored as ", dtype_name(tensor.dtype), " and") : std::string(),
               counts_up ? concat(" does not count from 0 to ", tensor.shape.back() - 1) : std::string(" holds numbers that are not whole"),
               ": ", number_text(value), " at ", place_text(tensor, wrong)),
        tensor.name, {{"first", wrong}, {"value", value}, {"dtype", std::string(dtype_name(tensor.dtype))}});
  } else if (real) {
    chart.share(Code::float_index_buffer, Severity::warning, "holds indices in a floating dtype", "hold indices in a floating dtype",
                patient.tensor);
  }
  co_return {};
}

void check_small(const Checkpoint& checkpoint, const Patient& patient, Chart& chart) {
  const Tensor& tensor = checkpoint.tensors[patient.tensor];
  const std::uint64_t nonzero = patient.stats.measured - std::min(patient.stats.zeros, patient.stats.measured);
  // F16 begins to be subnormal at 6e-5, where trained weights have some.
  const bool wide = tensor.dtype == DType::f32 || tensor.dtype == DType::f64 || tensor.dtype == DType::bf16;
  const std::uint64_t percent = wide ? 1 : 25;
  if ((!wide && tensor.dtype != DType::f16) || patient.role == TensorRole::state || patient.stats.subnormal < 8) return;
  if (patient.stats.subnormal / percent < nonzero / 100 + (nonzero % 100 != 0)) return;
  chart.add(Code::subnormal, wide ? Severity::warning : Severity::note,
            concat(quote(tensor.name), " has ", patient.stats.subnormal, " subnormal numbers among its ", nonzero, " nonzero values"),
            tensor.name, {{"count", patient.stats.subnormal}});
}

}  // namespace assay::analysis::doctor
