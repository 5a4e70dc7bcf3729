// SPDX-License-Identifier: Apache-2.0
#include "containers/npy.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/containers/zip_builder.hpp"

namespace assay::npy {
namespace {

using testing::append_number;
using testing::Bytes;
using testing::bytes_of;

Bytes npy(std::string_view header, int major = 1) {
  Bytes bytes = bytes_of(std::string_view("\x93NUMPY", 6));
  append_number(bytes, static_cast<std::uint64_t>(major), 1);
  append_number(bytes, 0, 1);
  append_number(bytes, header.size(), major == 1 ? 2 : 4);
  testing::append(bytes, bytes_of(header));
  return bytes;
}

Result<Header> parse(std::string_view header, int major = 1) {
  const Bytes bytes = npy(header, major);
  return parse_header(ByteView(bytes, 0), {});
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const auto header = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }          \n");
  ASSERT_TRUE(header);
  EXPECT_EQ(header->fields.at(0).type, "<f4");
  EXPECT_FALSE(header->structured);
  EXPECT_FALSE(header->fortran_order);
  EXPECT_EQ(header->shape, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(header->item_size, 4u);
  EXPECT_FALSE(header->has_objects);
  EXPECT_EQ(data_size(*header).value(), 48u);
}

TEST(Npy, ReadsPython2AndEveryOrderOfKeys) {
  const auto header = parse("{\"shape\": (5L,), u'fortran_order': True, 'descr': u'|b1'}\n");
  ASSERT_TRUE(header) << header.error().what();
  EXPECT_TRUE(header->fortran_order);
  EXPECT_EQ(header->shape, (std::vector<std::uint64_t>{5}));
  EXPECT_EQ(header->item_size, 1u);
}

TEST(Npy, LongHeadersHaveFourBytesOfLength) {
  const auto header = parse("{'descr': '|O', 'fortran_order': False, 'shape': ()}", 2);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->major, 2);
  EXPECT_TRUE(header->has_objects);
  EXPECT_TRUE(header->shape.empty());
}

TEST(Npy, Structures) {
  const auto header = parse("{'descr': [('a', '<f4'), (('title', 'b'), '<i2', (2, 3)), ('c', [('d', '|O'), ('e', '<U3')], 2)], "
                            "'fortran_order': False, 'shape': (7,)}");
  ASSERT_TRUE(header) << header.error().what();
  EXPECT_TRUE(header->structured);
  EXPECT_TRUE(header->has_objects);
  ASSERT_EQ(header->fields.size(), 4u);
  EXPECT_EQ(header->fields[1].name, "b");
  EXPECT_EQ(header->fields[1].offset, 4u);
  EXPECT_EQ(header->fields[1].nbytes, 12u);
  EXPECT_EQ(header->fields[1].shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(header->fields[3].name, "c.e");
  EXPECT_EQ(header->fields[3].offset, 24u);
  EXPECT_EQ(header->item_size, 4u + 12u + 2 * (8u + 12u));
}

TEST(Npy, TypeSizes) {
  for (const auto& [type, size] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"<f8", 8}, {"|S5", 5}, {"<U2", 8}, {"<M8[ns]", 8}, {"|V12", 12}, {"?", 1}, {">c16", 16}, {"|b1", 1}, {"<m8[25s]", 8}})
    EXPECT_EQ(type_size(type).value_or(999), size) << type;
  for (const std::string type : {"", "<", "f", "x4", "<f4[ns]", "<f99999999999", "__import__('os')"}) EXPECT_FALSE(type_size(type)) << type;
}

TEST(Npy, RefusesWhatIsNoHeader) {
  const std::vector<std::pair<std::string, Code>> cases = {
      {"", Code::bad_header},
      {"{}", Code::bad_header},
      {"{'descr': '<f4', 'fortran_order': False}", Code::bad_header},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", Code::bad_header},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", Code::bad_header},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", Code::bad_header},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} or exit()", Code::bad_header},
      {"{'descr': exit(), 'fortran_order': False, 'shape': (3,)}", Code::bad_header},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", Code::bad_shape},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", Code::bad_shape},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", Code::bad_shape},  // a number to Python
      {"{'descr': 'elephant', 'fortran_order': False, 'shape': (3,)}", Code::bad_dtype},
      {"{'descr': [('a', '<f4'", Code::bad_header},
      {"{'descr': [('a', '<f8', (4294967295, 4294967295, 4294967295))], 'fortran_order': False, 'shape': ()}", Code::shape_overflow},
  };
  for (const auto& [text, code] : cases) {
    const auto header = parse(text);
    ASSERT_FALSE(header) << text;
    EXPECT_EQ(header.error().code(), code) << text << ": " << header.error().what();
  }
}

TEST(Npy, OnlyVersionsThatNumpyReads) {
  for (const char minor : {'\0', '\1'}) {
    const Bytes bytes = bytes_of(std::string("\x93NUMPY\1", 7) + minor + std::string("\x08\0 \n      ", 10));
    const auto size = header_size(ByteView(bytes, 0));
    EXPECT_EQ(size.has_value(), minor == 0);
    if (!size) {
      EXPECT_EQ(size.error().code(), Code::bad_version);
      EXPECT_EQ(size.error().where().offset, 7u);
    }
  }
}

TEST(Npy, NestingIsBounded) {
  std::string type = "'<f4'";
  for (int i = 0; i < 40; ++i) type = "(" + type + ", (1,))";
  EXPECT_FALSE(parse("{'descr': " + type + ", 'fortran_order': False, 'shape': ()}"));
}

TEST(Npy, LengthsAreCheckedBeforeTheyAreBelieved) {
  Bytes bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 2);
  testing::put_number(bytes, 8, 0xffffffff, 4);
  EXPECT_EQ(parse_header(ByteView(bytes, 0), {}).error().code(), Code::limit_exceeded);
  testing::put_number(bytes, 8, 60000, 4);
  EXPECT_EQ(parse_header(ByteView(bytes, 0), {}).error().code(), Code::truncated);
  bytes.resize(9);
  EXPECT_EQ(parse_header(ByteView(bytes, 0), {}).error().code(), Code::truncated);
  const auto overflow = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}");
  ASSERT_TRUE(overflow);
  EXPECT_EQ(data_size(*overflow).error().code(), Code::shape_overflow);
}

}  // namespace
}  // namespace assay::npy
