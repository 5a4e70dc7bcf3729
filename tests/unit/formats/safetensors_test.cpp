// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "formats/safetensors.hpp"
#include "unit/formats/formats_testing.hpp"

namespace assay::testing {
namespace {

using std::string_literals::operator""s;

/// A file of this header and this much data, opened as model.safetensors.
Result<Checkpoint> open_header(std::string_view header, std::size_t data_size) {
  return open_file_named("model.safetensors", safetensors(header, data_size));
}

std::string in_braces(std::initializer_list<std::string> entries) {
  std::string out = "{";
  for (const std::string& entry : entries) out += (out.size() > 1 ? "," : "") + entry;
  return out + "}";
}

bool readable(const Result<Checkpoint>& result, std::string_view name) {
  const Tensor* tensor = result ? result->find(name) : nullptr;
  return tensor && tensor->readable;
}

TEST(Safetensors, ListsTensorsAndMetadata) {
  const auto opened =
      open_header(in_braces({R"("__metadata__":{"format":"pt"})", entry("w", "F32", "2,2", 0, 16), entry("b", "BF16", "2", 16, 20)}), 20);
  ASSERT_TRUE(opened) << opened.error().what();
  EXPECT_EQ(opened->format, "safetensors");
  EXPECT_TRUE(opened->complete);
  EXPECT_TRUE(opened->findings.empty()) << describe(opened);
  ASSERT_EQ(opened->tensors.size(), 2u);
  const Tensor& b = opened->tensors[1];
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.dtype, DType::bf16);
  EXPECT_EQ(b.numel, 2u);
  EXPECT_EQ(opened->file_offset(b), opened->files[0].size - 4);
  ASSERT_EQ(opened->metadata.size(), 1u);
  EXPECT_EQ(opened->metadata[0].key, "format");
  EXPECT_EQ(opened->metadata[0].text, "pt");
}

TEST(Safetensors, ADownloadThatStartedOverIsNotTheFile) {
  const auto whole = safetensors(in_braces({entry("a", "U8", "300", 0, 300), entry("b", "U8", "500", 300, 800)}), 800);
  for (const std::size_t cut : {whole.size() - 501, whole.size() - 500, whole.size() - 100}) {
    const auto opened = open_file_named("model.safetensors", whole.substr(0, cut) + whole);
    ASSERT_TRUE(opened);
    EXPECT_FALSE(opened->complete);
    EXPECT_NE(message_of(opened, Code::trailing_bytes).find(concat("tail -c +", cut + 1, " ")), std::string::npos) << describe(opened);
    EXPECT_EQ(readable(opened, "a"), cut >= whole.size() - 500);
    EXPECT_FALSE(readable(opened, "b"));
  }
  // Other bytes behind it are only too many.
  const auto opened = open_file_named("model.safetensors", whole + whole.substr(1));
  EXPECT_TRUE(opened->complete);
  EXPECT_TRUE(readable(opened, "b"));
}

TEST(Safetensors, KnowsEveryDtypeOfTheFormatAndNoOther) {
  for (const auto& [name, bits] :
       {std::pair{"BOOL", 8}, {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
        {"F8_E5M2", 8},       {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
        {"U16", 16},          {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
        {"C64", 64},          {"F64", 64},    {"I64", 64},    {"U64", 64}}) {
    const std::uint64_t nbytes = static_cast<std::uint64_t>(bits);  // of eight elements
    const auto opened = open_header(in_braces({entry("w", name, "8", 0, nbytes)}), nbytes);
    EXPECT_TRUE(readable(opened, "w")) << name << describe(opened);
  }
  for (const char* name : {"C128", "QI8", "UNKNOWN", "f32", "F32 "}) {
    const auto opened = open_header(in_braces({entry("w", name, "8", 0, 8)}), 8);
    EXPECT_NE(message_of(opened, Code::unknown_dtype), "") << name;
    EXPECT_FALSE(readable(opened, "w"));
  }
}

TEST(Safetensors, UnknownDtypeIsAWarningWithASize) {
  const auto opened = open_header(in_braces({entry("q", "Q4_X", "8", 0, 4), entry("w", "U8", "4", 4, 8)}), 8);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->complete);
  EXPECT_EQ(message_of(opened, Code::unknown_dtype), "unknown dtype 'Q4_X'; its data is 4 bytes");
  EXPECT_EQ(opened->find("q")->numel, 8u);
  EXPECT_TRUE(readable(opened, "w"));
}

TEST(Safetensors, EmptyDtypeIsDamageAndHidesNobody) {
  const auto opened = open_header(in_braces({entry("h", "", "", 0, 0), entry("w", "U8", "1", 0, 1)}), 1);
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->complete);
  EXPECT_EQ(message_of(opened, Code::bad_dtype), "the dtype is empty");
  EXPECT_TRUE(readable(opened, "w"));
}

TEST(Safetensors, ScalarsAndEmptyTensorsAreFine) {
  const auto opened =
      open_header(in_braces({entry("z", "F32", "0", 0, 0), entry("z2", "F32", "3,0,2", 0, 0), entry("s", "F32", "", 0, 4)}), 4);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->findings.empty()) << describe(opened);
  EXPECT_EQ(opened->find("s")->numel, 1u);
  EXPECT_EQ(opened->find("z2")->numel, 0u);
}

TEST(Safetensors, AnEmptyTensorStandsWhereOthersBeginOrEnd) {
  const std::string a = entry("a", "U8", "8", 0, 8), b = entry("b", "U8", "4", 8, 12);
  for (const std::uint64_t at : {0, 8, 12}) {
    const auto fine = open_header(in_braces({a, entry("z", "F32", "0", at, at), b}), 12);
    EXPECT_TRUE(fine->findings.empty()) << at << describe(fine);
  }
  const auto within = open_header(in_braces({a, b, entry("z", "F32", "3,0", 4, 4)}), 12);
  EXPECT_TRUE(within->complete);
  EXPECT_TRUE(readable(within, "z"));
  EXPECT_EQ(message_of(within, Code::overlap),
            "'z' [4, 4) is empty and stands where no tensor begins or ends; the reference reader refuses such a file");
  EXPECT_FALSE(within->findings.any_at_least(Severity::damage));
}

TEST(Safetensors, TruncatedFileTellsWhatIsWhole) {
  const std::string whole = safetensors(in_braces({entry("w", "U8", "8", 0, 8), entry("b", "U8", "2000", 8, 2008)}), 2008);
  const auto opened = open_file_named("model.safetensors", std::string_view(whole).substr(0, whole.size() - 5));
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->complete);
  EXPECT_EQ(message_of(opened, Code::truncated), concat("the header promises ", grouped(whole.size()), " bytes, the file has ",
                                                        grouped(whole.size() - 5), "; 1 of 2 tensors are whole, lost: 'b'"));
  EXPECT_TRUE(readable(opened, "w"));
  EXPECT_FALSE(readable(opened, "b"));
  const Finding* finding = find(*opened, Code::truncated);
  EXPECT_EQ(finding->where.tensor, "b");
  EXPECT_EQ(finding->where.offset, whole.size() - 5);
  EXPECT_EQ(std::get<std::uint64_t>(finding->facts[2].value), 5u);
}

