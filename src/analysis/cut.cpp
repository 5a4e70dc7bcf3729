// SPDX-License-Identifier: Apache-2.0
#include "analysis/cut.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::analysis {

namespace {

const Fact* fact(const Finding& finding, std::string_view key) {
  const auto found = std::ranges::find(finding.facts, key, &Fact::key);
  return found == finding.facts.end() ? nullptr : &*found;
}

/// A finding that stands for all of a file's lost end.
bool stands_for_cut(const Finding& finding) { return finding.code == Code::truncated && fact(finding, "missing") != nullptr; }

}  // namespace

std::vector<Cut> cuts(const Checkpoint& checkpoint) {
  std::vector<Cut> out;
  for (const Finding& finding : checkpoint.findings.list()) {
    if (!stands_for_cut(finding)) continue;
    Cut cut;
    cut.file = !finding.where.file.empty() ? finding.where.file : checkpoint.files.empty() ? std::string() : checkpoint.files.front().name;
    const auto file = std::ranges::find(checkpoint.files, cut.file, &CheckpointFile::name);
    if (file != checkpoint.files.end()) cut.size = file->size;
    if (const auto* missing = std::get_if<std::uint64_t>(&fact(finding, "missing")->value)) cut.missing = *missing;
    cut.at_least = fact(finding, "at_least") != nullptr;
    cut.ends_in_zeros = fact(finding, "ends_in_zeros") != nullptr;
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

constexpr std::uint64_t kBlock = std::uint64_t{1} << 18;

/// Where the zeros that a source ends in begin; its size where it ends otherwise.
Result<std::uint64_t> zeros_begin(const ByteSource& source) {
  std::uint64_t end = source.size(), look = 512;
  while (end > 0) {
    const std::uint64_t n = std::min(look, end);
    ASSAY_TRY(const ByteBlock block, source.view(end - n, n));
    const auto bytes = block.view().span();
    for (std::size_t i = bytes.size(); i-- > 0;)
      if (bytes[i] != std::byte{0}) return end - n + i + 1;
    end -= n;
    look = kBlock;
  }
  return std::uint64_t{0};
}

/// Judges the zeros of one file: they begin within a tensor, and are more than a trained tensor ends in.
void judge(const Checkpoint& checkpoint, std::uint32_t file, std::uint64_t begin, std::vector<Finding>& findings) {
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
      concat("from byte ", grouped(begin), " on the file holds zeros only, ", grouped(size - begin), " of ", grouped(size),
             " bytes: from within ", quote(cut->name),
             behind > 0 ? concat(", and all of ", counted(behind, "tensor", "tensors"), " behind it") : std::string(" to its end"));
  Finding finding(Code::zero_tail, what, Where{.offset = begin, .length = size - begin},
                  {{"tensors", behind + 1}, {"names", std::move(names)}});
  if (checkpoint.files.size() > 1) finding.where.file = checkpoint.files[file].name;
  findings.push_back(std::move(finding));
}

}  // namespace

Result<void> find_zero_tails(const Checkpoint& checkpoint, std::vector<Finding>& findings) {
  for (std::uint32_t file = 0; file < checkpoint.files.size(); ++file) {
    if (!checkpoint.files[file].source) continue;
    auto begin = zeros_begin(*checkpoint.files[file].source);
    if (begin) judge(checkpoint, file, *begin, findings);
    else if (begin.error().code() == Code::need_range) return fail(std::move(begin).error());
  }
  return {};
}

}  // namespace assay::analysis
