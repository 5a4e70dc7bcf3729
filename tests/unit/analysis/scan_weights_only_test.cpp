// SPDX-License-Identifier: Apache-2.0
// What torch.load(weights_only=True) would say. The answers are torch 2.13's own: tests/differential/weights_only.py asks it.
#include <gtest/gtest.h>

#include <vector>

#include "unit/analysis/scan_helpers.hpp"

namespace assay::scan {
namespace {

using namespace assay::testing;

struct Case {
  const char* name;
  std::string bytes;
  const char* reason;  ///< a part of it; "" where it is accepted
};
void PrintTo(const Case& row, std::ostream* out) { *out << row.name; }

std::string torch_text(std::string_view object) { return text_of(torch_zip(object).build_torch()); }
std::string made(std::string_view value) { return torch_text(proto(2) + std::string(value) + "."); }

/// A torch archive of these members in place of torch's own.
std::string archive(const std::vector<std::pair<std::string, std::string>>& members) {
  ZipBuilder zip;
  for (const auto& [name, data] : members) zip.add(torch_member(name, bytes_of(data)));
  return text_of(zip.build_torch());
}

/// torch_object() with the view metadata that ids of the older format have.
std::string legacy_object() {
  std::string object = torch_object();
  return object.insert(object.find("tQ"), "N");
}

std::vector<Case> pickles() {
  const std::string counter = global("collections", "Counter") + ")R", bytes16(16, '\1');
  return {
      {"tensors", torch_text(torch_object()), ""},
      {"a name that is not on the list", made(global("a.b", "C")), "Unsupported global: GLOBAL a.b.C"},
      {"a blocked module", made(global("posix", "x")), "whose module posix is blocked"},
      {"a module within a blocked one", made(global("os.path", "join")), "Unsupported global: GLOBAL os.path.join"},
      {"a name cut elsewhere", made(global("torch.nn", "parameter.Parameter")), ""},
      {"Python 2's name in a later protocol", torch_text(proto(3) + global("__builtin__", "set") + ")R."), ""},
      {"an opcode it does not have", made("N0N"), "Unsupported operand 48 (byte 3)"},
      {"a call of what is no function", made(global("torch", "float32") + ")R"), "is not callable"},
      {"a call of a storage's class", made(global("torch", "FloatStorage") + ")R"), "is not callable"},
      {"an instance of a function", made(global("torch.serialization", "_get_layout") + ")\x81"), "not a type object"},
      {"a call of a result", made(counter + ")R"), "Trying to call reduce for unrecognized function"},
      {"attributes of an OrderedDict", made(global("collections", "OrderedDict") + ")R}" + text("a") + "K\1sb"), ""},
      {"attributes of a Counter", made(counter + "}" + text("a") + "K\1sb"), ""},
      {"no attributes for a set", made("\x8f}b"), ""},
      {"attributes for a list", made("]}b"), "Can only build"},
      {"an item for a Counter", made(counter + text("a") + "K\1s"), ""},
      {"an item for a set", made(global("builtins", "set") + ")R" + text("a") + "K\1s"), "Can only SETITEM"},
      {"a number for a storage", made("K\1Q"), "persistent_load id must be tuple"},
      {"a storage of too few parts", made(text("storage") + "\x85Q"), "has 5 parts here, but this one 1"},
      {"a storage of another kind", made("(" + text("module") + global("torch", "FloatStorage") + text("0") + text("cpu") + "K\4tQ"),
       "Only persistent_load of storage"},
      {"a string that is not UTF-8", made("U\2\xff\xfe"), "not UTF-8"},
      {"a pickle that breaks off", torch_text(proto(2) + "]"), "breaks off at byte 3"},
      {"no pickle", archive({{"a/data.pkl", ""}, {"a/version", "3"}}), "empty"},
      {"bytes that are no pickle", archive({{"a/data.pkl", "\xfe\xff"}, {"a/version", "3"}}), "Unsupported operand 254"},
      {"a storage that is too short", archive({{"a/data.pkl", torch_object()}, {"a/data/0", "1234"}, {"a/version", "3"}}),
       "record size (4 bytes) of data/0 does not match expected size (16 bytes)"},
      {"a storage that is too long", archive({{"a/data.pkl", torch_object()}, {"a/data/0", bytes16 + bytes16}, {"a/version", "3"}}),
       "record size (32 bytes)"},
      {"a member in another folder", archive({{"a/data.pkl", torch_object()}, {"a/data/0", bytes16}, {"a/version", "3"}, {"A/x", "y"}}),
       "is not in a subdirectory a/: A/x"},
      {"a storage that is not there", archive({{"a/data.pkl", torch_object()}, {"a/version", "3"}}), "failed locating file data/0"},
      {"TorchScript", archive({{"a/data.pkl", torch_object()}, {"a/data/0", bytes16}, {"a/constants.pkl", kBenign}, {"a/version", "3"}}),
       "TorchScript"},
      {"no version", archive({{"a/data.pkl", torch_object()}, {"a/data/0", bytes16}}), "no member version"},
      {"a version to come", archive({{"a/data.pkl", torch_object()}, {"a/data/0", bytes16}, {"a/version", "99"}}), "version is 99"},
      {"another byte order",
       archive({{"a/data.pkl", torch_object()}, {"a/data/0", bytes16}, {"a/version", "3"}, {"a/byteorder", "middle"}}),
       "Unknown endianness type: middle"},
      {"a download that started over", torch_text(torch_object()).substr(0, 200) + torch_text(torch_object()),
       "not where its end record says"},
      {"bytes before the archive", std::string(64, '\0') + torch_text(torch_object()), "does not start as an archive"},
      {"a plain pickle", kBenign, "Invalid magic number"},
      {"legacy", kMagic + proto(2) + "M\xe9\x03." + proto(2) + "}." + proto(2) + "]." + proto(2) + "].", ""},
      {"legacy of another version", kMagic + proto(2) + "M\xea\x03." + proto(2) + "}." + proto(2) + "]." + proto(2) + "].",
       "Invalid protocol version: 1002"},
      {"legacy that ends", kMagic + proto(2) + "M\xe9\x03." + proto(2) + "}.", "ends after 3 of its 5 pickles"},
      {"legacy with a storage of another size", legacy_file(legacy_object(), std::string("\3\0\0\0\0\0\0\0", 8) + std::string(12, '\1')),
       "storage has wrong byte size: '0' has 3 elements, its id says 4"},
      {"legacy whose list holds numbers",
       kMagic + proto(2) + "M\xe9\x03." + proto(2) + "}." + legacy_object() + proto(2) + "]K\0a."s + std::string("\4\0\0\0\0\0\0\0", 8) +
           bytes16,
       "storage key 0 not found in deserialized_objects"},
      {"legacy with a name that is not on the list", legacy_file(kEvil, ""), "whose module os is blocked"},
  };
}

class ScanWeightsOnly : public ::testing::TestWithParam<Case> {};

TEST_P(ScanWeightsOnly, Answer) {
  const WeightsOnly answer = scan_text(GetParam().bytes).weights_only;
  const std::string_view reason = GetParam().reason;
  EXPECT_EQ(answer.answer, reason.empty() ? WeightsOnly::Answer::accepts : WeightsOnly::Answer::refuses) << answer.reason;
  EXPECT_NE(answer.reason.find(reason), std::string::npos) << answer.reason;
}

INSTANTIATE_TEST_SUITE_P(Torch, ScanWeightsOnly, ::testing::ValuesIn(pickles()));

TEST(ScanWeightsOnlyOfTwins, TheFirstIsTheOneThatTorchReads) {
  for (const bool evil_first : {true, false}) {
    ZipBuilder zip;
    for (const bool evil : {evil_first, !evil_first}) zip.add(torch_member("archive/data.pkl", bytes_of(evil ? kEvil : kBenign)));
    zip.add(torch_member("archive/version", bytes_of("3\n")));
    const Report report = scan_text(text_of(zip.build()));
    EXPECT_EQ(report.verdict, Verdict::dangerous);
    EXPECT_EQ(report.weights_only.answer, evil_first ? WeightsOnly::Answer::refuses : WeightsOnly::Answer::accepts)
        << report.weights_only.reason;
  }
}

TEST(ScanWeightsOnlyOfSafetensors, TheNameDecides) {
  const auto answer = [](std::string_view name, std::string_view bytes) {
    const MemorySource source(bytes_of(bytes));
    return scan::scan_file(source, name, {})->weights_only;
  };
  const std::string whole = "\2\0\0\0\0\0\0\0{}"s;
  EXPECT_EQ(answer("m.safetensors", whole).answer, WeightsOnly::Answer::accepts);
  EXPECT_EQ(answer("m.pt", whole).answer, WeightsOnly::Answer::does_not_apply);
  EXPECT_EQ(answer("m.safetensors", whole + "x").answer, WeightsOnly::Answer::refuses);
  EXPECT_NE(answer("m.safetensors", whole + "x").reason.find("1 byte follows"), std::string::npos);
}

}  // namespace
}  // namespace assay::scan