TEST(Safetensors, OverlapGapAndTrailingBytes) {
  const auto overlap = open_header(in_braces({entry("a", "U8", "8", 0, 8), entry("b", "U8", "8", 4, 12)}), 12);
  EXPECT_EQ(message_of(overlap, Code::overlap), "'b' [4, 12) overlaps 'a' [0, 8)");
  EXPECT_FALSE(overlap->complete);

  // One that covers several others, none of which touch.
  const auto cover = open_header(in_braces({entry("a", "U8", "12", 0, 12), entry("b", "U8", "2", 2, 4), entry("c", "U8", "2", 8, 10)}), 12);
  EXPECT_EQ(cover->findings.counts().at(Code::overlap), 2u);

  const auto gap = open_header(in_braces({entry("b", "U8", "4", 8, 12), entry("a", "U8", "4", 0, 4)}), 12);
  ASSERT_TRUE(gap);
  EXPECT_EQ(message_of(gap, Code::gap), "4 bytes before 'b' belong to no tensor");
  EXPECT_EQ(find(*gap, Code::gap)->where.offset, gap->files[0].size - 8);
  EXPECT_TRUE(gap->complete);

  const auto trailing = open_header(in_braces({entry("a", "U8", "4", 0, 4)}), 20);
  EXPECT_EQ(message_of(trailing, Code::trailing_bytes), "16 bytes behind the last tensor");
  EXPECT_TRUE(trailing->complete);
}

