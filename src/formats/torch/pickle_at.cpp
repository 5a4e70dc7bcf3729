// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/pickle_at.hpp"

#include <algorithm>

#include "base/arith.hpp"
#include "base/try.hpp"
#include "containers/joblib.hpp"
#include "containers/pickle/opcodes.hpp"

namespace assay::formats::torch {

namespace {

// Bytes from the pickle's begin that the opcode it broke at needs, as far as its argument's length tells.
std::uint64_t needed_bytes(const PickleAt& pickle) {
  const std::uint64_t at = pickle.end() - pickle.bytes.offset();
  if (at >= pickle.bytes.size()) return 0;
  const pickle::Step step = pickle::next_opcode(pickle.bytes, static_cast<std::size_t>(at));
  if (step.status != pickle::StepStatus::truncated) return 0;
  return checked_add(step.argument, step.number).value_or(0);
}

}  // namespace

Result<PickleAt> read_pickle_at(const ByteSource& source, std::uint64_t offset, std::uint64_t end, const Limits& limits,
                                std::uint64_t window, bool with_arrays) {
  // One byte more than the limit, so that the parser sees it exceeded.
  const std::uint64_t most = std::min(end - offset, checked_add(limits.pickle_bytes, 1).value_or(limits.pickle_bytes));
  std::uint64_t size = std::min(most, window - offset % window);
  for (;;) {
    ASSAY_TRY(ByteBlock block, source.fetch(offset, size));
    PickleAt pickle;
    pickle.bytes = block.view();
    joblib::ArrayReader arrays(limits);
    pickle.graph = std::make_shared<const Graph>(with_arrays ? pickle::parse(std::move(block), limits, arrays)
                                                             : pickle::parse(std::move(block), limits));
    const auto& broken = pickle.graph->broken();
    // A stream that comes to its STOP needs no more, even if it complained of a frame that is longer than itself.
    const bool short_of = broken && broken->code() == Code::truncated && !pickle.graph->reached_stop();
    if (!short_of || size == most) return pickle;
    size = std::min(most, std::max({window, checked_mul(size, 2).value_or(most), needed_bytes(pickle)}));
  }
}

}  // namespace assay::formats::torch
