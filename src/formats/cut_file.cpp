// SPDX-License-Identifier: Apache-2.0
#include "formats/cut_file.hpp"

#include <algorithm>
#include <iterator>

#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::formats {

namespace {

constexpr std::size_t kNamed = 5, kListed = 1000;
constexpr std::uint64_t kLook = 4096;

Result<bool> ends_in_zeros(const ByteSource& source) {
  if (source.size() < kLook) return false;
  ASSAY_TRY(const ByteBlock end, source.fetch(source.size() - kLook, kLook));
  return std::ranges::all_of(end.view().span(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Result<void> tell_cut(Checkpoint& checkpoint, CutFile cut) {
  std::uint64_t lost = 0, bytes = 0;
  std::vector<std::string> names;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.readable) {
      bytes = checked_add(bytes, tensor.nbytes()).value_or(bytes);
      continue;
    }
    if (++lost <= kListed) names.emplace_back(tensor.name);
  }
  const CheckpointFile& file = checkpoint.files.front();
  auto zeros = ends_in_zeros(*file.source);
  if (!zeros && zeros.error().code() == Code::need_range) return fail(std::move(zeros).error());
  const bool unwritten = zeros && *zeros && !cut.within;
  const std::uint64_t all = checkpoint.tensors.size();
  std::string what = concat("the file ends ", cut.where);
  if (unwritten) what += ", in zeros: its space was reserved and the rest never written";
  if (cut.missing > 0 && !unwritten)
    what += concat(", ", cut.at_least ? "at least " : "", counted(cut.missing, "byte is", "bytes are"), " missing");
  if (all > 0)
    what += lost == 0 ? concat("; ", all == 1 ? "its tensor is" : concat("all ", all, " tensors are"), " whole")
                      : concat("; ", lost, " of ", counted(all, "tensor", "tensors"), lost == 1 ? " is" : " are",
                               " not whole: ", name_list(names, kNamed, lost));
  Finding finding(Code::truncated, std::move(what), Where{.offset = file.size});
  finding.facts = {{"missing", cut.missing}, {"whole", all - lost}, {"tensors", all}, {"bytes", bytes}, {"cut", std::move(names)}};
  if (cut.at_least) finding.facts.push_back({"at_least", true});
  if (unwritten) finding.facts.push_back({"ends_in_zeros", true});
  std::ranges::move(cut.facts, std::back_inserter(finding.facts));
  checkpoint.complete = false;
  checkpoint.findings.add_first(std::move(finding));
  return {};
}

}  // namespace assay::formats