TEST(Safetensors, SizesThatCannotBe) {
  EXPECT_EQ(message_of(open_header(in_braces({entry("w", "F32", "3,3", 0, 16)}), 16), Code::size_mismatch),
            "shape [3, 3] of F32 needs 36 bytes, data_offsets [0, 16) hold 16");
  EXPECT_NE(message_of(open_header(in_braces({entry("w", "F4", "3", 0, 2)}), 2), Code::size_mismatch), "");
  EXPECT_NE(message_of(open_header(in_braces({entry("w", "U8", "2,18446744073709551614", 0, 4)}), 4), Code::shape_overflow), "");
  EXPECT_NE(message_of(open_header(in_braces({entry("w", "F32", "4611686018427387904", 0, 4)}), 4), Code::shape_overflow), "");
  // Multiplied from the left, a zero in front saves what follows, one behind does not.
  EXPECT_EQ(message_of(open_header(in_braces({entry("w", "U8", "0,9223372036854775808,4", 0, 0)}), 0), Code::shape_overflow), "");
  EXPECT_NE(message_of(open_header(in_braces({entry("w", "U8", "9223372036854775808,4,0", 0, 0)}), 0), Code::shape_overflow), "");
  EXPECT_EQ(message_of(open_header(in_braces({entry("w", "U8", "4", 8, 4)}), 8), Code::bad_header), "data_offsets [8, 4] run backwards");
  EXPECT_NE(message_of(open_header(in_braces({entry("w", "U8", "1", 18446744073709551614u, 18446744073709551615u)}), 8), Code::bad_header),
            "");
}

TEST(Safetensors, DuplicateNamesAlsoThroughEscapes) {
  EXPECT_EQ(message_of(open_header(in_braces({entry("k", "U8", "4", 0, 4), entry("k", "U8", "4", 4, 8)}), 8), Code::duplicate_name),
            "the name 'k' appears twice: entries 0 and 1");
  EXPECT_NE(message_of(open_header(in_braces({entry("k", "U8", "4", 0, 4), entry("\\u006b", "U8", "4", 4, 8)}), 8), Code::duplicate_name),
            "");
  const auto same_range = open_header(in_braces({entry("k", "U8", "4", 0, 4), entry("k", "I8", "4", 0, 4)}), 4);
  EXPECT_NE(message_of(same_range, Code::duplicate_name), "");
  EXPECT_EQ(message_of(same_range, Code::overlap), "");
}

TEST(Safetensors, EntriesOfAWrongFormAreToldAndTheOthersListed) {
  const std::string good = entry("good", "U8", "1", 0, 1);
  const struct {
    const char* entry;
    Code code;
  } kCases[] = {
      {R"("w":{"dtype":"U8","shape":[1.0],"data_offsets":[1,2]})", Code::bad_shape},
      {R"("w":{"dtype":"U8","shape":[-1],"data_offsets":[1,2]})", Code::bad_shape},
      {R"("w":{"dtype":"U8","shape":["1"],"data_offsets":[1,2]})", Code::bad_shape},
      {R"("w":{"dtype":"U8","shape":[[1]],"data_offsets":[1,2]})", Code::bad_shape},
      {R"("w":{"dtype":"U8","shape":{},"data_offsets":[1,2]})", Code::bad_shape},
      {R"("w":{"dtype":"U8","shape":1,"data_offsets":[1,2]})", Code::bad_shape},
      {R"("w":{"dtype":8,"shape":[1],"data_offsets":[1,2]})", Code::bad_dtype},
      {R"("w":{"dtype":["U8"],"shape":[1],"data_offsets":[1,2]})", Code::bad_dtype},
      {R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,2.0]})", Code::bad_header},
      {R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,1e1]})", Code::bad_header},
      {R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1]})", Code::bad_header},
      {R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,2,3]})", Code::bad_header},
      {R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,18446744073709551616]})", Code::bad_header},
      {R"("w":{"dtype":"U8","shape":[1],"data_offsets":null})", Code::bad_header},
      {R"("w":{"dtype":"U8","shape":[1]})", Code::bad_header},
      {R"("w":{"shape":[1],"data_offsets":[1,2]})", Code::bad_header},
      {R"("w":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[1,2]})", Code::bad_header},
      {R"("w":["U8",[1],[1,2]])", Code::bad_header},
      {R"("w":null)", Code::bad_header},
      {R"("w":3)", Code::bad_header},
      {R"("w":"U8")", Code::bad_header},
  };
  for (const auto& [text, code] : kCases) {
    const auto opened = open_header(in_braces({good, text}), 2);
    ASSERT_TRUE(opened) << text << describe(opened);
    EXPECT_FALSE(opened->complete) << text;
    EXPECT_NE(message_of(opened, code), "") << text << '\n' << describe(opened);
    EXPECT_TRUE(readable(opened, "good")) << text;
    ASSERT_TRUE(opened->find("w")) << text;
    EXPECT_FALSE(readable(opened, "w")) << text;
    EXPECT_EQ(message_of(opened, Code::trailing_bytes), "") << text;
  }
}

