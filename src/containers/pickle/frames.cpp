// SPDX-License-Identifier: Apache-2.0
#include "containers/pickle/frames.hpp"

#include <algorithm>

#include "containers/pickle/opcodes.hpp"

namespace assay::pickle {

namespace {

constexpr int kMostCuts = 64;
constexpr std::byte kFrame{0x95}, kStop{'.'};

/// Bytes of the number in front of, or in place of, an argument.
std::size_t fixed_size(Argument argument) {
  switch (argument) {
    case Argument::u1:
    case Argument::len1: return 1;
    case Argument::u2: return 2;
    case Argument::u4:
    case Argument::i4:
    case Argument::len4:
    case Argument::len4_signed: return 4;
    case Argument::u8:
    case Argument::f8_be:
    case Argument::len8: return 8;
    case Argument::none:
    case Argument::line:
    case Argument::two_lines: return 0;
  }
  return 0;
}

/// Where the read begins that does not end before `end`, for the opcode at `at`, which does.
std::size_t crossing_read(ByteView bytes, std::size_t at, const Step& step, std::size_t end) {
  const Argument argument = step.row->argument;
  const std::size_t first = at + 1;
  if (argument == Argument::two_lines) {
    const std::size_t newline = bytes.slice(0, end).text().find('\n', first);
    return newline == std::string_view::npos ? first : newline + 1;
  }
  const std::size_t fixed = fixed_size(argument);
  return fixed == 0 || end - first < fixed ? first : first + fixed;
}

}  // namespace

std::optional<BufferedReading> read_buffered(ByteView stream) {
  BufferedReading reading;
  auto& bytes = reading.bytes;
  int cuts = 0;
  std::size_t frame_end = 0;  // 0 outside frames
  const auto view = [&] { return cuts == 0 ? stream : ByteView(bytes, stream.offset()); };
  for (std::size_t at = 0; at < view().size();) {
    const Step step = next_opcode(view(), at);
    if (step.row == nullptr || step.status == StepStatus::negative_length) break;
    if (at >= frame_end) frame_end = 0;
    const bool frame = std::byte{step.row->byte} == kFrame && step.status == StepStatus::ok;
    const bool crosses =
        frame_end != 0 && (step.next > frame_end || step.status == StepStatus::truncated || (frame && step.number > frame_end - step.next));
    if (crosses) {
      if (cuts == kMostCuts) break;
      const std::size_t from = crossing_read(view(), at, step, frame_end);
      if (cuts++ == 0) {
        reading.first_cut = stream.offset(at);
        bytes.assign(stream.span().begin(), stream.span().end());
      }
      bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.begin() + static_cast<std::ptrdiff_t>(frame_end));
      frame_end = 0;
      if (frame && from == at + 9) {  // its length stood in the old frame, what it holds begins behind that
        frame_end = step.number <= bytes.size() - from ? from + static_cast<std::size_t>(step.number) : 0;
        at = from;
      }
      continue;
    }
    if (step.status != StepStatus::ok || std::byte{step.row->byte} == kStop) break;
    at = step.next;
    if (frame && frame_end == 0 && step.number <= view().size() - at) frame_end = at + static_cast<std::size_t>(step.number);
  }
  if (cuts == 0) return std::nullopt;
  return reading;
}

}  // namespace assay::pickle
