// SPDX-License-Identifier: Apache-2.0
// What is taken for a pickle and what is not; NumPy headers made by hand.
#include "unit/containers/tar_builder.hpp"
#include "unit/formats/formats_testing.hpp"
#include "unit/formats/torch_builder.hpp"

namespace assay::test {
namespace {

using assay::testing::error_code;
using assay::testing::message_of;
using assay::testing::open_file_named;
using std::string_literals::operator""s;

TEST(PlainPickle, TextIsNone) {
  for (const char* const text : {"class Net:\n    pass\n.", "(hello, world).\n", "collections of\nthings.\n", "[1, 2, 3].", "{\"a\": 1}",
                                 "likely text.", "]unbalanced.", "N.", "(", "I1\n."}) {
    const auto opened = open_file_named("m.pkl", text);
    EXPECT_FALSE(opened) << text;
  }
  EXPECT_EQ(error_code(open_file_named("m.pkl", "class Net:\n    def forward(self):\n        return 1.\n")), Code::text_document);
  EXPECT_EQ(error_code(open_file_named("m.pkl", "[\"a\", 1.0]")), Code::json_document);
}

TEST(PlainPickle, OldProtocolsAreKnownByParsing) {
  for (const std::string& pickle :
       {"(dp0\nVa\nI1\ns."s, "(lp0\nI1\na."s, "}(U\1aK\1u."s, "ccollections\nOrderedDict\n(tR."s, "(lp0\n.\n"s}) {
    const auto opened = open_file_named("m.pkl", pickle);
    ASSERT_TRUE(opened) << pickle << ' ' << opened.error().what();
    EXPECT_EQ(opened->format, "pickle");
    EXPECT_TRUE(opened->complete);
    EXPECT_TRUE(opened->findings.has(Code::no_tensors));
  }
  std::string large = "(lp0\n";
  for (int i = 0; i < 3000; ++i) large += "I" + std::to_string(i) + "\na";
  EXPECT_TRUE(open_file_named("m.pkl", large + "."));
  EXPECT_FALSE(open_file_named("m.pkl", large + "x"));
}

TEST(PlainPickle, WhatFollowsIsTold) {
  EXPECT_EQ(message_of(open_file_named("m.pkl", "\x80\x02]q\0.\x80\x02]q\0."s), Code::extra_pickle),
            "6 bytes behind the pickle's end, another pickle");
  EXPECT_EQ(message_of(open_file_named("m.pkl", "\x80\x02]q\0.xyz"s), Code::unparsed_bytes),
            "3 bytes behind the pickle's end, not a pickle");
}

// One key, written once, above many values: the names that are put together must not cost much more than the file.
TEST(PlainPickle, NamesThatAFewBytesMakeLongAreBounded) {
  constexpr int kDepth = 1500, kLeaves = 5000;
  std::string pickle = "\x80\x02}X\x1e\0\0\0"s + std::string(30, 'a') + "q\0}"s;
  for (int i = 1; i < kDepth; ++i) pickle += "h\0}"s;
  pickle += "(";
  for (int i = 0; i < kLeaves; ++i) pickle += concat("I", i, "\nK\1");
  pickle += "u" + std::string(kDepth, 's') + ".";
  const auto opened = open_file_named("m.pkl", pickle);
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->complete);
  EXPECT_NE(message_of(opened, Code::limit_exceeded).find("together exceed"), std::string::npos)
      << message_of(opened, Code::limit_exceeded);
  std::size_t bytes = 0;
  for (const MetadataEntry& entry : opened->metadata) bytes += entry.key.size();
  EXPECT_LT(bytes, std::size_t{20} << 20);
}

// One long text under many names is shown with each: the same goes for texts.
TEST(PlainPickle, TextsThatManyNamesShareAreBounded) {
  constexpr std::uint32_t kLong = 60'000, kNames = 5000;
  std::string pickle = "\x80\x02X\x60\xea\0\0"s + std::string(kLong, 'a') + "q\0"s + "0}(";
  for (std::uint32_t i = 0; i < kNames; ++i) pickle += concat("I", i, "\nh") + '\0';
  const auto opened = open_file_named("m.pkl", pickle + "u.");
  ASSERT_TRUE(opened);
  EXPECT_NE(message_of(opened, Code::limit_exceeded).find("together exceed"), std::string::npos);
  std::size_t bytes = 0;
  for (const MetadataEntry& entry : opened->metadata) bytes += entry.text.size();
  EXPECT_GT(bytes, kLong);
  EXPECT_LT(bytes, std::size_t{20} << 20);
}

TEST(PlainPickle, APickleWithoutItsArchiveListsItsTensors) {
  const auto opened = open_file_named("data.pkl", dict({{"w", tensor()}}) + ".");
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->find("w")->readable);
  EXPECT_EQ(message_of(opened, Code::missing_storage), "storage '0' is not in the file: a pickle taken out of its archive");
}