TEST(Safetensors, UnknownFieldsAreIgnored) {
  const auto opened = open_header(R"({"w":{"note":{"a":[1,{"shape":[9]}]},"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1);
  EXPECT_TRUE(readable(opened, "w")) << describe(opened);
  EXPECT_TRUE(opened->findings.empty());
}

TEST(Safetensors, MetadataOfOtherKindsIsShownWithAWarning) {
  const auto opened = open_header(
      R"({"__metadata__":{"epoch":3,"lr":0.5,"ok":true,"none":null,"list":[1, {"a":2}],"big":99999999999999999999,"t":"x\n"}})", 0);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->complete);
  EXPECT_EQ(opened->findings.counts().at(Code::bad_metadata), 6u);
  ASSERT_EQ(opened->metadata.size(), 7u);
  EXPECT_EQ(opened->metadata[0].integer, 3);
  EXPECT_EQ(opened->metadata[1].real, 0.5);
  EXPECT_TRUE(opened->metadata[2].boolean);
  EXPECT_EQ(opened->metadata[3].kind, MetadataEntry::Kind::null);
  EXPECT_EQ(opened->metadata[4].text, R"([1, {"a":2}])");
  EXPECT_EQ(opened->metadata[4].kind, MetadataEntry::Kind::json);
  EXPECT_EQ(opened->metadata[5].text, "99999999999999999999");
  EXPECT_EQ(opened->metadata[6].text, "x\n");
}

TEST(Safetensors, MetadataMayBeAbsentEmptyOrNull) {
  for (const char* metadata : {R"("__metadata__":{})", R"("__metadata__":null)"}) {
    const auto opened = open_header(in_braces({metadata, entry("w", "U8", "1", 0, 1)}), 1);
    ASSERT_TRUE(opened);
    EXPECT_TRUE(opened->findings.empty()) << describe(opened);
  }
  EXPECT_NE(message_of(open_header(R"({"__metadata__":3})", 0), Code::bad_metadata), "");
  EXPECT_NE(message_of(open_header(R"({"__metadata__":[1]})", 0), Code::bad_metadata), "");
  EXPECT_NE(message_of(open_header(R"({"__metadata__":[{"a":1},[2]]})", 0), Code::bad_metadata), "");
  EXPECT_NE(message_of(open_header(R"({"__metadata__":{},"__metadata__":{}})", 0), Code::duplicate_name), "");
}

TEST(Safetensors, ATensorNamedMetadata) {
  const auto opened = open_header(in_braces({entry("__metadata__", "U8", "2", 0, 2), entry("w", "U8", "1", 2, 3)}), 3);
  ASSERT_TRUE(opened);
  EXPECT_NE(message_of(opened, Code::reserved_name), "");
  EXPECT_TRUE(readable(opened, "__metadata__"));
  EXPECT_TRUE(opened->metadata.empty());
}

TEST(Safetensors, NamesAreKeptWhole) {
  const auto opened = open_header(in_braces({entry("a", "U8", "1", 0, 1), entry("a\\u0000hidden", "U8", "1", 1, 2),
                                             entry("e\\u202e", "U8", "1", 2, 3), entry("\\\\", "U8", "1", 3, 4)}),
                                  4);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->tensors[1].name, "a\0hidden"s);
  EXPECT_EQ(opened->findings.counts().at(Code::odd_name), 2u) << describe(opened);
  EXPECT_EQ(message_of(opened, Code::duplicate_name), "");
  EXPECT_EQ(opened->tensors[3].name, "\\");
  EXPECT_NE(message_of(open_header(in_braces({entry("", "U8", "1", 0, 1)}), 1), Code::odd_name), "");
}

TEST(Safetensors, PaddingOfTheHeader) {
  const std::string header = in_braces({entry("w", "U8", "1", 0, 1)});
  EXPECT_TRUE(open_header(header + " \n\t ", 1)->findings.empty());
  const auto leading = open_header("  " + header, 1);
  EXPECT_TRUE(leading->complete);
  EXPECT_NE(message_of(leading, Code::odd_header), "");
  const auto nul = open_header(header + "\0\0\0"s, 1);
  EXPECT_TRUE(nul->complete);
  EXPECT_EQ(message_of(nul, Code::odd_header), "the header is padded with 3 NUL bytes; the reference reader refuses them");
  EXPECT_TRUE(nul->findings.any_at_least(Severity::warning));
  EXPECT_FALSE(leading->findings.any_at_least(Severity::warning)) << "the reference reader takes them";
  // The text that an old writer put behind an empty header.
  const auto behind = open_header(R"({},"__metadata__":{"a":"b"}})", 0);
  EXPECT_FALSE(behind->complete);
  EXPECT_EQ(find(*behind, Code::bad_header)->where.offset, 10u);
}

