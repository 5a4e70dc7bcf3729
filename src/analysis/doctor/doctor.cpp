// SPDX-License-Identifier: Apache-2.0
#include "analysis/doctor/doctor.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/cut.hpp"
#include "analysis/doctor/checks.hpp"
#include "analysis/stats_run.hpp"
#include "base/real_text.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"

namespace assay::analysis {
namespace doctor {

constexpr std::string_view kSampled = ", as far as a sample shows";

void Chart::add(Code code, Severity severity, std::string message, std::string_view tensor, std::vector<Fact> facts) {
  if (sampled_) {
    message += kSampled;
    facts.push_back({"sampled", true});
  }
  Finding finding(code, std::move(message), {.tensor = std::string(tensor)}, std::move(facts));
  finding.severity = severity;
  findings_.push_back(std::move(finding));
}

void Chart::share(Code code, Severity severity, std::string_view one, std::string_view many, std::uint32_t tensor) {
  for (Shared& shared : shared_)
    if (shared.code == code && shared.severity == severity && shared.one == one && shared.sampled == sampled_)
      return shared.tensors.push_back(tensor);
  shared_.push_back({code, severity, std::string(one), std::string(many), sampled_, {tensor}});
}

void Chart::write_shared() {
  constexpr std::size_t kNamed = 3, kListed = 100, kWarnedSingly = 8;
  for (const Shared& shared : shared_) {
    about(shared.sampled);
    const auto name = [&](std::size_t i) { return checkpoint_.tensors[shared.tensors[i]].name; };
    if (shared.tensors.size() == 1 || (shared.severity != Severity::note && shared.tensors.size() <= kWarnedSingly)) {
      for (std::size_t i = 0; i < shared.tensors.size(); ++i)
        add(shared.code, shared.severity, concat(quote(name(i)), " ", shared.one), name(i));
      continue;
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < shared.tensors.size() && i < kListed; ++i) names.emplace_back(name(i));
    std::string message = concat(shared.tensors.size(), " tensors ", shared.many, ": ", name_list(names, kNamed, shared.tensors.size()));
    add(shared.code, shared.severity, std::move(message), "",
        {{"count", std::uint64_t{shared.tensors.size()}}, {"names", std::move(names)}});
  }
  shared_.clear();
}

void Chart::add(Finding finding) {
  add(finding.code, finding.severity, std::move(finding.message), "", std::move(finding.facts));
  findings_.back().where = std::move(finding.where);
}

void Chart::withdraw(std::span<const std::uint32_t> tensors) {
  constexpr Code kFlat[] = {Code::all_zero, Code::constant, Code::dead_rows, Code::dead_columns, Code::odd_spread};
  const auto flat = [&](Code code) { return std::ranges::find(kFlat, code) != std::end(kFlat); };
  std::set<std::string_view> names;
  for (const std::uint32_t tensor : tensors) names.insert(checkpoint_.tensors[tensor].name);
  std::erase_if(findings_, [&](const Finding& finding) { return flat(finding.code) && names.contains(finding.where.tensor); });
  for (Shared& shared : shared_)
    if (flat(shared.code))
      std::erase_if(shared.tensors, [&](std::uint32_t tensor) { return names.contains(checkpoint_.tensors[tensor].name); });
  std::erase_if(shared_, [](const Shared& shared) { return shared.tensors.empty(); });
}

std::string number_text(double value) {
  char text[kRealText];
  return std::string(text, write_significant(text, value, 4));
}

}  // namespace doctor

namespace {

using doctor::Chart;
using doctor::Patient;

/// Of what is equally severe, what makes a model useless comes before what may be meant so. Other codes stand behind these.
constexpr Code kGravestFirst[] = {Code::zero_tail,
                                  Code::zero_hole,
                                  Code::byte_swapped,
                                  Code::nan,
                                  Code::inf,
                                  Code::placeholders,
                                  Code::missing_layer,
                                  Code::missing_tensor,
                                  Code::missing_tied_weight,
                                  Code::missing_scale,
                                  Code::odd_shape,
                                  Code::float_index_buffer,
                                  Code::all_zero,
                                  Code::dead_adapter,
                                  Code::constant,
                                  Code::identical_layers,
                                  Code::subnormal,
                                  Code::dead_rows,
                                  Code::dead_columns,
                                  Code::odd_spread};

void sort_gravest_first(std::span<Finding> findings) {
  const auto rank = [](const Finding& finding) {
    const auto place = std::ranges::find(kGravestFirst, finding.code) - std::begin(kGravestFirst);
    return std::pair(-static_cast<int>(finding.severity), place);
  };
  sort_stable(findings, {}, rank);
}

class Examiner {
 public:
  Examiner(const Checkpoint& checkpoint, const DoctorOptions& options, std::vector<Finding>& findings)
      : checkpoint_(checkpoint), options_(options), findings_(findings), chart_(checkpoint, findings) {}

