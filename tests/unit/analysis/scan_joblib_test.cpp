// SPDX-License-Identifier: Apache-2.0
// joblib's pickles, in which the bytes of arrays stand between opcodes: whoever skips the wrong number of them reads other opcodes.
#include <gtest/gtest.h>

#include <vector>

#include "unit/analysis/scan_case.hpp"

namespace assay::scan {
namespace {

using namespace assay::testing;

std::string dtype(std::string_view code, int flags = 0) {
  return stack_global("numpy", "dtype") + short_text(code) + "\x89\x88\x87R" + "(K\3" + short_text("<") + "NNNJ" + le(0xffffffff, 4) + "J" +
         le(0xffffffff, 4) + "K" + le(static_cast<std::uint64_t>(flags), 1) + "tb";
}
/// An instance of joblib's wrapper without attributes, as joblib makes it.
std::string wrapper_object() { return stack_global("joblib.numpy_pickle", "NumpyArrayWrapper") + ")\x81"; }
/// A joblib wrapper of `n` elements with its BUILD; the bytes follow.
std::string wrapper_of(std::string_view type, int n, std::string_view object) {
  return std::string(object) + "}(" + short_text("subclass") + stack_global("numpy", "ndarray") + short_text("shape") + "K" +
         le(static_cast<std::uint64_t>(n), 1) + "\x85" + short_text("order") + short_text("C") + short_text("dtype") + std::string(type) +
         short_text("allow_mmap") + "\x88" + "ub";
}
std::string wrapper(std::string_view code, int n) { return wrapper_of(dtype(code), n, wrapper_object()); }

/// Two names in the memo that are harmless, and a pickle that takes what it calls from its own memo: for who keeps the first memo it calls
/// collections.OrderedDict.
const std::string kOtherMemo = short_text("collections") + "\x94" + "0" + short_text("OrderedDict") + "\x94" + "0";
const std::string kOwnMemo = proto(4) + short_text("os") + "\x94" + "0" + short_text("getcwd") + "\x94" + "0" + "h\0h\1\x93)R."s;

/// A structured type with a field of its own type.
std::string endless_dtype() {
  return stack_global("numpy", "dtype") + short_text("V8") + "\x89\x88\x87R\x94(K\3" + short_text("|") + "NN}" + short_text("a") +
         "h\0K\0\x86sK\x08K\1K\0tb"s;
}
/// Twelve types, each with a dozen fields of the one before.
std::string many_dtypes() {
  std::string types = dtype("f4") + "\x94";
  for (int level = 0; level < 12; ++level) {
    types += "0" + stack_global("numpy", "dtype") + short_text("V8") + "\x89\x88\x87R(K\3" + short_text("|") + "NN}(";
    for (int i = 0; i < 12; ++i) types += short_text("f" + std::to_string(i)) + "h" + le(static_cast<std::uint64_t>(level), 1) + "K\0\x86"s;
    types += "uK\x08K\1K\0tb\x94"s;
  }
  return types + "0";
}

/// joblib.dump({'a': numpy.array([1, None], dtype=object)}), written by joblib 1.6.
std::string joblib_objects() {
  return hex_text("800495d7000000000000007d948c0161948c136a6f626c69622e6e756d70795f7069636b6c65948c114e756d70794172726179577261707065729493"
                  "942981947d94288c08737562636c617373948c056e756d7079948c076e6461727261799493948c057368617065944b0285948c056f72646572948c01"
                  "43948c0564747970659468088c0564747970659493948c024f3894898887945294284b038c017c944e4e4e4affffffff4affffffff4b3f7494628c0a"
                  "616c6c6f775f6d6d617094898c1b6e756d70795f61727261795f616c69676e6d656e745f6279746573944b1075628005958d000000000000008c166e"
                  "756d70792e5f636f72652e6d756c74696172726179948c0c5f7265636f6e7374727563749493948c056e756d7079948c076e6461727261799493944b"
                  "0085944301629487945294284b014b02859468038c0564747970659493948c024f3894898887945294284b038c017c944e4e4e4affffffff4affffff"
                  "ff4b3f749462895d94284b014e657494622e732e");
}

std::vector<Case> pickles() {
  return {
      {"joblib", proto(4) + wrapper("f8", 8) + std::string(64, '\xff') + ".", kClean, kComplete},
      {"joblib with a payload behind the array",
       proto(4) + wrapper("f8", 8) + std::string(64, '\xff') + "0" + call_of("os", "system") + ".", kDanger, kComplete},
      {"joblib's array as opcodes for pickle.load",
       proto(4) + wrapper("f8", 8) + std::string(call_of("os", "system") + "0N." + std::string(64, 'x')).substr(0, 64) + ".", kDanger,
       kComplete},
      {"joblib with an array of objects", proto(4) + wrapper("O8", 1) + kEvil + ".", kDanger, kComplete},
      {"joblib with a type whose flags ask for a pickle",
       proto(4) + kOtherMemo + wrapper_of(dtype("S" + std::to_string(kOwnMemo.size()), 63), 1, wrapper_object()) + kOwnMemo + ".", kDanger,
       kComplete},
      {"joblib with a wrapper made through copyreg",
       proto(4) + kOtherMemo +
           wrapper_of(dtype("O8", 63), 1,
                      stack_global("copyreg", "__newobj__") + stack_global("joblib.numpy_pickle", "NumpyArrayWrapper") + "\x85R") +
           kOwnMemo + ".",
       kDanger, kComplete},
      {"joblib with a wrapper of two states",
       proto(4) + kOtherMemo + wrapper_of(dtype("O8", 63), 0, wrapper_object() + "\x94") + proto(4) + "N." + "0h\2}b" + kOwnMemo + ".",
       kDanger, kComplete},
      {"joblib with a type that cannot be told",
       proto(4) + kOtherMemo + wrapper_of(stack_global("numpy.dtypes", "ObjectDType") + ")R", 1, wrapper_object()) + kOwnMemo + ".",
       kDanger, kMalformed},
      {"joblib with a type that has itself for a field", proto(4) + wrapper_of(endless_dtype(), 1, wrapper_object()) + "12345678.", kClean,
       kMalformed},
      {"joblib with types that double", proto(4) + many_dtypes() + wrapper_of("h\x0c", 1, wrapper_object()) + "12345678.", kClean,
       kMalformed},
      {"joblib with an honest array of objects", joblib_objects(), kClean, kComplete},
      {"joblib with a wrapper that says nothing",
       proto(4) + stack_global("joblib.numpy_pickle", "NumpyArrayWrapper") + ")\x81}b" + std::string(64, '\xff') + "0" +
           call_of("os", "system") + ".",
       kDanger, kMalformed},
  };
}

class ScanJoblib : public ::testing::TestWithParam<Case> {};
TEST_P(ScanJoblib, Answer) { expect_answer(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Pickles, ScanJoblib, ::testing::ValuesIn(pickles()));

}  // namespace
}  // namespace assay::scan