TEST(Safetensors, BadHeadersFailWithTheirPlace) {
  EXPECT_EQ(describe(open_header(R"({"w":{"dtype":"U8" "shape":[1]}})", 1)),
            "error bad-header JSON: no ',' or '}' behind an object member @27");
  EXPECT_EQ(error_code(open_header("{\"\xff\":{}}", 0)), Code::bad_header);
  EXPECT_EQ(error_code(open_header("{\"w\":" + std::string(1000, '['), 0)), Code::limit_exceeded);
  EXPECT_EQ(error_code(open_header("[1]", 0)), Code::bad_header);
  EXPECT_EQ(error_code(open_header("x", 0)), Code::bad_header);
}

TEST(Safetensors, ADamagedHeaderHidesNotWhatStandsBeforeTheDamage) {
  const std::string first = entry("a", "U8", "4", 0, 4), second = entry("b", "U8", "4", 4, 8), third = entry("c", "U8", "4", 8, 12);
  std::string header = in_braces({first, second, third});
  const std::size_t at = header.find("\"c\"") + 1;
  for (const char damage : {'"', '\xff', '\0'}) {
    header[at] = damage;
    const auto opened = open_header(header, 12);
    ASSERT_TRUE(opened) << damage;
    EXPECT_FALSE(opened->complete);
    EXPECT_TRUE(readable(opened, "a") && readable(opened, "b"));
    EXPECT_EQ(opened->tensors.size(), 2u);
    ASSERT_EQ(opened->findings.list().size(), 1u) << describe(opened);
    const Finding& told = opened->findings.list()[0];
    EXPECT_EQ(told.code, Code::bad_header);
    EXPECT_EQ(told.severity, Severity::damage);
    EXPECT_TRUE(told.message.ends_with("; 2 tensors are listed before it")) << told.message;
    EXPECT_GE(told.where.offset.value_or(0), 8 + at);
  }
  // The end of the header is lost, and with it all tensors behind: nothing is said of bytes that may be theirs.
  const auto cut = open_header(in_braces({first, second}).substr(0, first.size() + 10), 12);
  ASSERT_TRUE(cut);
  EXPECT_EQ(describe(cut).find("trailing"), std::string::npos);
}

TEST(Safetensors, LengthsThatCannotBe) {
  const auto with_length = [](std::uint64_t length, std::string_view rest) {
    std::string file(8, '\0');
    std::memcpy(file.data(), &length, 8);
    return open_file_named("model.safetensors", file + std::string(rest));
  };
  EXPECT_EQ(describe(with_length(1000, "{}")), "error truncated the header alone is 1,000 bytes, the file has 2 behind the length @0");
  EXPECT_EQ(error_code(with_length(std::uint64_t{1} << 63, "{}")), Code::header_too_long);
  EXPECT_EQ(error_code(with_length(~std::uint64_t{0}, "{}")), Code::header_too_long);
  EXPECT_EQ(error_code(with_length(1, "{}")), Code::bad_header);
  EXPECT_EQ(error_code(open_file_named("model.safetensors", "\x90\0\0"s)), Code::truncated);
  Limits limits;
  limits.header_bytes = 10;
  EXPECT_EQ(error_code(open_file_named("m", safetensors("{          }", 0), limits)), Code::header_too_long);
}

TEST(Safetensors, EmptyFilesAreNoted) {
  EXPECT_NE(message_of(open_header("{}", 0), Code::no_tensors), "");
  EXPECT_NE(message_of(open_header(R"({"__metadata__":{}})", 0), Code::no_tensors), "");
}

TEST(Safetensors, MisalignedTensorsAreOneNote) {
  std::string header = in_braces({entry("a", "F16", "1", 0, 2), entry("b", "F32", "1", 2, 6), entry("c", "F64", "1", 6, 14)});
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const auto opened = open_header(header, 14);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->findings.counts().at(Code::misaligned), 1u);
  EXPECT_EQ(find(*opened, Code::misaligned)->where.tensor, "b");
  EXPECT_TRUE(opened->complete);
}

TEST(Safetensors, FindingsOfAHostileHeaderAreBounded) {
  std::string header = "{";
  for (int i = 0; i < 5000; ++i) header += concat(i ? "," : "", entry("k", "F32", "9", 0, 1));
  const auto opened = open_header(header + "}", 1);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->tensors.size(), 5000u);
  EXPECT_LE(opened->findings.list().size(), 3 * Findings::kPerCode);
  EXPECT_EQ(opened->findings.counts().at(Code::duplicate_name), 4999u);
}

}  // namespace
}  // namespace assay::testing
