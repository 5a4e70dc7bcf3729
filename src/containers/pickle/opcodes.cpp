// SPDX-License-Identifier: Apache-2.0
#include "containers/pickle/opcodes.hpp"

#include <array>
#include <cstring>

#include "base/endian.hpp"

namespace assay::pickle {

namespace {

constexpr Opcode kOpcodes[] = {
#define ASSAY_PICKLE_OPCODE(byte, id, name, protocol, argument, effect) {byte, name, protocol, Argument::argument, effect},
#include "containers/pickle/opcodes.def"
#undef ASSAY_PICKLE_OPCODE
};

constexpr std::uint8_t kNoRow = 0xff;

constexpr std::array<std::uint8_t, 256> kRowOfByte = [] {
  std::array<std::uint8_t, 256> rows{};
  rows.fill(kNoRow);
  for (std::size_t i = 0; i < std::size(kOpcodes); ++i) rows[kOpcodes[i].byte] = static_cast<std::uint8_t>(i);
  return rows;
}();

// Bytes of a fixed argument, or of the length before a counted one.
constexpr std::size_t fixed_size(Argument argument) {
  constexpr std::uint8_t kSizes[] = {0, 1, 2, 4, 8, 4, 8, 0, 0, 1, 4, 4, 8};
  return kSizes[static_cast<std::size_t>(argument)];
}

std::uint64_t load_number(const std::byte* p, Argument argument) {
  switch (argument) {
    case Argument::u1:
    case Argument::len1:
      return std::to_integer<std::uint8_t>(*p);
    case Argument::u2:
      return load_le<std::uint16_t>(p);
    case Argument::u4:
    case Argument::len4:
      return load_le<std::uint32_t>(p);
    case Argument::i4:
    case Argument::len4_signed:
      return static_cast<std::uint64_t>(std::int64_t{load_le<std::int32_t>(p)});
    case Argument::u8:
    case Argument::len8:
      return load_le<std::uint64_t>(p);
    default:
      return 0;
  }
}

// Position of the newline at or behind `pos`; the view's size when there is none.
std::size_t find_newline(ByteView stream, std::size_t pos) {
  if (pos >= stream.size()) return stream.size();
  const void* found = std::memchr(stream.data() + pos, '\n', stream.size() - pos);
  return found ? static_cast<std::size_t>(static_cast<const std::byte*>(found) - stream.data()) : stream.size();
}

void take_lines(ByteView stream, Step& step) {
  std::size_t end = find_newline(stream, step.argument);
  if (step.row->argument == Argument::two_lines && end < stream.size()) end = find_newline(stream, end + 1);
  step.argument_size = end - step.argument;
  step.next = end + 1;
  if (end == stream.size()) {
    step.status = StepStatus::truncated;
    step.next = end;
  }
}

}  // namespace

const Opcode* find_opcode(std::byte byte) {
  const std::uint8_t row = kRowOfByte[std::to_integer<std::size_t>(byte)];
  return row == kNoRow ? nullptr : &kOpcodes[row];
}

Step next_opcode(ByteView stream, std::size_t pos) {
  Step step;
  step.next = pos;
  if (pos >= stream.size()) {
    step.status = StepStatus::truncated;
    return step;
  }
  step.row = find_opcode(stream[pos]);
  if (!step.row) {
    step.status = StepStatus::unknown_opcode;
    return step;
  }
  const Argument argument = step.row->argument;
  step.argument = pos + 1;
  if (argument == Argument::line || argument == Argument::two_lines) {
    take_lines(stream, step);
    return step;
  }
  std::size_t left = stream.size() - step.argument;
  const std::size_t fixed = fixed_size(argument);
  if (fixed > left) {
    step.argument_size = left;
    step.number = fixed;
    step.status = StepStatus::truncated;
    step.next = stream.size();
    return step;
  }
  step.number = load_number(stream.data() + step.argument, argument);
  if (argument < Argument::len1) {
    step.argument_size = fixed;
    step.next = step.argument + fixed;
    return step;
  }
  step.argument += fixed;
  left -= fixed;
  if (argument == Argument::len4_signed && step.number >> 63) {
    step.status = StepStatus::negative_length;
    return step;
  }
  if (step.number > left) {
    step.argument_size = left;
    step.status = StepStatus::truncated;
    step.next = stream.size();
    return step;
  }
  step.argument_size = static_cast<std::size_t>(step.number);
  step.next = step.argument + step.argument_size;
  return step;
}

}  // namespace assay::pickle
