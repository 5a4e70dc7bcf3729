// SPDX-License-Identifier: Apache-2.0
// Zeros as a download leaves them that skipped a part: in a row through whole tensors, and on into what lies beside them in the file.
//
// What is zero by design ends where a tensor or a row of it ends, or is all of a layer; a part of a download ends anywhere.
#include <algorithm>
#include <set>

#include "analysis/doctor/checks.hpp"
#include "analysis/zeros.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"

namespace assay::analysis::doctor {
namespace {

/// A tensor's bytes in its file.
struct Laid {
  const Patient* patient;
  std::uint32_t file;
  std::uint64_t begin, end;
};

std::vector<Laid> lay_out(const Checkpoint& checkpoint, const std::vector<Patient>& patients) {
  std::vector<Laid> laid;
  for (const Patient& patient : patients) {
    const Tensor& tensor = checkpoint.tensors[patient.tensor];
    const auto offset = checkpoint.file_offset(tensor);
    if (patient.tied || !offset || tensor.numel == 0 || !tensor.contiguous()) continue;
    laid.push_back({&patient, checkpoint.storages[tensor.storage].file, *offset, *offset + tensor.nbytes()});
  }
  sort_stable(laid, [](const Laid& a, const Laid& b) { return a.file != b.file ? a.file < b.file : a.begin < b.begin; });
  return laid;
}

/// Whether `n` zero bytes at a tensor's front or end stop in the midst of a row, as no other row does, of numbers that are seldom 0.
Work<bool> is_torn(const Checkpoint& checkpoint, const Laid& laid, std::uint64_t n, bool at_front) {
  constexpr std::uint64_t kLeast = 32;
  const Tensor& tensor = checkpoint.tensors[laid.patient->tensor];
  const Stats& stats = laid.patient->stats;
  const std::uint64_t size = laid.end - laid.begin, row = tensor.shape.size() < 2 ? size : size / tensor.shape[0], part = n % row;
  if (n >= size || part < kLeast || stats.measured == 0) co_return false;
  const double zeros = static_cast<double>(stats.zeros) / static_cast<double>(stats.measured);
  const double expected = static_cast<double>(n) / static_cast<double>(size);
  if (zeros - expected > (1 - expected) / 2) co_return false;
  if (n + row > size) co_return true;  // no whole row to compare it with
  const std::uint64_t next = at_front ? laid.begin + n - part + row : laid.end - n - row;
  ASSAY_READ_INTO(const ByteBlock block, checkpoint.files[laid.file].source->fetch(next, part));
  co_return std::ranges::any_of(block.view().span(), [](std::byte b) { return b != std::byte{0}; });
}

bool is_trained(TensorRole role) { return role == TensorRole::weight || role == TensorRole::embedding || role == TensorRole::norm; }

/// Neighbours in the file that are all 0, and what is torn beside them.
struct Hole {
  std::size_t first, last;  // laid
  std::uint64_t begin, end;
  std::vector<std::string> torn;
};

class Searcher {
 public:
  Searcher(const Checkpoint& checkpoint, const std::vector<Patient>& patients, Chart& chart)
      : checkpoint_(checkpoint), laid_(lay_out(checkpoint, patients)), chart_(chart) {
    for (const Laid& laid : laid_)
      if (is_trained(laid.patient->role) && !laid.patient->all_zero()) living_layers_.insert(layer_module(name(laid)));
  }

  Work<void> run() {
    for (std::size_t i = 0; i < laid_.size(); ++i) {
      if (!laid_[i].patient->all_zero()) continue;
      ASSAY_AWAIT(const std::size_t last, follow(i));
      ASSAY_AWAIT_CHECK(judge(i, last));
      i = last;
    }
    withdraw_told();
    co_return {};
  }

 private:
  std::string_view name(const Laid& laid) const { return checkpoint_.tensors[laid.patient->tensor].name; }
  const ByteSource& source(const Laid& laid) const { return *checkpoint_.files[laid.file].source; }

