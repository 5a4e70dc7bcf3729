// SPDX-License-Identifier: Apache-2.0
// The header of a NumPy array file: what the data behind it is. Read with a grammar for this one kind of Python literal; nothing is
// evaluated.
//
//   93 "NUMPY"  major u8, minor u8, header size u16 (major 1) or u32 (2 and 3), header, data
//   header      {'descr': D, 'fortran_order': True | False, 'shape': (d, …), } and blanks up to a newline; Latin-1, in major 3 UTF-8
//   D           '<f4', or of a structured array [('name' or ('title', 'name'), D [, shape]), …], or of a sub-array (D, shape)
//   data        the elements, C or Fortran order; when the type holds Python objects ('O') a pickle instead
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/limits.hpp"
#include "assay/source.hpp"

namespace assay::npy {

/// One simple element type at its place in the item.
struct Field {
  std::string name;                  ///< dots between nested names; "" of an array that is not structured
  std::string type;                  ///< as written: "<f4", "|O", "<M8[ns]"
  std::vector<std::uint64_t> shape;  ///< of a sub-array; usually none
  std::uint64_t offset = 0;          ///< in the item, bytes; items are packed
  std::uint64_t nbytes = 0;          ///< sub-array included
};

struct Header {
  std::uint8_t major = 1, minor = 0;
  std::uint64_t data_offset = 0;  ///< of the data, from the magic
  std::vector<Field> fields;      ///< one where the array is not structured
  bool structured = false;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::uint64_t item_size = 0;  ///< bytes; without meaning where has_objects
  bool has_objects = false;     ///< the data is a pickle
};

/// True when the bytes start with the magic.
bool is_npy(ByteView head);

/// Bytes from the magic to the data, told by the first 12 bytes (or all there are). Fails with `bad-header`, `truncated`,
/// `bad-version` (major not 1 to 3), `limit-exceeded` (a header above 1 MiB).
Result<std::uint64_t> header_size(ByteView head);

/// Reads the header from bytes that hold at least header_size() of them. Fails as that does, and with `bad-header`, `bad-shape`,
/// `bad-dtype`.
Result<Header> parse_header(ByteView bytes, const Limits& limits);

/// The same, from a file that starts with the magic.
Result<Header> read_header(const ByteSource& source, const Limits& limits);

/// Bytes of one element of a simple type: "<f4" 4, "<U3" 12, "|V5" 5, "|O" 8. Fails with `bad-dtype`.
Result<std::uint64_t> type_size(std::string_view type);

/// Bytes of the data: item_size times the elements. Fails with `shape-overflow`. Precondition: !has_objects.
Result<std::uint64_t> data_size(const Header& header);

}  // namespace assay::npy
