// SPDX-License-Identifier: Apache-2.0
#include "analysis/cut.hpp"

#include <algorithm>

#include "analysis/zeros.hpp"
#include "base/facts.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::analysis {

namespace {

bool has_fact(const Finding& finding, std::string_view key) {
  return std::ranges::find(finding.facts, key, &Fact::key) != finding.facts.end();
}

/// A finding that stands for all of a file's lost end.
bool stands_for_cut(const Finding& finding) { return finding.code == Code::truncated && has_fact(finding, "missing"); }

}  // namespace

std::vector<Cut> cuts(const Checkpoint& checkpoint) {
  std::vector<Cut> out;
  for (const Finding& finding : checkpoint.findings.list()) {
    if (!stands_for_cut(finding)) continue;
    Cut cut;
    cut.file = !finding.where.file.empty() ? finding.where.file : checkpoint.files.empty() ? std::string() : checkpoint.files.front().name;
    const auto file = std::ranges::find(checkpoint.files, cut.file, &CheckpointFile::name);
    if (file != checkpoint.files.end()) cut.size = file->size;
    if (const auto* missing = fact_of<std::uint64_t>(finding, "missing")) cut.missing = *missing;
    if (const auto* page = fact_of<std::uint64_t>(finding, "page")) cut.page = *page;
    cut.size -= std::min(cut.size, cut.page);
    cut.at_least = has_fact(finding, "at_least");
    cut.ends_in_zeros = has_fact(finding, "ends_in_zeros");
    out.push_back(std::move(cut));
  }
  return out;
}

bool told_with_cut(const Findings& findings, const Finding& finding) {
  if ((finding.code != Code::truncated && finding.code != Code::missing_storage) || stands_for_cut(finding)) return false;
  return std::ranges::any_of(findings.list(),
                             [&](const Finding& other) { return stands_for_cut(other) && other.where.file == finding.where.file; });
}

namespace {

constexpr std::uint64_t kPage = 4096;

Result<bool> zero_page(const ByteSource& source, std::uint64_t at) {
  ASSAY_TRY(const ByteBlock page, source.fetch(at, kPage));
  return std::ranges::all_of(page.view().span(), [](std::byte b) { return b == std::byte{0}; });
}

/// The same from a few pages, one where the file ends otherwise: from the end in steps that double, then by halves. Zeros that are no
/// tail may be taken for one, where all pages that were looked at happen to hold nothing else.
Result<std::uint64_t> likely_zeros_begin(const ByteSource& source) {
  if (source.size() < 4 * kPage) return zeros_begin(source, 0, source.size()).go_on();
  std::uint64_t zero = source.size() - kPage, other = 0;  // where a page of zeros begins, and one of something else before it
  ASSAY_TRY(const bool ends_in_zeros, zero_page(source, zero));
  if (!ends_in_zeros) return source.size();
  for (std::uint64_t step = kPage;; step *= 2) {
    other = zero > step ? zero - step : 0;
    ASSAY_TRY(const bool still, zero_page(source, other));
    if (!still) break;
    zero = other;
    if (zero == 0) return std::uint64_t{0};
  }
  while (zero - other > kPage) {
    const std::uint64_t middle = other + (zero - other) / 2;
    ASSAY_TRY(const bool still, zero_page(source, middle));
    (still ? zero : other) = middle;
  }
  ASSAY_TRY(const ByteBlock block, source.fetch(other, zero - other));
  const auto bytes = block.view().span();
  std::uint64_t begin = zero;
  while (begin > other && bytes[begin - other - 1] == std::byte{0}) --begin;
  return begin;
}

/// Judges the zeros of one file: they begin within a tensor, and are more than a trained tensor ends in.
void judge(const Checkpoint& checkpoint, std::uint32_t file, std::uint64_t begin, bool likely, std::vector<Finding>& findings) {
  constexpr std::uint64_t kLeast = 512;
  const std::uint64_t size = checkpoint.files[file].size;
  if (size - begin < kLeast) return;
  const Tensor* cut = nullptr;
  std::uint64_t behind = 0, zero_of = 0, bytes_of = 1;
  std::vector<std::string> names;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.storage == kNone || checkpoint.storages[tensor.storage].file != file || tensor.nbytes() == 0) continue;
    const Storage& storage = checkpoint.storages[tensor.storage];
    if (storage.producer) continue;
    const std::uint64_t end = storage.offset + storage.nbytes;
    if (storage.offset >= begin) {
      ++behind;
    } else if (end > begin) {
      cut = &tensor;
      zero_of = end - begin;
      bytes_of = storage.nbytes;
    } else {
      continue;
    }
    if (names.size() < 100) names.emplace_back(tensor.name);
  }
  // Rows of padding at the end of a matrix are zeros too; a tensor may be all zeros. Both together, or most of one, are not by design.
  if (cut == nullptr || (behind == 0 && (zero_of < 8 * kLeast || zero_of * 4 < bytes_of))) return;
  const std::string what =
      concat("from byte ", grouped(begin), " on the file ", likely ? "seems to hold" : "holds", " zeros only, ", grouped(size - begin),
             " of ", grouped(size), " bytes: from within ", quote(cut->name),
             behind > 0 ? concat(", and all of ", counted(behind, "tensor", "tensors"), " behind it") : std::string(" to its end"));
  Finding finding(Code::zero_tail, what, Where{.offset = begin, .length = size - begin},
                  {{"tensors", behind + 1}, {"names", std::move(names)}});
  if (likely) finding.facts.push_back({"sampled", true});
  if (checkpoint.files.size() > 1) finding.where.file = checkpoint.files[file].name;
  findings.push_back(std::move(finding));
}

}  // namespace

Work<void> find_zero_tails(const Checkpoint& checkpoint, std::vector<Finding>& findings) {
  for (std::uint32_t file = 0; file < checkpoint.files.size(); ++file) {
    if (!checkpoint.files[file].source) continue;
    const ByteSource& source = *checkpoint.files[file].source;
    auto begin = co_await zeros_begin(source, 0, source.size());
    if (begin) judge(checkpoint, file, *begin, false, findings);
  }
  co_return {};
}

Result<void> suspect_zero_tails(const Checkpoint& checkpoint, std::vector<Finding>& findings) {
  for (std::uint32_t file = 0; file < checkpoint.files.size(); ++file) {
    if (!checkpoint.files[file].source) continue;
    auto begin = likely_zeros_begin(*checkpoint.files[file].source);
    if (begin) judge(checkpoint, file, *begin, true, findings);
    else if (begin.error().code() == Code::need_range) return fail(std::move(begin).error());
  }
  return {};
}

}  // namespace assay::analysis