  Work<Checkup> run(const ModelConfig& config) {
    if (options_.sample) {
      ASSAY_READ(suspect_tails());
    } else {
      ASSAY_AWAIT_CHECK(find_zero_tails(checkpoint_, findings_));
    }
    doctor::check_placeholders(checkpoint_, chart_);
    doctor::note_old_names(checkpoint_, chart_);
    doctor::check_repeats(checkpoint_, chart_);
    choose();
    StatsRun stats(checkpoint_, chosen_, options_.threads, {.quantiles = false, .sample = options_.sample});
    ASSAY_AWAIT(const bool measured, measure(stats));
    if (!measured) co_return checkup_;
    for (std::uint32_t t = 0; t < checkpoint_.tensors.size(); ++t) {
      if (options_.watch && !options_.watch(stats.bytes(), stats.bytes())) co_return checkup_;
      auto examined = co_await examine_one(t, stats);
      if (!examined) skip(std::move(examined).error(), checkpoint_.tensors[t]);
    }
    chart_.about(false);
    doctor::check_adapters(checkpoint_, patients_, chart_);
    doctor::tell_ties(checkpoint_, ties_, chart_);
    doctor::check_scales(checkpoint_, patients_, chart_);
    doctor::check_spread(checkpoint_, patients_, chart_);
    ASSAY_AWAIT_CHECK(doctor::check_holes(checkpoint_, patients_, chart_));
    ASSAY_AWAIT_CHECK(doctor::check_copies(checkpoint_, patients_, chart_));
    ASSAY_AWAIT_CHECK(doctor::check_tied(checkpoint_, config, patients_, chart_));
    chart_.write_shared();
    co_return checkup_;
  }

