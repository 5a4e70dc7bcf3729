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

constexpr std::array<const Opcode*, 256> kOpcodeOfByte = [] {
  std::array<const Opcode*, 256> rows{};
  for (const Opcode& row : kOpcodes) rows[row.byte] = &row;
  return rows;
}();

// Bytes of a fixed argument, or of the length before a counted one, in the order of Argument.
constexpr std::array<std::uint8_t, 13> kFixedSize = {0, 1, 2, 4, 8, 4, 8, 0, 0, 1, 4, 4, 8};

std::uint64_t load_number(const std::byte* p, std::size_t size) {
  switch (size) {
    case 1: return std::to_integer<std::uint64_t>(*p);
    case 2: return load_le<std::uint16_t>(p);
    case 4: return load_le<std::uint32_t>(p);
    default: return load_le<std::uint64_t>(p);
  }
}

constexpr std::uint64_t sign_extended(std::uint64_t number) {
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(number))});
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

// A counted argument whose length has been read.
void take_counted(const ByteView& stream, Step& step) {
  const std::size_t left = stream.size() - step.argument;
  step.argument_size = step.number > left ? left : static_cast<std::size_t>(step.number);
  step.next = step.argument + step.argument_size;
  if (step.row->argument == Argument::len4_signed && step.number >> 63) {
    step.status = StepStatus::negative_length;
    step.argument_size = 0;
    step.next = step.argument;
  } else if (step.number > left) {
    step.status = StepStatus::truncated;
  }
}

}  // namespace

const Opcode* find_opcode(std::byte byte) { return kOpcodeOfByte[std::to_integer<std::size_t>(byte)]; }

Step next_opcode(const ByteView& stream, std::size_t pos) {
  if (pos >= stream.size()) return {StepStatus::truncated, nullptr, pos, 0, pos, 0};
  const Opcode* row = find_opcode(stream[pos]);
  if (!row) return {StepStatus::unknown_opcode, nullptr, pos, 0, pos, 0};
  Step step{StepStatus::ok, row, pos + 1, 0, pos + 1, 0};
  const Argument argument = row->argument;
  if (argument == Argument::none) return step;
  if (argument == Argument::line || argument == Argument::two_lines) {
    take_lines(stream, step);
    return step;
  }
  const std::size_t left = stream.size() - step.argument;
  const std::size_t fixed = kFixedSize[static_cast<std::size_t>(argument)];
  if (fixed > left) return {StepStatus::truncated, row, step.argument, left, stream.size(), fixed};
  step.number = load_number(stream.data() + step.argument, fixed);
  if (argument == Argument::i4 || argument == Argument::len4_signed) step.number = sign_extended(step.number);
  step.next += fixed;
  if (argument < Argument::len1) {
    step.argument_size = fixed;
  } else {
    step.argument += fixed;
    take_counted(stream, step);
  }
  return step;
}

}  // namespace assay::pickle
