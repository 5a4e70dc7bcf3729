// SPDX-License-Identifier: Apache-2.0
// What gets past scanners, one row each: names, wrappers and archives.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "unit/analysis/scan_case.hpp"

namespace assay::scan {
namespace {

using namespace assay::testing;

std::string torch_text(std::string_view object) { return text_of(torch_zip(object).build_torch()); }

/// Zip with these members, stored.
std::string zip_text(const std::vector<std::pair<std::string, std::string>>& members, const ZipShape& shape = {}) {
  ZipBuilder zip;
  for (const auto& [name, data] : members) zip.add(name, bytes_of(data));
  return text_of(zip.build(shape));
}

std::string one_member(ZipMember member, const ZipShape& shape = {}) { return text_of(ZipBuilder().add(std::move(member)).build(shape)); }

std::string gzip_text(std::string_view data) {
  Bytes out = bytes_of(std::string_view("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10));
  append(out, deflate_stored(bytes_of(data)));
  append_number(out, slow_crc32(bytes_of(data)), 4);
  append_number(out, data.size(), 4);
  return text_of(out);
}

std::string zlib_text(std::string_view data) {
  std::uint32_t a = 1, b = 0;
  for (const char c : data) a = (a + static_cast<unsigned char>(c)) % 65521, b = (b + a) % 65521;
  std::string out = "\x78\x9c" + text_of(deflate_stored(bytes_of(data)));
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>((b << 16 | a) >> shift);
  return out;
}

std::string npy_text(std::string_view descr, std::string_view shape, std::string_view data) {
  std::string header = "{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': " + std::string(shape) + ", }\n";
  return "\x93NUMPY\x01"s + "\0"s + le(header.size(), 2) + header + std::string(data);
}

std::string safetensors_text(std::string_view behind = "") {
  const std::string header = "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
  return le(header.size(), 8) + header + std::string(8, '\1') + std::string(behind);
}

std::string safetensors_of(std::string_view header) { return le(header.size(), 8) + std::string(header) + std::string(8, '\1'); }

const std::string kTextPickle = "cos\nsystem\n(S'true'\ntR.";

/// A header whose length is the opcode UNICODE, which takes it up to its line's end; the tensor's bytes go on as opcodes.
std::string pickled_safetensors(std::string_view opcodes) {
  std::string header = "{\"w\":{\"dtype\":\"U8\",\"shape\":[" + std::to_string(opcodes.size()) + "],\"data_offsets\":[0," +
                       std::to_string(opcodes.size()) + "]}";
  header += std::string('V' - header.size() - 2, ' ') + "\n}";
  return le(header.size(), 8) + header + std::string(opcodes);
}

/// A GGUF file of one key, its chat template.
std::string gguf_template(std::string_view words) {
  const auto string = [](std::string_view s) { return le(s.size(), 8) + std::string(s); };
  return "GGUF" + le(3, 4) + le(0, 8) + le(1, 8) + string("tokenizer.chat_template") + le(8, 4) + string(words);
}

/// general.alignment with this value type and value, one tensor of 8 F32 at `offset`, and its data.
std::string gguf_text(std::uint32_t type, std::uint32_t alignment, std::uint64_t offset, std::string_view name = "w") {
  const auto string = [](std::string_view s) { return le(s.size(), 8) + std::string(s); };
  std::string text = "GGUF" + le(3, 4) + le(1, 8) + le(1, 8) + string("general.alignment") + le(type, 4) + le(alignment, 4);
  text += string(name) + le(1, 4) + le(8, 8) + le(0, 4) + le(offset, 8);
  text.resize((text.size() + 31) / 32 * 32);
  return text + std::string(32, '\1');
}

std::vector<Case> wrappers() {
  return {
      {"a gzip pickle", gzip_text(kEvil), kDanger, kComplete},
      {"a benign gzip pickle", gzip_text(kBenign), kClean, kComplete},
      {"two gzip members with zeros between", gzip_text(kBenign) + std::string(100, '\0') + gzip_text(kEvil), kDanger, kComplete},
      {"two gzip members", gzip_text(kBenign) + gzip_text(kEvil), kDanger, kComplete},
      {"behind a gzip file", gzip_text(kBenign) + kEvil, kDanger, kComplete},
      {"a cut gzip file", gzip_text(kEvil + std::string(100, '.')).substr(0, 80), kDanger, kIncomplete},
      {"gzip in gzip", gzip_text(gzip_text(kEvil)), kDanger, kComplete},
      {"gzip too deep", gzip_text(gzip_text(gzip_text(gzip_text(gzip_text(gzip_text(kBenign)))))), kClean, kIncomplete},
      {"a zlib pickle", zlib_text(kEvil), kDanger, kComplete},
      {"a benign zlib pickle", zlib_text(kBenign), kClean, kComplete},
      {"7z", "7z\xbc\xaf\x27\x1c" + std::string(40, 'x'), kClean, kIncomplete},
      {"rar", "Rar!\x1a\x07\x01\0more"s, kClean, kIncomplete},
      {"xz that is damaged",
       "\xfd"
       "7zXZ\0more"s,
       kClean, kMalformed},
      {"bzip2 that is cut", "BZh91AY&SYmore", kClean, kMalformed},
      {"an xz pickle",
       hex_text(
           "fd377a585a000004e6d6b4460200210116000000742fe5a30100188002636f730a73797374656d0a58040000007472756585522e0000000066b06ef3fb50bb7300013119591ab0821fb6f37d010000000004595a"),
       kDanger, kComplete},
      {"an lzma pickle", hex_text("5d00008000ffffffffffffffff0040008803bc30bd34de2f5e26d069fb3617fd87458b5573345395fcfa71ffffdd470000"),
       kDanger, kComplete},
      {"a bzip2 pickle",
       hex_text(
           "425a6839314159265359a6ee448000000bd3c05410000110400a029e2042002000228d069e90c6a14d3231313112d4956f02044bbde0ab39423e2ee48a70a1214ddc8900"),
       kDanger, kComplete},
      {"behind a bzip2 pickle",
       hex_text("425a683931415926535955c03223000001d0c010000001000240002000219a68334d173c5dc914e142415700c88c") + kEvil, kDanger,
       kComplete},
      {"zstd", "\x28\xb5\x2f\xfdmore", kClean, kIncomplete},
      {"lz4", "\x04\x22\x4d\x18more", kClean, kIncomplete},
      {"a program",
       "\x7f"
       "ELF\2\1\1" +
           std::string(60, '\0'),
       kClean, kIncomplete},
      {"a picture", "\x89PNG\r\n\x1a\n" + std::string(60, '\7'), kClean, kComplete},
      {"a pickle that starts as a picture does", "BM\0\0\0"s + std::string(77, 'x') + "." + kEvil, kDanger, kComplete},
      {"unknown bytes", std::string(100, '\xfe'), kClean, kIncomplete},
      {"a pickle in unknown bytes", std::string(100, '\xfe') + kEvil, kDanger, kIncomplete},
      {"a pickle in unknown bytes that ends with nonsense", std::string(100, '\xfe') + kEvilBody + "c((\nx\n", kDanger, kIncomplete},
      {"a name from before in unknown bytes", std::string(100, '\xfe') + "(S'true'\ntp0\n0cos\nsystem\ng0\nR.", kDanger, kIncomplete},
      {"protocol 0 in unknown bytes", std::string(100, '\xfe') + "cos\nsystem\n(S'true'\ntR.", kDanger, kIncomplete},
      {"INST in unknown bytes", std::string(100, '\xfe') + "(S'true'\nios\nsystem\n.", kDanger, kIncomplete},
      {"no bytes", "", kClean, kComplete},
      {"legacy", legacy_file(torch_object()), kClean, kComplete},
      {"legacy with an evil object", legacy_file(kEvil, ""), kDanger, kMalformed},
      {"legacy with an evil sixth", kMagic + proto(2) + "M\xe9\x03." + "}." + "}." + "]." + kEvil, kDanger, kComplete},
      {"a computed magic", proto(2) + global("__builtin__", "eval") + call1(text("0x1950a86a20f9469cfc6c")) + ".", kDanger, kComplete},
      {"legacy that is cut", legacy_file(torch_object(), "\4\0\0\0\0\0\0\0\1\2"s), kClean, kMalformed},
      {"legacy with a pickle for a storage", legacy_file(torch_object(), "\4\0\0\0\0\0\0\0cos\nsystem\n)R."s + "ab"), kDanger, kComplete},
      {"two legacy files", legacy_file(torch_object()) + legacy_file(torch_object()), kClean, kComplete},
      {"an evil one behind a legacy file", legacy_file(torch_object()) + kEvil, kDanger, kComplete},
      {"npy", npy_text("'<f4'", "(2,)", "12345678"), kClean, kComplete},
      {"npy of objects", npy_text("'|O'", "(1,)", kEvil), kDanger, kComplete},
      {"npy of benign objects", npy_text("'|O'", "(1,)", kBenign), kClean, kComplete},
      {"npy with an object in a field", npy_text("[('a', '<f4'), ('b', '|O')]", "(1,)", kEvil), kDanger, kComplete},
      {"npy with a pickle behind", npy_text("'<f4'", "(2,)", "12345678" + kEvil), kDanger, kComplete},
      {"npy that computes", npy_text("__import__('os').system('true')", "(2,)", ""), kClean, kMalformed},
      {"npy that is cut", npy_text("'<f4'", "(200,)", "1234"), kClean, kMalformed},
      {"safetensors", safetensors_text(), kClean, kComplete},
      {"safetensors with a pickle behind", safetensors_text(kEvil), kDanger, kMalformed},
      {"a pickle named so", kEvil, kDanger, kComplete},
      {"safetensors of a wrong size", safetensors_of(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})"), kClean, kMalformed},
      {"safetensors of too many elements", safetensors_of(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})"),
       kClean, kMalformed},
      {"safetensors of a dtype that is none", safetensors_of(R"({"w":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})"), kClean,
       kMalformed},
      {"safetensors that is a pickle too", pickled_safetensors(kTextPickle), kDanger, kComplete},
      {"safetensors whose second pickle is evil", pickled_safetensors("." + kTextPickle), kDanger, kComplete},
      {"tar whose first name is a pickle", text_of(TarBuilder().file(kTextPickle, "text").end()), kDanger, kComplete},
      {"tar whose first name is two", text_of(TarBuilder().file("N." + kTextPickle, "text").end()), kDanger, kComplete},
      {"safetensors with a gap", safetensors_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"), kClean, kMalformed},
      {"safetensors twice",
       safetensors_of(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}})"),
       kClean, kMalformed},
      {"safetensors whose metadata is null",
       safetensors_of(R"({"__metadata__":null,"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"), kClean, kComplete},
      {"safetensors with a number in its metadata",
       safetensors_of(R"({"__metadata__":{"a":1},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"), kClean, kMalformed},
      {"GGUF", "GGUF" + le(3, 4) + le(0, 8) + le(0, 8), kClean, kComplete},
      {"GGUF with a key and a tensor", gguf_text(4, 32, 0), kClean, kComplete},
      {"GGUF with a chat template", gguf_template("{% for m in messages %}{{ m.content }}{% endfor %}"), kClean, kComplete},
      {"GGUF with a chat template that reaches out", gguf_template("{{ self.__init__.__globals__ }}"), kDanger, kComplete},
      {"GGUF without tensors and with a pickle", "GGUF" + le(3, 4) + le(0, 8) + le(0, 8) + std::string(8, '\0') + kEvil, kDanger,
       kIncomplete},
      {"GGUF that counts too far", "GGUF" + le(3, 4) + le(~0ull, 8) + le(0, 8), kClean, kMalformed},
      {"GGUF of a version to come", "GGUF" + le(4, 4) + le(0, 8) + le(0, 8), kClean, kMalformed},
      {"GGUF with an alignment of 3", gguf_text(4, 3, 0), kClean, kMalformed},
      {"GGUF with a name of 63 bytes", gguf_text(4, 32, 0, std::string(63, 'w')), kClean, kComplete},
      {"GGUF with a name of 64 bytes", gguf_text(4, 32, 0, std::string(64, 'w')), kClean, kMalformed},
      {"GGUF with a value of no type", gguf_text(77, 32, 0), kClean, kMalformed},
      {"GGUF with a tensor elsewhere", gguf_text(4, 32, 1 << 20), kClean, kMalformed},
      {"GGUF with a pickle behind its tensors", gguf_text(4, 32, 0) + kEvil, kDanger, kComplete},
      {"GGUF with padding behind its tensors", gguf_text(4, 32, 0) + std::string(32, '\0'), kClean, kComplete},
      {"GGUF with other bytes behind its tensors", gguf_text(4, 32, 0) + "\xff\xfe\xfd\xfc", kClean, kIncomplete},
      {"GGUF whose data end within a tensor", gguf_text(4, 32, 32), kClean, kMalformed},
      {"GGUF that is cut", gguf_text(4, 32, 0).substr(0, 70), kClean, kMalformed},
      {"load of bytes that are a file of torch",
       proto(3) + global("torch.storage", "_load_from_bytes") + call1(bytes_literal(legacy_file(torch_object()))) + ".", kClean, kComplete},
      {"load of bytes in latin1",
       proto(2) + global("torch.storage", "_load_from_bytes") +
           call1(global("_codecs", "encode") + text("\xc2\x80\x02}.") + text("latin1") + "\x86R") + ".",
       kUnknown, kComplete},
      {"load of bytes that are evil",
       proto(3) + global("torch.storage", "_load_from_bytes") + call1(bytes_literal(legacy_file(kEvil))) + ".", kDanger, kMalformed},
      {"load of bytes that are no file", proto(3) + global("torch.storage", "_load_from_bytes") + call1(bytes_literal(kBenign)) + ".",
       kUnknown, kComplete},
  };
}

/// A member of two parts with a hole of 4096 bytes between, as GNU tar writes in its sparse version 0.1. The first 8 bytes of `data` are
/// the first part.
Bytes sparse_tar(std::string_view data) {
  const std::string map = "0,8,4104," + std::to_string(data.size() - std::min<std::size_t>(8, data.size()));
  TarBuilder tar;
  if (data.size() <= 8)
    return tar.pax("GNU.sparse.map", "0," + std::to_string(data.size()))
        .pax("GNU.sparse.size", std::to_string(data.size()))
        .file("a", data)
        .end();
  return tar.pax("GNU.sparse.map", map).pax("GNU.sparse.size", std::to_string(data.size() + 4096)).file("a", data).end();
}

std::vector<Case> tars() {
  // A literal that reaches over the hole: without it the pickle breaks.
  const std::string hole_pickle = proto(2) + "X" + le(4097, 4) + "a" + "0" + call_of("os", "system") + ".";
  TarBuilder evil, benign, old, old_evil;
  return {
      {"tar", text_of(benign.file("a.pkl", kBenign).end()), kClean, kComplete},
      {"tar with a pickle", text_of(evil.file("readme", "text").file("weights", kEvil).end()), kDanger, kComplete},
      {"behind a tar", text_of(TarBuilder().file("a", kBenign).end()) + kEvil, kDanger, kComplete},
      {"torch zip in a tar", text_of(TarBuilder().file("m.pt", torch_text(kEvil)).end()), kDanger, kComplete},
      {"zip that ends a tar", text_of(TarBuilder().file("m.pt", torch_text(torch_object())).end()), kClean, kComplete},
      {"tar in gzip", gzip_text(text_of(TarBuilder().file("x", kEvil).end())), kDanger, kComplete},
      {"torch's tar",
       text_of(old.file("sys_info", proto(2) + "}.")
                   .file("pickle", proto(2) + text("1") + "Q.")
                   .file("tensors", proto(2) + "K\0."s)
                   .file("storages", proto(2) + "K\1." + proto(2) + "K\1" + text("cpu") + global("torch", "FloatStorage") + "\x87." +
                                         le(2, 8) + "abcdefgh" + proto(2) + "].")
                   .end()),
       kClean, kComplete},
      {"torch's tar with an evil pickle",
       text_of(old_evil.file("sys_info", proto(2) + "}.")
                   .file("pickle", kEvil)
                   .file("tensors", proto(2) + "K\0."s)
                   .file("storages", proto(2) + "K\0."s)
                   .end()),
       kDanger, kComplete},
      {"tar whose first member has no name", text_of(TarBuilder().file("", kEvil).end()), kDanger, kComplete},
      {"tar with a member of an odd type", text_of(TarBuilder().add("a", 'Z', kEvil, "").end()), kDanger, kComplete},
      {"tar with a link that has data", text_of(TarBuilder().add("a", '1', kEvil, "b").end()), kDanger, kMalformed},
      {"tar with a pickle for a long name", text_of(TarBuilder().add("a", 'L', kEvil, "").file("b", "text").end()), kDanger, kComplete},
      {"sparse tar", text_of(sparse_tar(kBenign)), kClean, kComplete},
      {"sparse tar with a pickle over a hole", text_of(sparse_tar(hole_pickle)), kDanger, kComplete},
      {"sparse tar whose parts are elsewhere",
       text_of(TarBuilder().pax("GNU.sparse.map", "0,9999").pax("GNU.sparse.size", "10").file("a", kEvil).end()), kDanger, kMalformed},
      {"sparse tar that hides its data",
       text_of(TarBuilder().pax("GNU.sparse.map", "0,0").pax("GNU.sparse.size", "0").file("a", kEvil).end()), kDanger, kMalformed},
      {"tar with a name that leaves the folder", text_of(TarBuilder().file("a/../../b", kBenign).end()), kClean, kMalformed},
      {"tar with an absolute name in a record", text_of(TarBuilder().pax("path", "/b").file("b", kBenign).end()), kClean, kMalformed},
      {"tar with a link within", text_of(TarBuilder().file("a/b/c", kBenign).link("a/b/d", "../../a/x").end()), kClean, kComplete},
      {"tar with a link to elsewhere", text_of(TarBuilder().file("a/b/c", kBenign).link("a/b/d", "../../../x").end()), kClean, kMalformed},
      {"tar with a link to elsewhere in a record", text_of(TarBuilder().file("a", kBenign).pax("linkpath", "/x").link("d", "a").end()),
       kClean, kMalformed},
      {"a cut tar", text_of(TarBuilder().file("x", kEvil).bytes).substr(0, 530), kDanger, kMalformed},
  };
}

std::vector<Case> zips() {
  const std::string no_proto = "cos\nsystem\n" + text("true") + "\x85R.";
  std::vector<Case> cases = {
      {"torch", torch_text(torch_object()), kClean, kComplete},
      {"torch with a payload", torch_text(kEvil), kDanger, kComplete},
      {"protocol 0 in a text member", zip_text({{"a.txt", no_proto}}), kDanger, kComplete},
      {"another name", zip_text({{"archive/data.pkl", kBenign}, {"archive/extra/x", kEvil}}), kDanger, kComplete},
      {"capitals", zip_text({{"archive/DATA.PKL", no_proto}}), kDanger, kComplete},
      {"backslash", zip_text({{"archive\\data.pkl", kEvil}}), kDanger, kComplete},
      {"NUL in a name", zip_text({{"archive/data\0.pkl"s, kEvil}}), kDanger, kMalformed},
      {"two roots", zip_text({{"archive/data.pkl", kBenign}, {"other/data.pkl", kEvil}}), kDanger, kComplete},
      {"evil first of two", zip_text({{"archive/data.pkl", kEvil}, {"archive/data.pkl", kBenign}}), kDanger, kMalformed},
      {"evil last of two", zip_text({{"archive/data.pkl", kBenign}, {"archive/data.pkl", kEvil}}), kDanger, kMalformed},
      {"two that are benign", zip_text({{"archive/data.pkl", kBenign}, {"archive/data.pkl", kBenign}}), kClean, kMalformed},
      {"two by case", zip_text({{"archive/data.pkl", kBenign}, {"ARCHIVE/DATA.pkl", kBenign}}), kClean, kMalformed},
      {"local name differs", one_member({.name = "archive/data.pkl", .data = bytes_of(kEvil), .local_name = "archive/datap.kl"}), kDanger,
       kMalformed},
      {"local name differs, benign", one_member({.name = "archive/data.pkl", .data = bytes_of(kBenign), .local_name = "archive/datap.kl"}),
       kClean, kMalformed},
      {"encrypted by flag", one_member({.name = "archive/data.pkl", .data = bytes_of(kEvil), .flags = 1}), kDanger, kIncomplete},
      {"encrypted for real", one_member({.name = "archive/data.pkl", .data = noise(40), .flags = 1}), kClean, kIncomplete},
      {"patched by flag", one_member({.name = "archive/data.pkl", .data = bytes_of(kBenign), .flags = 0x20}), kClean, kIncomplete},
      {"strong encryption by flag", one_member({.name = "archive/data.pkl", .data = bytes_of(kEvil), .flags = 0x41}), kDanger, kIncomplete},
      {"wrong CRC", one_member({.name = "archive/data.pkl", .data = bytes_of(kEvil), .crc = 7}), kDanger, kComplete},
      {"a member packed with lzma",
       one_member({.name = "archive/data.pkl",
                   .data = bytes_of(hex_text("090405005d000080000040008803bc30bd34de2f5e26d069fb3617fd87458b5573345395fcfa71ffffdd470000")),
                   .size = kEvil.size(),
                   .crc = 0,
                   .method = 14}),
       kDanger, kComplete},
      {"unknown method", one_member({.name = "archive/data.pkl", .data = bytes_of(kEvil), .method = 99}), kDanger, kIncomplete},
      {"unknown method, benign", one_member({.name = "archive/data.pkl", .data = bytes_of(kBenign), .method = 97}), kClean, kIncomplete},
      {"wrong size", one_member({.name = "archive/data.pkl", .data = bytes_of(kEvil), .size = 5}), kDanger, kMalformed},
      {"local method differs", one_member({.name = "archive/data.pkl", .data = bytes_of(kEvil), .local_method = 8}), kDanger, kMalformed},
      {"deflated for local readers only",
       one_member({.name = "archive/data.pkl", .data = deflate_stored(bytes_of(kEvil)), .local_method = 8}), kDanger, kIncomplete},
      {"local sizes differ", one_member({.name = "archive/data.pkl", .data = bytes_of(kBenign), .local_size = 7}), kClean, kMalformed},
      {"deflated",
       one_member({.name = "archive/data.pkl", .data = deflate_stored(bytes_of(kEvil)), .size = kEvil.size(), .crc = 0, .method = 8}),
       kDanger, kComplete},
      {"deflated, larger than claimed",
       one_member({.name = "archive/data.pkl", .data = deflate_stored(bytes_of(kEvil)), .size = 4, .crc = 0, .method = 8}), kDanger,
       kMalformed},
      {"zip in zip", zip_text({{"archive/inner.zip", torch_text(kEvil)}}), kDanger, kComplete},
      {"tar in zip", zip_text({{"x", text_of(TarBuilder().file("y", kEvil).end())}}), kDanger, kComplete},
      {"gzip in zip", zip_text({{"x", gzip_text(kEvil)}}), kDanger, kComplete},
      {"npz", zip_text({{"a.npy", npy_text("'|O'", "(1,)", kEvil)}}), kDanger, kComplete},
      {"7z in zip", zip_text({{"x.7z", "7z\xbc\xaf\x27\x1cmore"}}), kClean, kIncomplete},
      {"a pickle before", kEvil + torch_text(torch_object()), kDanger, kComplete},
      {"zeros before", std::string(64, '\0') + zip_text({{"archive/data.pkl", kEvil}}), kDanger, kComplete},
      {"junk before", std::string(64, '\xfe') + zip_text({{"archive/data.pkl", kBenign}}), kClean, kIncomplete},
      {"a pickle behind", torch_text(torch_object()) + kEvil, kDanger, kComplete},
      {"junk behind", torch_text(torch_object()) + "\xfe\xfd\xfc", kClean, kIncomplete},
      {"an archive in the comment", zip_text({{"archive/data.pkl", kBenign}}, {.comment = zip_text({{"archive/data.pkl", kEvil}})}),
       kDanger, kMalformed},
      {"two archives", torch_text(torch_object()) + torch_text(kEvil), kDanger, kComplete},
      {"two benign archives", torch_text(torch_object()) + torch_text(torch_object()), kClean, kComplete},
      {"no directory", text_of(torch_zip(kEvil).build({.directory = false})), kDanger, kMalformed},
      {"no directory, benign", text_of(torch_zip(torch_object()).build({.directory = false})), kClean, kMalformed},
      {"wrong count", zip_text({{"archive/data.pkl", kEvil}, {"archive/b", "text"}}, {.entries = 1}), kDanger, kMalformed},
      {"a directory that is nowhere", zip_text({{"archive/data.pkl", kEvil}}, {.directory_offset = 100000}), kDanger, kMalformed},
      {"name that leaves the folder", zip_text({{"../../x.pkl", kBenign}}), kClean, kMalformed},
      {"absolute name", zip_text({{"/etc/x.pkl", kBenign}}), kClean, kMalformed},
      {"a pickle in a storage",
       text_of(ZipBuilder().add("archive/data.pkl", bytes_of(torch_object())).add("archive/data/0", bytes_of(no_proto)).build()), kDanger,
       kComplete},
      {"a payload in a member named as a storage",
       text_of(ZipBuilder().add("archive/data.pkl", bytes_of(kBenign)).add("archive/data/0", bytes_of(kEvil)).build()), kDanger, kComplete},
      {"debug pickles",
       zip_text({{"archive/data.pkl", kBenign}, {"archive/code/m.py", "def f():\n  pass\n"}, {"archive/code/m.py.debug_pkl", kEvil}}),
       kDanger, kComplete},
      {"types of TorchScript",
       zip_text({{"a/data.pkl", proto(2) + global("__torch__.Net", "Net") + ")\x81}b."},
                 {"a/code/__torch__/Net.py", "class Net(Module):\n"},
                 {"a/constants.pkl", proto(2) + ")."}}),
       kClean, kComplete},
      {"TorchScript of 1.0: storages that no pickle names",
       zip_text({{"net/model.json", "{}"},
                 {"net/tensors/0", "\x9b\xff\xfe\xfd\xfc\xfb"},
                 {"net/attributes.pkl", proto(2) + global("__main__", "TensorID") + "K\0\x85R."s}}),
       kClean, kComplete},
      {"storages of TorchScript only", zip_text({{"net/tensors/0", "\x9b\xff\xfe\xfd\xfc\xfb"}}), kClean, kIncomplete},
      {"types of TorchScript in a plain pickle", proto(2) + global("__torch__.Net", "Net") + ")\x81}b.", kUnknown, kComplete},
  };
  struct Link {
    const char *name, *target;
    bool leads_out;
  };
  for (const Link& link : {Link{"archive/data/latest", "0", false},
                           {"archive/data/latest", "../version", false},
                           {"archive/data/latest", "../../../x", true},
                           {"archive/data/latest", "/etc/x", true},
                           {"archive/.//data/latest", "../../x", false},
                           {"archive/.//data/latest", "../../../x", true}}) {
    ZipBuilder links = torch_zip(torch_object());
    links.add(link.name, bytes_of(link.target));
    Bytes bytes = links.build();
    put_number(bytes, links.entry_offsets.back() + 38, 0xa1ff0000, 4);
    cases.push_back({link.target, text_of(bytes), kClean, link.leads_out ? kMalformed : kComplete});
  }
  // One bad member hides nothing.
  ZipBuilder damaged;
  damaged.add("archive/a", bytes_of("text"))
      .add({.name = "archive/b", .data = noise(30), .method = 97})
      .add("archive/data.pkl", bytes_of(kEvil));
  cases.push_back({"a bad member in the middle", text_of(damaged.build()), kDanger, kIncomplete});
  // Two entries, one header.
  ZipBuilder shared;
  shared.add("archive/data.pkl", bytes_of(kEvil)).add("archive/x.pkl", bytes_of(kBenign));
  Bytes overlapping = shared.build();
  put_number(overlapping, shared.entry_offsets[1] + 42, shared.header_offsets[0], 4);
  cases.push_back({"two entries of one header", text_of(overlapping), kDanger, kMalformed});
  return cases;
}

class ScanFile : public ::testing::TestWithParam<Case> {};
TEST_P(ScanFile, Answer) { expect_answer(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Wrappers, ScanFile, ::testing::ValuesIn(wrappers()));
INSTANTIATE_TEST_SUITE_P(Tars, ScanFile, ::testing::ValuesIn(tars()));
INSTANTIATE_TEST_SUITE_P(Zips, ScanFile, ::testing::ValuesIn(zips()));

TEST(ScanContainer, StoragesAreCountedNotListed) {
  const Report report = scan_text(torch_text(torch_object()));
  EXPECT_EQ(report.storages, 1u);
  EXPECT_TRUE(std::ranges::none_of(report.members, [](const Member& m) { return m.name == "archive/data/0"; }));
  ASSERT_EQ(report.members.size(), 4u);
  EXPECT_EQ(report.members[0].kind, "zip");
  EXPECT_EQ(report.members[1].kind == "pickle" || report.members[2].kind == "pickle" || report.members[3].kind == "pickle", true);
}

TEST(ScanContainer, AnEmptyFileIsIncompleteWhereItsNamePromisesData) {
  for (const std::string_view name : {"pytorch_model.bin", "a/m.PT", "m.safetensors", ".metadata"}) {
    const auto report = scan::scan_file(MemorySource(Bytes()), name, {});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->status, scan::Status::incomplete) << name;
    ASSERT_TRUE(report->findings.has(Code::empty_file));
    EXPECT_EQ(report->findings.list()[0].where.offset, 0u);
  }
  for (const std::string_view name : {"__init__.py", ".gitkeep", "merges.txt", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"})
    EXPECT_TRUE(scan::scan_file(MemorySource(Bytes()), name, {})->clean()) << name;
}

TEST(ScanContainer, TellsANameThatPromisesData) {
  const auto mismatch = [](std::string_view name, const std::string& bytes) {
    const MemorySource source(bytes_of(bytes));
    const auto report = scan::scan_file(source, name, {});
    return report && report->findings.has(Code::extension_mismatch);
  };
  EXPECT_TRUE(mismatch("m.safetensors", kEvil));
  EXPECT_TRUE(mismatch("M.GGUF", kBenign));
  EXPECT_TRUE(mismatch("m.safetensors", torch_text(torch_object())));
  EXPECT_FALSE(mismatch("m.pt", torch_text(torch_object())));
  EXPECT_FALSE(mismatch("m.safetensors", "\2\0\0\0\0\0\0\0{}"s));
}

TEST(ScanContainer, OffsetsAreOfTheFileWhereTheBytesStandInIt) {
  ZipBuilder zip = torch_zip(kEvil);
  const Bytes bytes = zip.build_torch();
  const Report report = scan_text(text_of(bytes));
  ASSERT_EQ(report.calls.size(), 1u);
  EXPECT_EQ(report.calls[0].place.member, "archive/data.pkl");
  EXPECT_EQ(report.calls[0].place.position, kEvil.size() - 2);
  EXPECT_EQ(report.calls[0].place.offset, zip.data_offsets[0] + kEvil.size() - 2);
  const Report packed = scan_text(gzip_text(kEvil));
  ASSERT_EQ(packed.calls.size(), 1u);
  EXPECT_FALSE(packed.calls[0].place.offset);
}

TEST(ScanContainer, BombsAreIncompleteAndSmall) {
  // Half a megabyte that unpacks to 80 MB, in a scan that may unpack one.
  Limits limits;
  limits.inflate_pickle_bytes = 1 << 20;
  const Bytes packed = deflate_zeros(310000);
  const std::string zip = one_member({.name = "archive/data.pkl", .data = packed, .size = 1 + 258 * 310000, .crc = 0, .method = 8});
  // Zeros are no pickle: a look at the front is enough.
  EXPECT_EQ(scan_text(zip, {.limits = limits, .allowed = {}}).verdict, Verdict::clean);
  std::string long_text = proto(2) + "T" + le(3 << 20, 4) + std::string(3 << 20, 'x') + ".";
  const std::string bomb = one_member(
      {.name = "archive/data.pkl", .data = deflate_stored(bytes_of(long_text)), .size = long_text.size(), .crc = 0, .method = 8});
  const Report report = scan_text(bomb, {.limits = limits, .allowed = {}});
  EXPECT_EQ(report.status, Status::incomplete);
  EXPECT_TRUE(report.findings.has(Code::limit_exceeded));
}

TEST(ScanContainer, MembersOverEachOtherCostWhatTheFileIs) {
  // Four thousand entries of one member of 200 KB: what they hold together is far more than the file.
  ZipBuilder zip;
  zip.add("a", bytes_of(std::string(200000, 'a')));
  const std::string one = text_of(zip.build());
  const std::string entry = one.substr(zip.directory_offset, zip.end_record - zip.directory_offset);
  std::string many = one.substr(0, zip.directory_offset);
  constexpr std::size_t kEntries = 4000;
  for (std::size_t i = 0; i < kEntries; ++i) many += entry;
  many +=
      "PK\5\6"s + le(0, 4) + le(kEntries, 2) + le(kEntries, 2) + le(entry.size() * kEntries, 4) + le(zip.directory_offset, 4) + le(0, 2);
  const Report report = scan_text(many);
  EXPECT_EQ(report.status, Status::incomplete);
  const auto opened = std::ranges::count_if(report.members, [](const Member& member) { return member.kind == "text"; });
  EXPECT_LT(static_cast<std::uint64_t>(opened) * 200000, (std::uint64_t{193} << 20) + 4 * many.size());
  EXPECT_GT(opened, 100);
}

TEST(ScanContainer, Codes) {
  const auto has = [](const std::string& bytes, Code code) { return scan_text(bytes).findings.has(code); };
  EXPECT_TRUE(has(one_member({.name = "a/data.pkl", .data = bytes_of(kBenign), .flags = 1}), Code::encrypted_member));
  EXPECT_TRUE(has(one_member({.name = "a/data.pkl", .data = bytes_of(kBenign), .local_name = "b/data.pkl"}), Code::name_mismatch));
  EXPECT_TRUE(has(one_member({.name = "a/data.pkl", .data = bytes_of(kBenign), .method = 97}), Code::unsupported_compression));
  EXPECT_TRUE(has(one_member({.name = "a/data.pkl", .data = bytes_of(kBenign), .crc = 7}), Code::crc_mismatch));
  EXPECT_TRUE(has(zip_text({{"a/x", kBenign}, {"a/x", kBenign}}), Code::ambiguous_archive));
  EXPECT_TRUE(has(kBenign + "\xfe\xfd", Code::unparsed_bytes));
  EXPECT_TRUE(has("7z\xbc\xaf\x27\x1cmore", Code::seven_zip));
  EXPECT_TRUE(has(proto(2) + global("a.b", "c") + ".", Code::unknown_import));
}

/// Hands over what is asked for until the scan is done: the answer is that of the whole file.
TEST(ScanContainer, RangesGiveTheSameAnswer) {
  for (const std::string& bytes : {torch_text(kEvil), kEvil, legacy_file(torch_object()), npy_text("'|O'", "(1,)", kEvil),
                                   text_of(TarBuilder().file("x", kEvil).end()), gzip_text(kEvil),
                                   torch_text(torch_object()) + torch_text(kEvil), safetensors_text()}) {
    RangeSource source(bytes.size());
    const Bytes all = bytes_of(bytes);
    std::optional<Report> report;
    for (int i = 0; i < 200 && !report; ++i) {
      auto tried = scan_file(source, "file", {});
      if (tried) {
        report = *std::move(tried);
        break;
      }
      ASSERT_EQ(tried.error().code(), Code::need_range) << tried.error().what();
      const auto& where = tried.error().where();
      ASSERT_TRUE(where.offset && where.length);
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(*where.offset);
      source.add(*where.offset, Bytes(from, from + static_cast<std::ptrdiff_t>(*where.length)));
    }
    ASSERT_TRUE(report);
    EXPECT_EQ(report->verdict, scan_text(bytes).verdict);
    EXPECT_EQ(report->status, scan_text(bytes).status);
  }
}

}  // namespace
}  // namespace assay::scan
