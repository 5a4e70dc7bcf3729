// SPDX-License-Identifier: Apache-2.0
// What gets past scanners, one row each: the stream itself.
#include <gtest/gtest.h>

#include <vector>

#include "unit/analysis/scan_helpers.hpp"

namespace assay::scan {
namespace {

using namespace assay::testing;

struct Case {
  const char* name;
  std::string bytes;
  Verdict verdict;
  Status status;
};

void PrintTo(const Case& row, std::ostream* out) { *out << row.name; }

constexpr auto kClean = Verdict::clean, kUnknown = Verdict::unknown;
constexpr auto kDanger = Verdict::dangerous;
constexpr auto kComplete = Status::complete, kMalformed = Status::malformed, kIncomplete = Status::incomplete;

std::string repeated(std::string_view text, std::size_t n) {
  std::string out;
  out.reserve(text.size() * n);
  for (std::size_t i = 0; i < n; ++i) out += text;
  return out;
}

/// A memo of "os" and "system" behind decoys.
std::string memo_gap() {
  return proto(4) + short_text("os") + "\x94" + "0" + short_text("system") + "\x94" + "0" + short_text("decoy") + short_text("more") +
         "00" + "h\0"s + "h\1" + "\x93" + call1(text("true")) + ".";
}

/// numpy.dtype(code) with these flags and fields, as numpy pickles it.
std::string dtype(std::string_view code, std::string_view flags, std::string_view fields = "N") {
  return global("numpy", "dtype") + "(" + text(code) + "\x89\x88tR(K\3" + text("|") + "NN" + std::string(fields) +
         "J\xff\xff\xff\xffJ\xff\xff\xff\xffI" + std::string(flags) + "\ntb";
}

std::vector<Case> streams() {
  const std::string body = kEvilBody, no_proto = call_of("os", "system");
  return {
      {"plain", kEvil, kDanger, kComplete},
      {"benign", kBenign, kClean, kComplete},
      {"broken tail", body + "\xff\xff\xff", kDanger, kMalformed},
      {"no STOP", body, kDanger, kMalformed},
      {"cut in an operand", body + "X" + le(0x7fffffff, 4) + "ab", kDanger, kMalformed},
      {"second pickle", kBenign + kEvil, kDanger, kComplete},
      {"second benign pickle", kBenign + kBenign, kClean, kComplete},
      {"junk between pickles", kBenign + "\xff\xfe" + kEvil, kDanger, kIncomplete},
      {"junk behind", kBenign + "\xff\xfe\xfd\xfc", kClean, kIncomplete},
      {"blanks behind", kBenign + "\n\n  \0\0"s, kClean, kComplete},
      {"thousands of streams", repeated("N.", 20000) + kEvil, kDanger, kComplete},
      {"left over items", proto(2) + "(K\1" + no_proto + ".", kDanger, kComplete},
      {"result thrown away", body + "0}.", kDanger, kComplete},
      {"protocol 9", proto(9) + no_proto + ".", kDanger, kMalformed},
      {"PROTO in the middle", no_proto + proto(2) + ".", kDanger, kComplete},
      {"PROTO twice", proto(2) + no_proto + proto(4) + ".", kDanger, kComplete},
      {"no PROTO", no_proto + ".", kDanger, kComplete},
      {"another name for who forgets the rest of a frame",
       proto(4) + "\x95" + le(3, 8) + "cxx" + "os\nsystem\n" + call1(text("true")) + ".", kDanger, kMalformed},
      {"another string for who forgets the rest of a frame",
       proto(4) + "\x95" + le(5, 8) + "X" + le(2, 4) + "os" + short_text("system") + "\x93" + call1(text("true")) + ".", kDanger,
       kMalformed},
      {"protocol 9 and far away", proto(9) + "B" + le(5000, 4) + std::string(5000, 'x') + "0" + no_proto + ".", kDanger, kMalformed},
      {"a broken name but for who forgets the rest of a frame, without PROTO",
       "(\x95" + le(5, 8) + "ck\xd0\xbe\x95" + "os\nsystem\n" + call1(text("true")) + ".", kDanger, kMalformed},
      {"short frame", proto(4) + "\x95" + le(2, 8) + no_proto + ".", kDanger, kMalformed},
      {"frame past the end", proto(4) + "\x95" + le(std::uint64_t{1} << 62, 8) + no_proto + ".", kDanger, kMalformed},
      {"frame in a frame", proto(4) + "\x95" + le(30, 8) + "N" + "\x95" + le(2, 8) + "0" + no_proto + ".", kDanger, kMalformed},
      {"INST", "(S'true'\nios\nsystem\n.", kDanger, kComplete},
      {"OBJ", "(" + global("os", "system") + text("true") + "o.", kDanger, kComplete},
      {"OBJ then POP", "(" + global("os", "system") + text("true") + "o0N.", kDanger, kComplete},
      {"NEWOBJ", proto(2) + global("ctypes", "CDLL") + ")\x81.", kDanger, kComplete},
      {"NEWOBJ_EX", proto(4) + global("subprocess", "Popen") + ")}\x92.", kDanger, kComplete},
      {"BUILD as a call",
       proto(2) + global("collections", "OrderedDict") + ")R}" + text("__setstate__") + global("os", "system") + "sb" + text("true") + "b.",
       kDanger, kComplete},
      {"BUILD of a class", proto(2) + global("collections", "OrderedDict") + "}" + text("a") + "K\1sb.", kUnknown, kComplete},
      {"EXT1", proto(2) + "\x82\x01" + call1(text("true")) + ".", kUnknown, kComplete},
      {"EXT4 alone", proto(2) + "\x84" + le(70000, 4) + ".", kUnknown, kComplete},
      {"names from the memo", memo_gap(), kDanger, kComplete},
      {"memo alias",
       proto(4) + short_text("os") + "q\0"s + "0" + short_text("system") + "q\1" + "0" + "h\0"s + "q\2" + "h\1" + "q\3" + "00" +
           "h\2h\3\x93" + call1(text("true")) + ".",
       kDanger, kComplete},
      {"memo after POP",
       proto(4) + short_text("os") + short_text("x") + "0\x94" + short_text("system") + short_text("y") + "0\x94" + "\x93" +
           call1(text("true")) + ".",
       kDanger, kComplete},
      {"missing memo key", body + "h\x09.", kDanger, kMalformed},
      {"memo holds a number", body + "0K*q\0"s + "0" + "h\0"s + short_text("x") + "\x93.", kDanger, kMalformed},
      {"dotted through torch", proto(4) + stack_global("torch", "serialization.os.system") + call1(text("true")) + ".", kDanger, kComplete},
      {"dotted through random", proto(4) + stack_global("random", "_os.system") + call1(text("true")) + ".", kDanger, kComplete},
      {"dotted GLOBAL", proto(4) + global("torch.library", "torch.utils.collect_env.run") + call1(text("true")) + ".", kDanger, kComplete},
      {"dotted benign", proto(4) + stack_global("collections", "OrderedDict.fromkeys") + call1("]") + ".", kUnknown, kComplete},
      {"submodule", proto(2) + call_of("asyncio.unix_events", "_UnixSubprocessTransport._start") + ".", kDanger, kComplete},
      {"Python 2 thread", call_of("thread", "start_new_thread") + ".", kDanger, kComplete},
      {"Python 2 commands", proto(2) + call_of("commands", "getoutput") + ".", kDanger, kComplete},
      {"Python 2 builtins", proto(2) + call_of("__builtin__", "eval") + ".", kDanger, kComplete},
      {"Python 2 names later", proto(4) + call_of("__builtin__", "eval") + ".", kDanger, kComplete},
      {"STRING names", "S'os'\nS'system'\n\x93" + call1(text("true")) + ".", kDanger, kComplete},
      {"string escapes", "S'\\x6fs'\nS'system'\n\x93" + call1(text("true")) + ".", kDanger, kComplete},
      {"unicode escapes", "V\\u006fs\nVsystem\n\x93" + call1(text("true")) + ".", kDanger, kComplete},
      {"odd memo numbers", "S'os'\np1_0\n0S'system'\np 11\n0g10\ng1_1\n\x93" + call1(text("true")) + ".", kDanger, kComplete},
      {"blank in a name", "cos \nsystem\n" + call1(text("true")) + ".", kUnknown, kComplete},
      {"carriage returns", "cos\r\nsystem\r\n" + call1(text("true")) + ".", kUnknown, kComplete},
      {"NUL in a name", "cos\0\nsystem\n"s + call1(text("true")) + ".", kUnknown, kComplete},
      {"capitals", call_of("OS", "system") + ".", kUnknown, kComplete},
      {"look-alike letters", proto(2) + call_of("\xd0\xbe\xd1\x95", "system") + ".", kUnknown, kComplete},
      {"getattr chain",
       proto(2) + global("builtins", "getattr") + global("builtins", "__import__") + call1(text("os")) + text("system") + "\x86R" +
           call1(text("true")) + ".",
       kDanger, kComplete},
      {"import_module alone", proto(2) + call_of("importlib", "import_module") + ".", kDanger, kComplete},
      {"name computed while loading", proto(4) + stack_global("collections", "OrderedDict") + ")R" + short_text("x") + "\x93.", kDanger,
       kComplete},
      {"map", proto(2) + global("builtins", "map") + global("os", "system") + "]" + text("true") + "a\x86R.", kDanger, kComplete},
      {"defaultdict of system", proto(2) + global("collections", "defaultdict") + call1(global("os", "system")) + ".", kDanger, kComplete},
      {"defaultdict of a type", proto(2) + global("collections", "defaultdict") + call1(global("__builtin__", "list")) + ".", kClean,
       kComplete},
      {"defaultdict of a function",
       proto(2) + global("collections", "defaultdict") + call1(global("torch._utils", "_rebuild_tensor")) + ".", kUnknown, kComplete},
      {"rebuild_from_type of system",
       proto(2) + global("torch._tensor", "_rebuild_from_type_v2") + "(" + global("os", "system") + global("torch", "Tensor") +
           text("true") + "\x85" + "NtR.",
       kDanger, kComplete},
      {"rebuild_from_type of a rebuild",
       proto(2) + global("torch._tensor", "_rebuild_from_type_v2") + "(" + global("torch._utils", "_rebuild_parameter") +
           global("torch", "Tensor") + ")NtR.",
       kClean, kComplete},
      {"rebuild_from_type of a call's result",
       proto(2) + global("torch._tensor", "_rebuild_from_type_v2") + "(" + global("collections", "OrderedDict") + ")R" +
           global("torch", "Tensor") + ")NtR.",
       kDanger, kComplete},
      {"rebuild_from_type planted",
       proto(2) + global("collections", "OrderedDict") + ")R}" + text("__setstate__") + global("torch._tensor", "_rebuild_from_type_v2") +
           "sb)b.",
       kUnknown, kComplete},
      {"getattr planted",
       proto(2) + global("collections", "OrderedDict") + ")R}" + text("__setstate__") + global("builtins", "getattr") + "sb)b.", kDanger,
       kComplete},
      {"load of bytes planted",
       proto(2) + global("collections", "OrderedDict") + ")R}" + text("__setstate__") + global("torch.storage", "_load_from_bytes") +
           "sb)b.",
       kDanger, kComplete},
      {"torch.load", proto(2) + call_of("torch", "load") + ".", kDanger, kComplete},
      {"numpy's builtins", proto(4) + stack_global("numpy", "__builtins__") + ".", kDanger, kComplete},
      {"numpy's runstring", proto(2) + call_of("numpy.testing._private.utils", "runstring") + ".", kDanger, kComplete},
      {"pip", proto(2) + call_of("pip", "main") + ".", kDanger, kComplete},
      {"unlisted callable", proto(2) + call_of("some.module", "function") + ".", kUnknown, kComplete},
      {"unlisted import", proto(2) + global("some.module", "Class") + ".", kUnknown, kComplete},
      {"private module", proto(2) + call_of("_somethingprivate", "f") + ".", kDanger, kComplete},
      {"pickle.loads of bytes", proto(4) + stack_global("pickle", "loads") + call1(bytes_literal(kEvil)) + ".", kDanger, kComplete},
      {"bytes alone", proto(4) + bytes_literal(kEvil) + ".", kClean, kComplete},
      {"code objects", proto(2) + call_of("marshal", "loads") + ".", kDanger, kComplete},
      {"resolve_name", proto(2) + call_of("pkgutil", "resolve_name") + ".", kDanger, kComplete},
      {"persistent text", "Pos.system\n.", kUnknown, kComplete},
      {"persistent URL", proto(2) + text("http://example.com/x") + "Q.", kUnknown, kComplete},
      {"persistent storage as a text", "P('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 4)\n.", kClean, kComplete},
      {"persistent storage as a text, with a view", "P('storage', <class 'torch.HalfStorage'>, '94', 'cuda:0', 4, ('95', 0, 2))\n.", kClean,
       kComplete},
      {"persistent text of another class", "P('storage', <class 'os.FloatStorage'>, '0', 'cpu', 4)\n.", kUnknown, kComplete},
      {"persistent text of no storage", "P('storage', <class 'torch.Storage.x'>, '0', 'cpu', 4)\n.", kUnknown, kComplete},
      {"persistent text with more in it", "P('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 4), open('/tmp/x')\n.", kUnknown,
       kComplete},
      {"persistent text with a call in it", "P('storage', <class 'torch.FloatStorage'>, '0', 'cpu', int('4'))\n.", kUnknown, kComplete},
      {"persistent storage", torch_object(), kClean, kComplete},
      {"persistent storage of a callable",
       proto(2) + "(" + text("storage") + global("os", "FloatStorage") + text("0") + text("cpu") + "K\x04tQ.", kDanger, kComplete},
      {"persistent storage with a computed key",
       proto(2) + "(" + text("storage") + global("torch", "FloatStorage") + global("collections", "OrderedDict") + ")R" + text("cpu") +
           "K\x04tQ.",
       kUnknown, kComplete},
      {"scanner tampering", proto(2) + call_of("picklescan.scanner", "scan_pickle_bytes") + ".", kDanger, kComplete},
      {"FLOAT before", "F1.5\n0" + no_proto + ".", kDanger, kComplete},
      {"BYTEARRAY8 before", proto(5) + "\x96" + le(3, 8) + "abc0" + no_proto + ".", kDanger, kComplete},
      {"buffers before", proto(5) + "\x97\x98" + "0" + no_proto + ".", kDanger, kMalformed},
      {"encode with a codec", proto(2) + global("_codecs", "encode") + text("x") + text("rot13") + "\x86R.", kUnknown, kComplete},
      {"encode in latin1", proto(2) + global("_codecs", "encode") + text("x") + text("latin1") + "\x86R.", kClean, kComplete},
      {"a benign callable called roundabout",
       proto(2) + global("functools", "partial") + call1(global("collections", "OrderedDict")) + ")R.", kUnknown, kComplete},
      {"memory format",
       proto(2) + global("__builtin__", "getattr") + global("torch._utils", "torch") + text("contiguous_format") + "\x86R.", kClean,
       kComplete},
      {"memory format's sister", proto(2) + global("__builtin__", "getattr") + global("torch._utils", "torch") + text("load") + "\x86R.",
       kDanger, kComplete},
      {"module instance", proto(2) + global("torch.nn.modules.linear", "Linear") + ")\x81}b.", kClean, kComplete},
      {"module constructed", proto(2) + global("torch.nn.modules.linear", "Linear") + "K\1K\2\x86R.", kUnknown, kComplete},
      {"a value called", proto(2) + global("torch", "float32") + ")R.", kUnknown, kComplete},
      {"an encoding for bytes", proto(3) + global("builtins", "str") + bytes_literal("x") + text("made.up") + "\x86R.", kUnknown,
       kComplete},
      {"latin-1 for a bytearray", proto(2) + global("__builtin__", "bytearray") + text("x") + text("latin-1") + "\x86R.", kClean,
       kComplete},
      {"an object of protocol 0",
       proto(0) + global("copy_reg", "_reconstructor") + "(" + global("argparse", "Namespace") + global("__builtin__", "object") + "NtR}b.",
       kClean, kComplete},
      {"a constructor through copyreg",
       proto(2) + global("copy_reg", "_reconstructor") + "(" + global("torch.optim.adam", "Adam") + global("torch.optim.adam", "Adam") +
           text("x") + "tR.",
       kUnknown, kComplete},
      {"the type of None", proto(2) + global("__builtin__", "type") + "N\x85R.", kClean, kComplete},
      {"a class made by type", proto(2) + global("__builtin__", "type") + "(" + text("X") + ")}tR.", kDanger, kComplete},
      {"an annotation",
       proto(4) + stack_global("_operator", "getitem") + stack_global("typing", "List") + stack_global("builtins", "int") + "\x86R.",
       kClean, kComplete},
      {"an item of something else",
       proto(4) + stack_global("_operator", "getitem") + stack_global("sys", "modules") + text("os") + "\x86R.", kDanger, kComplete},
      {"an annotation in tuples that double",
       proto(4) + stack_global("_operator", "getitem") + stack_global("typing", "Tuple") + stack_global("builtins", "int") +
           repeated("2\x86", 60) + "\x86R.",
       kDanger, kComplete},
      {"an activation below protocol 4",
       proto(2) + global("__builtin__", "getattr") + global("torch._C", "_VariableFunctionsClass") + text("tanh") + "\x86R.", kClean,
       kComplete},
      {"an activation", proto(4) + stack_global("torch._C", "_VariableFunctionsClass.tanh") + ".", kClean, kComplete},
      {"a function that is no activation",
       proto(2) + global("__builtin__", "getattr") + global("torch._C", "_VariableFunctionsClass") + text("from_file") + "\x86R.", kDanger,
       kComplete},
      {"numpy's type of objects", proto(2) + dtype("O8", "63") + ".", kClean, kComplete},
      {"numpy's type of numbers", proto(2) + dtype("f4", "0") + ".", kClean, kComplete},
      {"a type of objects that says it has none", proto(2) + dtype("O8", "0") + ".", kDanger, kComplete},
      {"objects behind a byte order", proto(2) + dtype("|O", "0") + ".", kDanger, kComplete},
      {"a type of unknown spelling that says so", proto(2) + dtype("f4,O", "0") + ".", kDanger, kComplete},
      {"a field of objects that is not told", proto(2) + dtype("V8", "0", "}" + text("a") + dtype("O8", "63") + "K\0\x86s"s) + ".", kDanger,
       kComplete},
      {"a field of objects", proto(2) + dtype("V8", "27", "}" + text("a") + dtype("O8", "63") + "K\0\x86s"s) + ".", kClean, kComplete},
      {"items into a class", proto(2) + global("collections", "OrderedDict") + text("a") + "K\1s.", kUnknown, kComplete},
  };
}

std::vector<Case> resources() {
  return {
      {"BINUNICODE8 of 2^60", proto(4) + "\x8d" + le(std::uint64_t{1} << 60, 8) + "ab", kClean, kMalformed},
      {"BINBYTES8 of 2^60", proto(4) + "\x8e" + le(std::uint64_t{1} << 60, 8) + "ab", kClean, kMalformed},
      {"BYTEARRAY8 of 2^40", proto(5) + "\x96" + le(std::uint64_t{1} << 40, 8) + "ab", kClean, kMalformed},
      {"LONG4 huge", proto(2) + "\x8b" + le(0x7fffffff, 4) + "a", kClean, kMalformed},
      {"LONG4 negative", proto(2) + "\x8b" + le(0xffffffff, 4) + ".", kClean, kMalformed},
      {"BINSTRING negative", proto(2) + "T" + le(0xffffffff, 4) + ".", kClean, kMalformed},
      {"far memo", proto(2) + "Nr" + le(0xffffffff, 4) + ".", kClean, kComplete},
      {"nested lists", proto(2) + repeated("]", 200000) + repeated("a", 199999) + ".", kClean, kComplete},
      {"nested tuples", proto(2) + "N" + repeated("\x85", 200000) + ".", kClean, kComplete},
      {"doubling", proto(2) + "N" + repeated("2\x86", 64) + ".", kClean, kComplete},
      {"states on states", proto(2) + global("collections", "OrderedDict") + ")R" + repeated("}" + text("a") + "Nsb", 30000) + ".", kClean,
       kComplete},
      {"one large state again and again",
       proto(2) + global("collections", "OrderedDict") + ")R}(" + repeated(text("key") + "N", 30000) + "uq\1b" + repeated("h\1b", 30000) +
           ".",
       kClean, kComplete},
      {"items behind states",
       proto(2) + global("collections", "deque") + ")R" + repeated("}" + text("a") + "Nsb", 10000) + repeated("Na", 30000) + ".", kClean,
       kComplete},
      {"imports in unknown bytes", std::string(10, '\xfe') + repeated("ca\nb\n", 400000), kClean, kIncomplete},
      {"texts in unknown bytes", std::string(10, '\xfe') + repeated("S'", 1000000), kClean, kIncomplete},
      {"list in itself", proto(2) + "]q\0"s + "h\0"s + "a.", kClean, kComplete},
      {"a million marks", proto(2) + repeated("(", 1000000), kClean, kMalformed},
      {"digits", "L" + repeated("7", 5000) + "L\n.", kClean, kComplete},
      {"huge name", proto(2) + "c" + repeated("a.", 500000) + "b\nc\n.", kClean, kIncomplete},
      {"stack underflow", proto(2) + "R.", kClean, kMalformed},
      {"no mark", proto(2) + "t.", kClean, kMalformed},
      {"SETITEM on a tuple", proto(2) + ")K\1K\2s.", kClean, kMalformed},
      {"BUILD on a number", proto(2) + "K\1}b.", kClean, kMalformed},
      {"negative PUT", proto(2) + "Np-1\n.", kClean, kMalformed},
  };
}

class ScanStream : public ::testing::TestWithParam<Case> {};

TEST_P(ScanStream, Answer) {
  const Report report = scan_text(GetParam().bytes);
  EXPECT_EQ(verdict_name(report.verdict), verdict_name(GetParam().verdict))
      << (report.findings.empty() ? "" : report.findings.list()[0].message);
  EXPECT_EQ(status_name(report.status), status_name(GetParam().status))
      << (report.findings.empty() ? "" : report.findings.list().back().message);
}

INSTANTIATE_TEST_SUITE_P(Evasions, ScanStream, ::testing::ValuesIn(streams()));
INSTANTIATE_TEST_SUITE_P(Resources, ScanStream, ::testing::ValuesIn(resources()));

TEST(ScanPickle, ImportsBeyondTheBoundAreCountedAndDangerousOnesKept) {
  std::string many = proto(2);
  for (std::size_t i = 0; i < scan::Report::kMostImports + 5; ++i) many += global("m", "n" + std::to_string(i)) + "0";
  many += global("m", "n7") + "0" + global("os", "system") + ".";
  const Report report = scan_text(many);
  EXPECT_EQ(report.imports.size(), scan::Report::kMostImports + 1);
  EXPECT_EQ(report.imports_left_out, 5u);
  EXPECT_EQ(report.imports[7].times, 2u);
  EXPECT_EQ(report.imports.back().name, "os.system");
  EXPECT_EQ(report.verdict, Verdict::dangerous);
}

TEST(ScanPickle, BillionLaughsCostsWhatItIs) {
  std::string laughs = proto(2) + "]q\0"s;
  for (int i = 0; i < 10; ++i) laughs += text("lol") + "a";
  for (int level = 1; level <= 30; ++level) {
    laughs += "]q" + le(static_cast<std::uint64_t>(level), 1);
    for (int i = 0; i < 10; ++i) laughs += "h" + le(static_cast<std::uint64_t>(level - 1), 1) + "a";
  }
  const Report report = scan_text(laughs + ".");
  EXPECT_TRUE(report.clean());
}

TEST(ScanPickle, SaysWhatWouldBeCalledAndWhere) {
  const Report report = scan_text(kEvil);
  ASSERT_EQ(report.calls.size(), 1u);
  EXPECT_EQ(report.calls[0].words, "would call os.system('true')");
  EXPECT_EQ(report.calls[0].callable, "os.system");
  EXPECT_EQ(report.calls[0].arguments, "'true'");
  EXPECT_EQ(report.calls[0].place.position, kEvil.size() - 2);
  ASSERT_EQ(report.imports.size(), 1u);
  EXPECT_EQ(report.imports[0].name, "os.system");
  EXPECT_EQ(report.imports[0].place.position, 2u);
  EXPECT_TRUE(report.findings.has(Code::dangerous_call));
  EXPECT_TRUE(report.findings.has(Code::dangerous_import));
}

TEST(ScanPickle, SaysWhatAPlantedMethodWouldCall) {
  const std::string made = proto(2) + global("collections", "OrderedDict") + ")R";
  const auto planted = [](std::string_view name) { return "}" + text(name) + global("os", "system") + "sb"; };
  const Report state = scan_text(made + planted("__setstate__") + text("true") + "b.");
  ASSERT_EQ(state.calls.size(), 1u);
  EXPECT_EQ(state.calls[0].words, "would call os.system('true'), planted as __setstate__");
  EXPECT_EQ(state.calls[0].callable, "os.system");
  const Report item = scan_text(made + planted("append") + text("true") + "a.");
  ASSERT_EQ(item.calls.size(), 1u);
  EXPECT_EQ(item.calls[0].words, "would call os.system('true'), planted as append");
  // The planting itself calls nothing, and a state that came later was not there yet.
  EXPECT_TRUE(scan_text(made + text("true") + "b" + planted("__setstate__") + ".").calls.empty());
}

TEST(ScanPickle, FoldsConstantsIntoTheNameThatIsCalled) {
  const std::string import_os = global("builtins", "__import__") + call1(text("os"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {global("builtins", "getattr") + import_os + text("system") + "\x86R", "os.system"},
      {global("builtins", "getattr") + global("importlib", "import_module") + call1(text("os.path")) + text("join") + "\x86R",
       "os.path.join"},
      {global("operator", "attrgetter") + call1(text("path.join")) + call1(import_os), "os.path.join"},
      {global("functools", "partial") + call1(global("os", "system")), "os.system"},
      {global("pkgutil", "resolve_name") + call1(text("os:system")), "os.system"},
      {global("operator", "getitem") + global("builtins", "vars") + call1(import_os) + text("system") + "\x86R", "os.system"},
      {global("operator", "getitem") + global("sys", "modules") + text("os") + "\x86R", "os"},
  };
  for (const auto& [callable, name] : cases) {
    const Report report = scan_text(proto(3) + callable + call1(text("true")) + ".");
    EXPECT_EQ(report.verdict, Verdict::dangerous);
    ASSERT_FALSE(report.calls.empty());
    EXPECT_EQ(report.calls.back().callable, name);
  }
  const Report method =
      scan_text(proto(3) + global("operator", "methodcaller") + "(" + text("system") + text("true") + "tR" + call1(import_os) + ".");
  EXPECT_EQ(method.calls.back().callable, "os.system");
}

TEST(ScanPickle, KnowsTheStorageClassOfEveryType) {
#define ASSAY_DTYPE(id, name, bits, kind, torch, storage_class) storage_class,
  for (const std::string_view name : {
#include "assay/dtypes.def"
       })
#undef ASSAY_DTYPE
    EXPECT_TRUE(name.empty() || scan_text(proto(2) + global("torch", name) + ".").clean()) << name;
}

// Below protocol 4 a class within a class is an attribute; what is known is known by that name too.
TEST(ScanPickle, KnowsAClassWithinAClassByEitherName) {
  constexpr std::string_view kModule = "torch.distributed._shard.sharded_tensor.api";
  const auto get = [&](std::string_view inner) {
    return global("__builtin__", "getattr") + global(kModule, "ShardedTensor") + text(inner) + "\x86R";
  };
  const std::string state = ")\x81}" + text("rank") + "K\0sb."s;
  EXPECT_TRUE(scan_text(proto(2) + get("ProcessGroupState") + state).clean());
  EXPECT_TRUE(scan_text(proto(4) + stack_global(kModule, "ShardedTensor.ProcessGroupState") + state).clean());
  EXPECT_FALSE(scan_text(proto(2) + get("ProcessGroupStates") + state).clean());
  EXPECT_FALSE(scan_text(proto(2) + get("ProcessGroupState") + "(" + text("a") + text("b") + "tR.").clean());
}

TEST(ScanPickle, AllowsNamesTheUserKnowsButNoDangerousOnes) {
  const std::string file = proto(2) + call_of("my.module", "Thing") + ".";
  EXPECT_EQ(scan_text(file).verdict, Verdict::unknown);
  EXPECT_TRUE(scan_text(file, {.limits = {}, .allowed = {"my.module.Thing"}}).clean());
  EXPECT_EQ(scan_text(file, {.limits = {}, .allowed = {"my.module.Thin", "module.Thing"}}).verdict, Verdict::unknown);
  EXPECT_EQ(scan_text(kEvil, {.limits = {}, .allowed = {"os.system"}}).verdict, Verdict::dangerous);
}

TEST(ScanPickle, ManyImportsOfOneNameAreOneRow) {
  std::string file = proto(2) + "]";
  for (int i = 0; i < 1000; ++i) file += global("torch", "float32") + "a";
  const Report report = scan_text(file + ".");
  ASSERT_EQ(report.imports.size(), 1u);
  EXPECT_EQ(report.imports[0].times, 1000u);
}

TEST(ScanPickle, WhatManyCallsShareIsNotLookedAtForEach) {
  constexpr int kMany = 60'000;
  const auto list = [](const std::string& piece) {
    std::string out = "](";
    for (int i = 0; i < kMany; ++i) out += piece;
    return out + "e.";
  };
  const std::string shared = proto(2) + text(std::string(kMany * 4, 'a')) + "q\0000"s;
  // An attribute of such a name is one that only loading would tell, and the storage is none.
  const auto attribute = scan_text(shared + list("cbuiltins\ngetattr\nctorch\nnn\nh\0\x86R)R"s));
  EXPECT_EQ(attribute.verdict, scan::Verdict::dangerous);
  const auto storage = scan_text(shared + list("(" + text("storage") + "ctorch\nFloatStorage\nh\0"s + text("cpu") + "K\4tQ"));
  EXPECT_EQ(storage.verdict, scan::Verdict::unknown);
  EXPECT_EQ(scan_text(proto(2) + "]" + storage_id("0", 4) + "a.").verdict, scan::Verdict::clean);
}

TEST(ScanPickle, TextIsNoPickle) {
  for (const char* const words :
       {"class Foo:\n  pass\n# end\n", "Copyright 2020\n", "cannot say = 3\nmore words (here)\n", "PyTorch model\n=============\n",
        "Version 2\nauthor\n", "{\"a\": 1}\n", "import os\nos.system('true')\n"}) {
    const Report report = scan_text(words);
    EXPECT_TRUE(report.clean()) << words;
  }
  // But this imports, whatever it looks like.
  EXPECT_EQ(scan_text("cantigravity\nfly\n").verdict, Verdict::dangerous);
  EXPECT_EQ(scan_text("cnobody\nknows\n").verdict, Verdict::unknown);
}

TEST(ScanPickle, LimitsMakeItIncompleteNotClean) {
  Limits limits;
  limits.pickle_nodes = 10;
  const Report report = scan_text(proto(2) + "]" + repeated("Na", 50) + ".", {.limits = limits, .allowed = {}});
  EXPECT_EQ(report.status, Status::incomplete);
  EXPECT_TRUE(report.findings.has(Code::limit_exceeded));
}

TEST(ScanPickle, NeedRangeIsAnError) {
  RangeSource source(1000);
  const auto report = scan_file(source, "file", {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), Code::need_range);
}

}  // namespace
}  // namespace assay::scan