TEST(PlainPickle, BrokenOnesListWhatCameBefore) {
  const auto opened = open_file_named("m.pkl", "\x80\x02}(U\1aK\1U\1bK\2R"s);
  ASSERT_TRUE(opened) << opened.error().what();
  EXPECT_FALSE(opened->complete);
  EXPECT_TRUE(opened->findings.has(Code::malformed_pickle));
  EXPECT_TRUE(metadata(*opened, "a"));
  EXPECT_EQ(error_code(open_file_named("m.pkl", "\x80\x02R"s)), Code::malformed_pickle);
}

TEST(PlainPickle, EmbeddedBytesThatAreNoStreamAreRefusedAlone) {
  const std::string embedded = global("torch.storage", "_load_from_bytes") + "(" + text("no stream") + "tR";
  const auto opened = open_file_named("m.pkl", dict({{"w", tensor({.storage = embedded})}, {"s", embedded}, {"n", "I5\n"}}) + ".");
  ASSERT_TRUE(opened) << opened.error().what();
  EXPECT_EQ(names_of(*opened), (std::vector<std::string>{"w", "s"}));
  EXPECT_FALSE(opened->find("w")->readable || opened->find("s")->readable);
  EXPECT_EQ(metadata(*opened, "n")->integer, 5);
}

TEST(PlainPickle, AnArrayInTwoPlacesHasItsBytesOnce) {
  const std::string type = global("numpy", "dtype") + "(" + text("f4") + "I00\nI01\ntR(I3\n" + text("<") + "NNNI-1\nI-1\nI0\ntb";
  const std::string array = global("numpy.core.multiarray", "_reconstruct") + "(" + global("numpy", "ndarray") +
                            "(I0\ntS'b'\ntR(I1\n(I2\nt" + type + "I00\nS'" + R"(\x00\x00\x80?\x00\x00\x00@)" + "'\ntbp9\n";
  const auto opened = open_file_named("m.pkl", dict({{"best", array}, {"last", "g9\n"}}) + ".");
  ASSERT_TRUE(opened) << opened.error().what();
  ASSERT_EQ(names_of(*opened), (std::vector<std::string>{"best", "last"}));
  EXPECT_EQ(opened->tensors[0].storage, opened->tensors[1].storage);
  EXPECT_EQ(opened->storages.size(), 1u);
}