  /// Whether nothing but a few zeros stands between two.
  Work<bool> joined(const Laid& a, const Laid& b) {
    constexpr std::uint64_t kPadding = 4096;
    if (a.file != b.file || b.begin < a.end || b.begin - a.end > kPadding) co_return false;
    ASSAY_AWAIT(const std::uint64_t end, zeros_end(source(a), a.end, b.begin));
    co_return end == b.begin;
  }
  Work<std::size_t> follow(std::size_t i) {
    while (i + 1 < laid_.size() && laid_[i + 1].patient->all_zero()) {
      ASSAY_AWAIT(const bool more, joined(laid_[i], laid_[i + 1]));
      if (!more) break;
      ++i;
    }
    co_return i;
  }
  Work<void> judge(std::size_t first, std::size_t last) {
    Hole hole{.first = first, .last = last, .begin = laid_[first].begin, .end = laid_[last].end, .torn = {}};
    if (!has_trained(hole)) co_return {};
    if (first > 0) {
      const Laid& before = laid_[first - 1];
      ASSAY_AWAIT(const bool beside, joined(before, laid_[first]));
      if (beside) {
        ASSAY_AWAIT(const std::uint64_t begin, zeros_begin(source(before), before.begin, before.end));
        ASSAY_AWAIT(const bool torn, is_torn(checkpoint_, before, before.end - begin, false));
        if (torn) hole.begin = begin, hole.torn.emplace_back(name(before));
      }
    }
    if (last + 1 < laid_.size()) {
      const Laid& behind = laid_[last + 1];
      ASSAY_AWAIT(const bool beside, joined(laid_[last], behind));
      if (beside) {
        ASSAY_AWAIT(const std::uint64_t end, zeros_end(source(behind), behind.begin, behind.end));
        ASSAY_AWAIT(const bool torn, is_torn(checkpoint_, behind, end - behind.begin, true));
        if (torn) hole.end = end, hole.torn.emplace_back(name(behind));
      }
    }
    if (!hole.torn.empty() || cuts_layers(hole)) tell(hole);
    co_return {};
  }
  bool has_trained(const Hole& hole) const {
    for (std::size_t i = hole.first; i <= hole.last; ++i)
      if (is_trained(laid_[i].patient->role)) return true;
    return false;
  }
  /// Several tensors of several roles, but not all of a layer.
  bool cuts_layers(const Hole& hole) const {
    constexpr std::size_t kLeast = 3;
    std::set<TensorRole> roles;
    std::size_t trained = 0;
    bool partly = false;
    for (std::size_t i = hole.first; i <= hole.last; ++i) {
      if (!is_trained(laid_[i].patient->role)) continue;
      ++trained;
      roles.insert(laid_[i].patient->role);
      partly = partly || living_layers_.contains(layer_module(name(laid_[i])));
    }
    return trained >= kLeast && roles.size() > 1 && partly;
  }
  void tell(const Hole& hole) {
    constexpr std::size_t kNamed = 3, kListed = 100;
    const std::string& file = checkpoint_.files[laid_[hole.first].file].name;
    const auto is_tail = [&](const Finding& finding) {
      return finding.code == Code::zero_tail && is_of(finding, file) && hole.end > finding.where.offset.value_or(0);
    };
    if (std::ranges::any_of(chart_.findings(), is_tail)) return;
    std::vector<std::string> names;
    bool sampled = false;
    const std::uint64_t whole = hole.last - hole.first + 1;
    for (std::size_t i = hole.first; i <= hole.last; ++i) {
      sampled = sampled || laid_[i].patient->sampled();
      if (names.size() < kListed) names.emplace_back(name(laid_[i]));
    }
    chart_.about(sampled);
    std::string message = concat(grouped(hole.end - hole.begin), " zero bytes in a row, from byte ", grouped(hole.begin), " to ",
                                 grouped(hole.end), ": all of ", name_list(names, kNamed, whole),
                                 hole.torn.empty() ? "" : ", and a part of ", name_list(hole.torn, hole.torn.size()));
    chart_.add(
        Finding(Code::zero_hole, std::move(message),
                Where{.file = checkpoint_.files.size() > 1 ? file : std::string(), .offset = hole.begin, .length = hole.end - hole.begin},
                {{"tensors", whole + hole.torn.size()}, {"names", std::move(names)}, {"partly", hole.torn}}));
    chart_.about(false);
  }
  static bool is_of(const Finding& finding, std::string_view file) { return finding.where.file.empty() || finding.where.file == file; }

  /// What lies in a hole or in an end that was never written is told with that.
  void withdraw_told() {
    std::vector<std::uint32_t> tensors;
    for (const auto* findings : {&chart_.findings(), &checkpoint_.findings.list()})
      for (const Finding& finding : *findings) {
        if ((finding.code != Code::zero_hole && finding.code != Code::zero_tail) || !finding.where.offset) continue;
        const std::uint64_t begin = *finding.where.offset, end = begin + finding.where.length.value_or(0);
        for (const Laid& laid : laid_)
          if (is_of(finding, checkpoint_.files[laid.file].name) && laid.begin < end && laid.end > begin)
            tensors.push_back(laid.patient->tensor);
      }
    chart_.withdraw(tensors);
  }

  const Checkpoint& checkpoint_;
  const std::vector<Laid> laid_;
  Chart& chart_;
  std::set<std::string_view> living_layers_;
};

}  // namespace

Work<void> check_holes(const Checkpoint& checkpoint, const std::vector<Patient>& patients, Chart& chart) {
  Searcher searcher(checkpoint, patients, chart);
  co_return co_await searcher.run();
}

}  // namespace assay::analysis::doctor
