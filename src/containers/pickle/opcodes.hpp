// SPDX-License-Identifier: Apache-2.0
// The pickle opcodes as a table, and the step from one to the next. The machine and the disassembler both walk with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "assay/source.hpp"

namespace assay::pickle {

/// What follows an opcode's byte. Numbers are little endian except f8_be.
enum class Argument : std::uint8_t {
  none,
  u1,
  u2,
  u4,
  u8,
  i4,
  f8_be,      ///< a double, big endian
  line,       ///< text up to a newline
  two_lines,  ///< module and name, a line each
  len1,       ///< a length of 1 byte, then that many bytes
  len4,
  len4_signed,  ///< the same, but a negative length is malformed
  len8,
};

struct Opcode {
  std::uint8_t byte;
  std::string_view name;
  std::uint8_t protocol;  ///< that brought it
  Argument argument;
  std::string_view effect;  ///< on the stack, for people
};

/// The row of an opcode byte; nullptr when there is none.
const Opcode* find_opcode(std::byte byte);

enum class StepStatus : std::uint8_t { ok, unknown_opcode, truncated, negative_length };

/// One opcode of a stream. Positions count from the start of the view.
struct Step {
  StepStatus status = StepStatus::ok;
  const Opcode* row = nullptr;    ///< nullptr when the byte is no opcode or there is no byte
  std::size_t argument = 0;       ///< where the argument's content starts, behind its length
  std::size_t argument_size = 0;  ///< without length and last newline; two lines keep the newline between them
  std::size_t next = 0;           ///< where the next opcode starts
  std::uint64_t number = 0;       ///< the number of u1..u8, sign-extended for i4; the length of a counted argument
};

/// The opcode at `pos`. Cost: constant, but for lines, whose end is searched.
Step next_opcode(const ByteView& stream, std::size_t pos);

}  // namespace assay::pickle
