// SPDX-License-Identifier: Apache-2.0
// FlatBuffers, read in place through a schema that the caller knows by heart. All numbers little endian:
//
//   file    root table's position u32, file identifier 4 bytes, …
//   table   distance back to its vtable i32, fields …
//   vtable  its size u16, the table's size u16, position of field 0, 1, … within the table u16 each; 0 for a field that is not there
//   field   a number or struct in place; a vector, string or table as the distance u32 from the field to it
//   vector  count u32, elements; of tables as distances u32 from each element
//   union   a field with the kind u8, and the next field with the distance to a table or struct
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "assay/source.hpp"

namespace assay::flatbuffer {

struct Table {
  std::uint64_t at = 0;      ///< absolute
  std::uint64_t vtable = 0;  ///< absolute
  std::uint16_t vtable_size = 0, size = 0;
};

struct Vector {
  std::uint64_t at = 0;  ///< of the first element, absolute
  std::uint32_t count = 0;
};

/// Reads pages of the file as they are needed and keeps them. Every position is checked; all fail with `bad-header` where one leaves the
/// file, and as reading does.
class Reader {
 public:
  static constexpr std::uint64_t kPage = 16384;
  explicit Reader(const ByteSource& source) : source_(source) {}

  Result<Table> root();
  template <class T>
  Result<T> number(std::uint64_t at);
  Result<Table> table(std::uint64_t at);
  /// Where field `i` stands; nothing where the table has none.
  Result<std::optional<std::uint64_t>> field(const Table& table, unsigned i);
  /// A number, `otherwise` where it is not there.
  template <class T>
  Result<T> number_field(const Table& table, unsigned i, T otherwise = {});
  /// What the field refers to: a table's, vector's or string's position.
  Result<std::optional<std::uint64_t>> reference(const Table& table, unsigned i);
  /// Empty where it is not there. The elements, `element_size` bytes each, lie within the file.
  Result<Vector> vector_field(const Table& table, unsigned i, std::uint64_t element_size);
  Result<Vector> vector(std::uint64_t at, std::uint64_t element_size);
  /// Element i of a vector of tables.
  Result<Table> table_of(const Vector& vector, std::uint32_t i);
  Result<std::string> text(std::uint64_t at, std::uint32_t most);
  Result<std::string> text_field(const Table& table, unsigned i, std::uint32_t most);
  /// Element i of a vector of strings.
  Result<std::string> text_of(const Vector& vector, std::uint32_t i, std::uint32_t most);

 private:
  Result<void> copy(std::uint64_t at, std::span<std::byte> out);
  Result<std::uint64_t> follow(std::uint64_t at);

  const ByteSource& source_;
  std::map<std::uint64_t, ByteBlock> pages_;
};

}  // namespace assay::flatbuffer
