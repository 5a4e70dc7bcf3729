// SPDX-License-Identifier: Apache-2.0
#include "formats/not_weights.hpp"

#include <gtest/gtest.h>

#include "unit/formats/formats_testing.hpp"

namespace assay::testing {
namespace {

using std::string_literals::operator""s;

std::string padded(std::string text, std::size_t size = 64) {
  if (text.size() < size) text.resize(size, '\1');
  return text;
}

TEST(NotWeights, MagicsAreToldByWhatTheyAre) {
  const std::string tar = [] {
    std::string block = "weights/model.ckpt" + std::string(512 - 18, '\0');
    block.replace(257, 5, "ustar");
    return block;
  }();
  // A PAX record of 9 bytes for the member behind it.
  const std::string pax = [&] {
    std::string block = "././@PaxHeader" + std::string(512 - 14, '\0');
    block.replace(124, 12, "00000000011 ");
    block.replace(156, 1, "x");
    block.replace(257, 5, "ustar");
    return block + "9 path=a\n" + std::string(512 - 9, '\0') + tar;
  }();
  const struct {
    std::string bytes;
    Code code;
    const char* says;
  } kCases[] = {
      {"", Code::empty_file, "empty file"},
      {padded("\x00\x05\x16\x07\x00\x02\x00\x00"s), Code::apple_double, "AppleDouble"},
      {padded("\x00\x05\x16\x00\x00\x02\x00\x00"s), Code::apple_double, "AppleSingle"},
      {padded("\x0c\xdb\x3a\x2a"), Code::unsupported_format, "Orbax"},
      {padded("%PDF-1.7"), Code::unsupported_format, "PDF"},
      {padded("GGUF\x03\x00\x00\x00"s), Code::unsupported_format, "GGUF v3, which"},
      {padded("GGUF\x00\x00\x00\x03"s), Code::unsupported_format, "GGUF v3 (big-endian)"},
      {padded("tjgg\x03\x00\x00\x00"s), Code::ggml_legacy, "ggjt v3, a llama.cpp format from before GGUF"},
      {padded("lmgg"), Code::ggml_legacy, "before GGUF"},
      {padded("\x89HDF\r\n\x1a\n"), Code::hdf5, "HDF5"},
      {std::string(512, '\1') + padded("\x89HDF\r\n\x1a\n"), Code::hdf5, "512-byte user block"},
      {padded("\x1f\x8b\x08\x08"
              "abcdefmodel.pth\0"s),
       Code::gzip, "gzip of 'model.pth'"},
      {padded("\x1f\x8b\x08\x00"s), Code::gzip, "gzip"},
      {padded("\xfd"
              "7zXZ\0"s),
       Code::xz, "xz"},
      {padded("\x28\xb5\x2f\xfd"), Code::zstd, "zstd"},
      {padded("\x04\x22\x4d\x18"), Code::lz4, "lz4"},
      {padded("BZh91AY&SY"), Code::bzip2, "bzip2"},
      {padded("\x78\x9c"), Code::zlib, "zlib"},
      {padded("7z\xbc\xaf\x27\x1c"), Code::seven_zip, "7z"},
      {padded("Rar!\x1a\x07\x01"), Code::rar, "RAR"},
      {tar, Code::tar_archive, "first member 'weights/model.ckpt'"},
      {pax, Code::tar_archive, "first member 'weights/model.ckpt'"},
      {padded("\x08\x07\x12\x07pytorch\x1a"), Code::onnx, "IR version 7, written by 'pytorch'"},
      {std::string(100, '\1') + "\x57\xfb\x80\x8b\x24\x75\x47\xdb", Code::tensorflow, "SSTable"},
      {padded("\x1c\0\0\0TFL3"s), Code::tensorflow, "Lite"},
      {padded("\x81\xa6params\x82\x81"), Code::flax, "first key 'params'"},
      {padded("\x7f"
              "ELF"),
       Code::executable, "ELF"},
      {padded("\x89PNG\r\n\x1a\n"), Code::image, "PNG"},
      {padded("\xff\xd8\xff\xe0"), Code::image, "JPEG"},
      {std::string(100, '\0'), Code::truncated, "zero bytes only (100 bytes)"},
  };
  for (const auto& [bytes, code, says] : kCases) {
    for (const char* name : {"model.safetensors", "model.bin", "x"}) {
      const auto opened = open_file_named(name, bytes);
      EXPECT_EQ(error_code(opened), code) << says << ' ' << describe(opened);
      EXPECT_NE(message_of(opened, code).find(says), std::string::npos) << describe(opened);
      ASSERT_FALSE(opened);
      EXPECT_EQ(opened.error().where().file, name);
      EXPECT_EQ(opened.error().where().offset, 0u);
      ASSERT_FALSE(opened.error().facts().empty());
      EXPECT_EQ(std::get<std::uint64_t>(opened.error().facts()[0].value) == bytes.size() || code == Code::git_lfs_pointer, true);
    }
  }
}

TEST(NotWeights, GitLfsPointersTellTheRealFile) {
  const std::string pointer =
      concat("version https://", "git-lfs.example/spec/v1\noid sha256:", std::string(64, 'b'), "\nsize 4265380512\n");
  const auto opened = open_file_named("model.safetensors", pointer);
  EXPECT_EQ(message_of(opened, Code::git_lfs_pointer),
            concat("Git LFS pointer, the real file is 4,265,380,512 bytes, sha256 ", std::string(64, 'b')));
  EXPECT_EQ(std::get<std::uint64_t>(opened.error().facts()[0].value), 4265380512u);
  EXPECT_EQ(error_code(open_file_named("m", "version https://example.org/spec/v1\nnothing more\n")), Code::text_document);
}

TEST(NotWeights, PagesAndErrorBodiesTellWhatTheySay) {
  EXPECT_EQ(message_of(open_file_named("m.pt", "<!DOCTYPE html><html><head><title>Drive -\n  Quota  exceeded</title></head></html>"),
                       Code::html_page),
            "HTML page titled 'Drive - Quota exceeded', not weights");
  EXPECT_EQ(message_of(open_file_named("m.pt", "\xef\xbb\xbf\n\n  <HTML><body>x"), Code::html_page), "HTML page, not weights");
  EXPECT_EQ(message_of(open_file_named(
                           "m", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"),
                       Code::xml_document),
            "XML error document: AccessDenied, 'Request has expired'");
  EXPECT_EQ(message_of(open_file_named("m.safetensors", "{\"error\":\"Repository not found\"}"), Code::json_document),
            "JSON document: 'Repository not found'");
  EXPECT_EQ(message_of(open_file_named("m", "{\"status\": 1, \"error\": {\"code\": 3, \"message\": \"no\"}}"), Code::json_document),
            "JSON document: 'no'");
  EXPECT_EQ(message_of(open_file_named("config.json", "{\"architectures\": [\"X\"], \"dtype\": \"bfloat16\"}"), Code::json_document),
            "JSON document with the keys 'architectures', 'dtype'");
  EXPECT_EQ(message_of(open_file_named("m.safetensors", "Entry not found"), Code::text_document), "text, starting with 'Entry not found'");
  EXPECT_EQ(open_file_named("m", "Entry not found").error().hint(),
            "there is no file of this name at that address; look at the repository's list of files");
  EXPECT_NE(open_file_named("m", "Access to model a/b is restricted and you are not in the list.").error().hint().find("log in"),
            std::string::npos);
  EXPECT_EQ(message_of(open_file_named("m.pt", "\xff\xfeP\0K\0\x03\0\x04\0\r\0\n\0"s), Code::text_document),
            "text in UTF-16, starting with 'PK\\x03\\x04'");
  EXPECT_EQ(message_of(open_file_named("m.pt", "\xfe\xff\0<\0h\0t\0m\0l"s), Code::text_document), "text in UTF-16, starting with '<html'");
  EXPECT_EQ(error_code(open_file_named("m", "\x1b[2J\x1b[31mtext")), Code::text_document);
  // What a page says may hold terminal codes.
  EXPECT_EQ(message_of(open_file_named("m", "<html><title>\x1b[2J</title>"), Code::html_page).find('\x1b'), std::string::npos);
}

TEST(NotWeights, UnknownBytesAreShown) {
  EXPECT_EQ(message_of(open_file_named("m", "\x01\x02OK\xff"), Code::unknown_format),
            "not a known format; the first bytes are 01 02 4f 4b ff \"..OK.\"");
}

TEST(NotWeights, AnyHeadIsAnswered) {
  // Every first two bytes, and every prefix of every magic above, in a small file.
  for (unsigned first = 0; first < 65536; first += 7) {
    const std::string file = {static_cast<char>(first), static_cast<char>(first >> 8), '\x12', '\x05', 'a'};
    for (std::size_t n = 0; n <= file.size(); ++n) EXPECT_FALSE(open_file_named("m", std::string_view(file).substr(0, n)));
  }
}

}  // namespace
}  // namespace assay::testing