std::string npy(std::string_view header, std::string_view data) {
  std::string file = "\x93NUMPY\x01\0"s;
  file += {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return file + std::string(header) + std::string(data);
}

TEST(Npy, TypesWithoutValuesAreListedUnreadable) {
  for (const char* const type : {"'<U2'", "'|S3'", "'<M8[ns]'", "[('x', '<f4'), ('y', '<i2')]", "('<f4', (2,))", "'|V2'"}) {
    const auto opened =
        open_file_named("a.npy", npy(concat("{'descr': ", type, ", 'fortran_order': False, 'shape': (1,), }\n"), std::string(8, '\0')));
    ASSERT_TRUE(opened) << type;
    EXPECT_TRUE(opened->complete);
    EXPECT_FALSE(opened->find("array")->readable);
    EXPECT_EQ(assay::testing::find(*opened, Code::unknown_dtype)->severity, Severity::warning);
  }
}

TEST(Npy, DataThatIsCutOrTooLongIsTold) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n";
  EXPECT_EQ(message_of(open_file_named("a.npy", npy(header, std::string(11, 'x'))), Code::truncated),
            "the array needs 12 bytes of data, 11 are there");
  EXPECT_EQ(message_of(open_file_named("a.npy", npy(header, std::string(13, 'x'))), Code::trailing_bytes), "1 byte behind the last array");
  const std::string huge = "{'descr': '<f4', 'fortran_order': True, 'shape': (4611686018427387904, 4611686018427387904), }\n";
  EXPECT_TRUE(open_file_named("a.npy", npy(huge, ""))->findings.has(Code::shape_overflow));
  const std::string empty = "{'descr': '<f4', 'fortran_order': True, 'shape': (4611686018427387904, 4611686018427387904, 0), }\n";
  EXPECT_TRUE(open_file_named("a.npy", npy(empty, ""))->find("array")->readable);
}

TEST(Npz, OneBadMemberDoesNotHideTheOthers) {
  ZipBuilder zip;
  zip.add({.name = "bad.npy", .data = bytes_of("no array")});
  zip.add({.name = "good.npy", .data = bytes_of(npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n", "\1\0\2\0"s))});
  const auto bytes = zip.build();
  const auto opened = open_file_named("a.npz", std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  ASSERT_TRUE(opened) << opened.error().what();
  EXPECT_EQ(opened->format, "npz");
  EXPECT_FALSE(opened->complete);
  EXPECT_FALSE(opened->find("bad")->readable);
  EXPECT_TRUE(opened->find("good")->readable);
}

TEST(TorchTar, OtherTarsAreNone) {
  EXPECT_EQ(error_code(open_file_named("m.tar", std::string(257, 'x') + "ustar" + std::string(250, '\0'))), Code::tar_archive);
}

// Cut behind a member nothing looks broken, but for the zeros that should end the archive.
TEST(TorchTar, ACutBetweenMembersIsACut) {
  const auto numbers = [](std::initializer_list<std::int64_t> values) {
    std::string out(8 * values.size(), '\0');
    std::memcpy(out.data(), std::data(values), out.size());
    return out;
  };
  const std::string tensors = "I1\n.(I10\nI1\n" + global("torch", "FloatTensor") + "t." + "\1\0\0\0\xde\xad\xbe\xef"s + numbers({2, 1, 0});
  const std::string storages = "I1\n.(I1\n" + text("cpu") + global("torch", "FloatStorage") + "t." + numbers({2, 0}) + "(l.";
  testing::TarBuilder tar;
  tar.file("sys_info", "(d.").file("pickle", dict({{"a", "P10\n"}}) + ".");
  std::string file(reinterpret_cast<const char*>(tar.bytes.data()), tar.bytes.size());
  EXPECT_EQ(error_code(open_file_named("m.tar", file.substr(0, 1024))), Code::truncated);
  for (const auto& [member, data] : {std::pair("tensors", tensors), std::pair("storages", storages)}) {
    const auto cut = open_file_named("m.tar", file);
    ASSERT_TRUE(cut) << cut.error().what();
    EXPECT_FALSE(cut->complete);
    EXPECT_TRUE(cut->findings.has(Code::truncated)) << member;
    EXPECT_FALSE(cut->findings.has(Code::bad_header) || cut->findings.has(Code::missing_storage)) << codes_of(*cut);
    tar.file(member, data);
    file.assign(reinterpret_cast<const char*>(tar.bytes.data()), tar.bytes.size());
  }
  const auto whole = open_file_named("m.tar", file);  // what ends the archive only is missing
  ASSERT_TRUE(whole) << whole.error().what();
  EXPECT_TRUE(whole->complete) << codes_of(*whole);
  EXPECT_TRUE(whole->find("a")->readable);
}

}  // namespace
}  // namespace assay::test
