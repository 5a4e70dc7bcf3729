// SPDX-License-Identifier: Apache-2.0
#include "containers/flatbuffer.hpp"

#include <algorithm>
#include <cstring>

#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::flatbuffer {

Result<void> Reader::copy(std::uint64_t at, std::span<std::byte> out) {
  if (!within(at, out.size(), source_.size()))
    return fail(Error(Code::bad_header, concat("a position leads to byte ", at, ", the file has ", source_.size()))
                    .at(std::min(at, source_.size())));
  while (!out.empty()) {
    const std::uint64_t page = at / kPage * kPage;
    auto found = pages_.find(page);
    if (found == pages_.end()) {
      ASSAY_TRY(ByteBlock block, source_.fetch(page, std::min(kPage, source_.size() - page)));
      found = pages_.emplace(page, std::move(block)).first;
    }
    const ByteView view = found->second.view();
    const auto from = static_cast<std::size_t>(at - page), n = std::min(out.size(), view.size() - from);
    std::memcpy(out.data(), view.data() + from, n);
    out = out.subspan(n);
    at += n;
  }
  return {};
}

template <class T>
Result<T> Reader::number(std::uint64_t at) {
  std::byte bytes[sizeof(T)];
  ASSAY_CHECK(copy(at, bytes));
  return load_le<T>(bytes);
}

template <class T>
Result<T> Reader::number_field(const Table& table, unsigned i, T otherwise) {
  ASSAY_TRY(const auto at, field(table, i));
  return at ? number<T>(*at) : Result<T>(otherwise);
}

#define ASSAY_NUMBER(T)                                   \
  template Result<T> Reader::number<T>(std::uint64_t at); \
  template Result<T> Reader::number_field<T>(const Table& table, unsigned i, T otherwise);
ASSAY_NUMBER(std::uint8_t)
ASSAY_NUMBER(std::int8_t)
ASSAY_NUMBER(std::uint16_t)
ASSAY_NUMBER(std::uint32_t)
ASSAY_NUMBER(std::int32_t)
ASSAY_NUMBER(std::int64_t)
ASSAY_NUMBER(double)
#undef ASSAY_NUMBER

Result<std::uint64_t> Reader::follow(std::uint64_t at) {
  ASSAY_TRY(const std::uint32_t distance, number<std::uint32_t>(at));
  return at + distance;
}

Result<Table> Reader::table(std::uint64_t at) {
  Table table{.at = at};
  ASSAY_TRY(const std::int32_t back, number<std::int32_t>(at));
  const std::int64_t vtable = static_cast<std::int64_t>(at) - back;
  if (vtable < 0) return fail(Error(Code::bad_header, "a table's vtable stands before the file").at(at));
  table.vtable = static_cast<std::uint64_t>(vtable);
  ASSAY_TRY(table.vtable_size, number<std::uint16_t>(table.vtable));
  ASSAY_TRY(table.size, number<std::uint16_t>(table.vtable + 2));
  return table;
}

Result<Table> Reader::root() {
  ASSAY_TRY(const std::uint64_t at, follow(0));
  return table(at);
}

Result<std::optional<std::uint64_t>> Reader::field(const Table& table, unsigned i) {
  const std::uint64_t slot = 4 + 2 * std::uint64_t{i};
  if (slot + 2 > table.vtable_size) return std::nullopt;
  ASSAY_TRY(const std::uint16_t offset, number<std::uint16_t>(table.vtable + slot));
  if (offset == 0) return std::nullopt;
  return table.at + offset;
}

Result<std::optional<std::uint64_t>> Reader::reference(const Table& table, unsigned i) {
  ASSAY_TRY(const auto at, field(table, i));
  if (!at) return std::nullopt;
  ASSAY_TRY(const std::uint64_t to, follow(*at));
  return to;
}

Result<Vector> Reader::vector(std::uint64_t at, std::uint64_t element_size) {
  Vector vector;
  ASSAY_TRY(vector.count, number<std::uint32_t>(at));
  vector.at = at + 4;
  if (!within(vector.at, element_size * vector.count, source_.size()))
    return fail(Error(Code::bad_header, concat("a vector of ", vector.count, " elements of ", element_size, " bytes, ",
                                               source_.size() - std::min(vector.at, source_.size()), " bytes are left"))
                    .at(at));
  return vector;
}

Result<Vector> Reader::vector_field(const Table& table, unsigned i, std::uint64_t element_size) {
  ASSAY_TRY(const auto at, reference(table, i));
  return at ? vector(*at, element_size) : Result<Vector>(Vector());
}

Result<Table> Reader::table_of(const Vector& vector, std::uint32_t i) {
  ASSAY_TRY(const std::uint64_t at, follow(vector.at + 4 * std::uint64_t{i}));
  return table(at);
}

Result<std::string> Reader::text(std::uint64_t at, std::uint32_t most) {
  ASSAY_TRY(const Vector characters, vector(at, 1));
  std::string text(std::min(characters.count, most), '\0');
  ASSAY_CHECK(copy(characters.at, std::as_writable_bytes(std::span(text))));
  return text;
}

Result<std::string> Reader::text_field(const Table& table, unsigned i, std::uint32_t most) {
  ASSAY_TRY(const auto at, reference(table, i));
  return at ? text(*at, most) : Result<std::string>(std::string());
}

Result<std::string> Reader::text_of(const Vector& vector, std::uint32_t i, std::uint32_t most) {
  ASSAY_TRY(const std::uint64_t at, follow(vector.at + 4 * std::uint64_t{i}));
  return text(at, most);
}

}  // namespace assay::flatbuffer
