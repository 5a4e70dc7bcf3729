// SPDX-License-Identifier: Apache-2.0
#include "cli/choose.hpp"

#include <algorithm>
#include <numeric>

#include "analysis/cut.hpp"
#include "analysis/select.hpp"
#include "analysis/summary.hpp"
#include "analysis/tree.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cli/process.hpp"

namespace assay::cli {

Result<std::vector<std::uint32_t>> choose(const Context& context, const Checkpoint& checkpoint, const Choice& choice) {
  ASSAY_TRY(const analysis::Filter filter, analysis::Filter::parse(context.options.text("--where")));
  std::vector<std::uint32_t> order;
  if (choice.order == "file") {
    order.resize(checkpoint.tensors.size());
    std::iota(order.begin(), order.end(), 0u);
  } else {
    order = analysis::natural_order(checkpoint.tensors);
  }
  analysis::Selection selection = analysis::select(checkpoint, order, choice.patterns, filter);
  if (!selection.unmatched.empty()) return fail(analysis::no_such_tensor(checkpoint, selection.unmatched[0]));
  std::vector<std::uint32_t>& rows = selection.tensors;
  if (rows.empty() && context.options.has("--where")) {
    Error error = nothing_matches(checkpoint, context.options.text("--where"), !choice.patterns.empty());
    if (!choice.may_be_empty) return fail(std::move(error));
    if (context.mode != Mode::json && !context.quiet) write_stderr(concat(error.what(), "\nhint: ", error.hint(), "\n"));
  }
  const auto& tensors = checkpoint.tensors;
  if (choice.order == "size")
    std::ranges::stable_sort(rows, std::ranges::greater(), [&](std::uint32_t t) { return analysis::tensor_bytes(checkpoint, tensors[t]); });
  if (choice.order == "numel") std::ranges::stable_sort(rows, std::ranges::greater(), [&](std::uint32_t t) { return tensors[t].numel; });
  if (choice.order == "dtype") std::ranges::stable_sort(rows, {}, [&](std::uint32_t t) { return dtype_name(tensors[t].dtype); });
  if (choice.order == "offset")
    std::ranges::stable_sort(rows, {}, [&](std::uint32_t t) {
      const std::uint32_t storage = tensors[t].storage;
      const std::uint32_t file = storage == kNone ? kNone : checkpoint.storages[storage].file;
      return std::pair(file, checkpoint.file_offset(tensors[t]).value_or(~std::uint64_t{0}));
    });
  if (context.options.has("--reverse")) std::ranges::reverse(rows);
  return std::move(rows);
}

Error nothing_matches(const Checkpoint& checkpoint, std::string_view filter, bool patterns) {
  Error error(Code::no_such_tensor, concat("no tensor ", patterns ? "of those named " : "", "matches --where ", quote(filter)));
  // A single word is a part of a name: it may be mistyped.
  if (!patterns && filter.find_first_of(" :<>=|*?\"") == std::string_view::npos && !filter.starts_with('-'))
    if (const Error named = analysis::no_such_tensor(checkpoint, filter); named.hint().starts_with("did you mean"))
      return std::move(error).advise(std::string(named.hint()));
  return std::move(error).advise("space is and, | is or, - is not; assay help filters tells more, assay tensors FILE lists the names");
}

Result<const Tensor*> choose_one(const Context& context, const Checkpoint& checkpoint, const std::string& pattern) {
  ASSAY_TRY(const std::vector<std::uint32_t> rows, choose(context, checkpoint, {.patterns = {pattern}}));
  if (rows.size() > 1)
    return fail(std::move(Error(Code::usage, concat(quote(pattern), " are ", rows.size(), " tensors; name one")))
                    .advise(concat("such as ", quote(checkpoint.tensors[rows[0]].name))));
  const Tensor& tensor = checkpoint.tensors[rows[0]];
  if (auto error = why_unreadable(checkpoint, tensor)) return fail(*std::move(error));
  return &tensor;
}

std::optional<Error> why_unreadable(const Checkpoint& checkpoint, const Tensor& tensor) {
  if (tensor.readable) return std::nullopt;
  for (const Finding& finding : checkpoint.findings.list()) {
    if (finding.where.tensor != tensor.name) continue;
    Error error(finding.code, finding.message);
    error = std::move(std::move(error).in_file(finding.where.file)).in_member(finding.where.member).of_tensor(finding.where.tensor);
    if (finding.where.offset) error = std::move(error).at(*finding.where.offset);
    for (const Fact& fact : finding.facts) error = std::move(error).fact(fact.key, fact.value);
    return error;
  }
  if (tensor.storage == kNone) return std::nullopt;
  // A file that is cut says so once, for all of its tensors.
  const CheckpointFile* const file = checkpoint.file_of(tensor);
  const Storage& storage = checkpoint.storages[tensor.storage];
  for (const analysis::Cut& cut : analysis::cuts(checkpoint)) {
    if (file == nullptr || cut.file != file->name) continue;
    Error error(Code::truncated, concat("the file has ", grouped(cut.size), " bytes, the tensor's are from ", grouped(storage.offset),
                                        " to ", grouped(checked_add(storage.offset, storage.nbytes).value_or(storage.offset))));
    if (checkpoint.files.size() > 1) error = std::move(error).in_file(cut.file);
    return std::move(std::move(error).of_tensor(tensor.name)).at(storage.offset);
  }
  return std::nullopt;
}

void keep_only(Checkpoint& checkpoint, const std::vector<std::uint32_t>& rows) {
  if (rows.size() == checkpoint.tensors.size()) return;
  std::vector<Tensor> kept;
  for (const std::uint32_t row : rows) kept.push_back(checkpoint.tensors[row]);
  checkpoint.tensors = std::move(kept);
}

void apply_limit(const Context& context, std::vector<std::uint32_t>& rows) {
  const std::uint64_t limit = context.options.number("--limit", rows.size());
  if (limit < rows.size()) rows.resize(static_cast<std::size_t>(limit));
}

}  // namespace assay::cli