 private:
  Result<void> suspect_tails() {
    std::vector<Finding> found;
    auto looked = suspect_zero_tails(checkpoint_, found);
    if (looked) findings_.insert(findings_.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    return looked;
  }
  /// False when it was ended. On one thread step by step: each may be waited for.
  Work<bool> measure(StatsRun& stats) {
    const auto watch = [&] { return !options_.watch || options_.watch(stats.bytes_done(), stats.bytes()); };
    if (options_.threads > 1) co_return run_all(stats, watch);
    for (bool more = true; more;) {
      if (!watch()) co_return false;
      ASSAY_READ_INTO(more, stats.advance());
    }
    co_return true;
  }
  /// A tensor that cannot be read is a finding, unless its format has said so already.
  void skip(Error error, const Tensor& tensor) {
    ++checkup_.skipped;
    if (tensor.readable) findings_.push_back(Finding::from(std::move(error).of_tensor(tensor.name)));
  }
  void choose();
  Work<void> examine_one(std::uint32_t t, StatsRun& stats);

  const Checkpoint& checkpoint_;
  const DoctorOptions& options_;
  std::vector<Finding>& findings_;
  Chart chart_;
  Checkup checkup_;
  std::vector<Patient> patients_;
  std::vector<const Tensor*> chosen_;                          // those to measure: of the same views of a storage the first
  std::vector<std::uint32_t> chosen_of_;                       // by tensor, among these; kNone for those without values
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ties_;  // each with the first of its view
  std::vector<std::uint32_t> patient_of_;                      // by chosen tensor; kNone until it was measured
};

void Examiner::choose() {
  using View = std::tuple<std::uint32_t, std::uint64_t, DType, std::vector<std::uint64_t>, std::vector<std::uint64_t>>;
  std::map<View, std::uint32_t> seen;
  for (const Tensor& tensor : checkpoint_.tensors) {
    chosen_of_.push_back(kNone);
    if (!tensor.readable || tensor.storage == kNone || tensor.numel == 0 || tensor.dtype == DType::unknown) continue;
    View view{tensor.storage,
              tensor.storage_offset,
              tensor.dtype,
              {tensor.shape.begin(), tensor.shape.end()},
              {tensor.stride.begin(), tensor.stride.end()}};
    const auto [found, is_first] = seen.try_emplace(std::move(view), static_cast<std::uint32_t>(chosen_.size()));
    if (is_first) chosen_.push_back(&tensor);
    chosen_of_.back() = found->second;
  }
  patient_of_.assign(chosen_.size(), kNone);
}

Work<void> Examiner::examine_one(std::uint32_t t, StatsRun& stats) {
  const Tensor& tensor = checkpoint_.tensors[t];
  const std::uint32_t chosen = chosen_of_[t];
  const bool is_first = chosen != kNone && chosen_[chosen] == &tensor;
  if (chosen == kNone || (!is_first && patient_of_[chosen] == kNone)) {
    ++checkup_.skipped;
    co_return {};
  }
  Patient patient;
  patient.tensor = t;
  patient.role = role_of(tensor);
  if (!is_first) {
    const Patient& earlier = patients_[patient_of_[chosen]];
    patient.stats = earlier.stats;
    patient.swapped = earlier.swapped;
    patient.tied = true;
    ties_.emplace_back(t, earlier.tensor);
    ++checkup_.checked;
    patients_.push_back(std::move(patient));
    co_return {};
  }
  ASSAY_TAKE(patient.stats, stats.result(chosen));
  chart_.about(patient.sampled());
  checkup_.sampled += patient.sampled();
  ASSAY_READ_INTO(patient.swapped, doctor::looks_swapped(checkpoint_, tensor, patient.role));
  if (patient.swapped) {
    chart_.share(Code::byte_swapped, Severity::warning, "looks byte-swapped: its values make sense in the other byte order only",
                 "look byte-swapped: their values make sense in the other byte order only", t);
  } else {
    ASSAY_AWAIT_CHECK(doctor::check_special(checkpoint_, patient, chart_));
    doctor::check_flat(checkpoint_, patient, chart_);
    ASSAY_AWAIT_CHECK(doctor::check_rows(checkpoint_, patient, chart_));
    doctor::check_small(checkpoint_, patient, chart_);
  }
  ASSAY_AWAIT_CHECK(doctor::check_index(checkpoint_, patient, chart_));
  ++checkup_.checked;
  checkup_.bytes += tensor.nbytes();
  patient_of_[chosen] = static_cast<std::uint32_t>(patients_.size());
  patients_.push_back(std::move(patient));
  co_return {};
}

}  // namespace

Result<Checkup> examine(const Checkpoint& checkpoint, const ModelConfig& config, const DoctorOptions& options,
                        std::vector<Finding>& findings) {
  return examine_work(checkpoint, config, options, findings).go_on();
}

Work<Checkup> examine_work(const Checkpoint& checkpoint, const ModelConfig& config, const DoctorOptions& options,
                           std::vector<Finding>& findings) {
  const std::size_t before = findings.size();
  Examiner examiner(checkpoint, options, findings);
  auto checkup = co_await examiner.run(config);
  sort_gravest_first(std::span(findings).subspan(before));
  co_return checkup;
}

std::uint64_t bytes_to_examine(const Checkpoint& checkpoint, bool sample) {
  std::uint64_t bytes = 0;
  for (const Tensor& tensor : checkpoint.tensors) bytes += StatsRun::bytes_of(checkpoint, tensor, {.quantiles = false, .sample = sample});
  return bytes;
}

}  // namespace assay::analysis
