// SPDX-License-Identifier: Apache-2.0
// Every opcode, right and wrong: a stream, what it describes as, and the rule it breaks. What is expected here is what CPython's
// C unpickler does with the same bytes.
#include <gtest/gtest.h>

#include <set>

#include "containers/pickle/opcodes.hpp"
#include "unit/containers/pickle_streams.hpp"

namespace assay::pickle {
namespace {

using namespace std::literals;

struct Case {
  std::string_view stream, value, broken;
};

const Case kCases[] = {
    // Plain values.
    {"N."sv, "None", ""},
    {"\x88."sv, "True", ""},
    {"\x89."sv, "False", ""},
    {"K\xff."sv, "255", ""},
    {"M\x01\x80."sv, "32769", ""},
    {"J\xfe\xff\xff\xff."sv, "-2", ""},
    {"J\x00\x00\x00\x80."sv, "-2147483648", ""},
    {"G\x3f\xf8\x00\x00\x00\x00\x00\x00."sv, "1.5", ""},
    {"G\x7f\xf8\x00\x00\x00\x00\x00\x00."sv, "nan", ""},
    {"G\xff\xf0\x00\x00\x00\x00\x00\x00."sv, "-inf", ""},
    // Integers as text: C's strtol first, then Python's int() with base 0.
    {"I7\n."sv, "7", ""},
    {"I00\n."sv, "False", ""},
    {"I01\n."sv, "True", ""},
    {"I1\n."sv, "1", ""},
    {"I 1\n."sv, "True", ""},
    {"I+1\n."sv, "True", ""},
    {"I1 \n."sv, "1", ""},
    {"I001\n."sv, "1", ""},
    {"I010\n."sv, "8", ""},
    {"I0x1F\n."sv, "31", ""},
    {"I0b101\n."sv, "5", ""},
    {"I1_0\n."sv, "10", ""},
    {"I5\0zz\n."sv, "5", ""},
    {"I9223372036854775807\n."sv, "9223372036854775807", ""},
    {"I9223372036854775808\n."sv, "9223372036854775808", ""},
    {"I-9223372036854775808\n."sv, "-9223372036854775808", ""},
    {"I-9223372036854775809\n."sv, "-9223372036854775809", ""},
    {"I\n."sv, "", "malformed-pickle@0 INT has no number"},
    {"I1__0\n."sv, "", "malformed-pickle@0 INT '1__0' is no integer"},
    {"I08\n."sv, "", "malformed-pickle@0 INT '08' is no integer"},
    {"I- 1\n."sv, "", "malformed-pickle@0 INT '- 1' is no integer"},
    {"L5L\n."sv, "5", ""},
    {"L-5\n."sv, "-5", ""},
    {"L0x1fL\n."sv, "31", ""},
    {"L00L\n."sv, "0", ""},
    {"L 7 L\n."sv, "7", ""},
    {"L123456789012345678901234567890L\n."sv, "123456789012345678901234567890", ""},
    {"L-18446744073709551616L\n."sv, "-18446744073709551616", ""},
    {"L010L\n."sv, "", "malformed-pickle@0 LONG '010' is no integer"},
    {"L5LL\n."sv, "", "malformed-pickle@0 LONG '5L' is no integer"},
    {"L\n."sv, "", "malformed-pickle@0 LONG has no number"},
    {"\x8a\x00."sv, "0", ""},
    {"\x8a\x01\xff."sv, "-1", ""},
    {"\x8a\x02\xff\x00."sv, "255", ""},
    {"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."sv, "-9223372036854775808", ""},
    {"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00."sv, "18446744073709551615", ""},
    {"\x8a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff."sv, "-1", ""},
    {"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\xff."sv, "-18446744073709551616", ""},
    {"\x8b\x02\x00\x00\x00\x00\x01."sv, "256", ""},
    {"\x8b\xff\xff\xff\xff."sv, "", "malformed-pickle@0 LONG4 has a negative length, -1"},
    {"\x8b\xff\xff\xff\x7f."sv, "", "truncated@0 LONG4 needs 2,147,483,647 bytes, 1 are left"},
    // Floats as text.
    {"F1.5\n."sv, "1.5", ""},
    {"F-.5e-3\n."sv, "-0.0005", ""},
    {"F5.\n."sv, "5.0", ""},
    {"F1e16\n."sv, "1e+16", ""},
    {"F+Inf\n."sv, "inf", ""},
    {"FNaN\n."sv, "nan", ""},
    {"F1e-400\n."sv, "0.0", ""},
    {"F1.5\0x\n."sv, "1.5", ""},
    {"F1e400\n."sv, "", "malformed-pickle@0 FLOAT '1e400' is no float"},
    {"F 1\n."sv, "", "malformed-pickle@0 FLOAT ' 1' is no float"},
    {"F1_0\n."sv, "", "malformed-pickle@0 FLOAT '1_0' is no float"},
    {"F1e\n."sv, "", "malformed-pickle@0 FLOAT '1e' is no float"},
    {"F0x1p3\n."sv, "", "malformed-pickle@0 FLOAT '0x1p3' is no float"},
    {"F\n."sv, "", "malformed-pickle@0 FLOAT '' is no float"},
    // Texts.
    {"X\x02\x00\x00\x00\xc3\xa9."sv, "'é'", ""},
    {"\x8c\x00."sv, "''", ""},
    {"\x8d\x01\x00\x00\x00\x00\x00\x00\x00z."sv, "'z'", ""},
    {"X\x03\x00\x00\x00\xed\xa0\x80."sv, "'\\xed\\xa0\\x80'", ""},
    {"X\x01\x00\x00\x00\xff."sv, "", "malformed-pickle@0 BINUNICODE is not UTF-8"},
    {"\x8c\x02\xc0\x80."sv, "", "malformed-pickle@0 SHORT_BINUNICODE is not UTF-8"},
    {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff"sv, "", "truncated@0 BINUNICODE8 needs 18,446,744,073,709,551,615 bytes, 0 are left"},
    {"V\\u00e9\\\\n\n."sv, "'é\\\\\\\\n'", ""},
    {"V\xe9\n."sv, "'é'", ""},
    {"V\\U0001F600\n."sv, "'😀'", ""},
    {"V\\\\u0041\n."sv, "'\\\\\\\\u0041'", ""},
    {"V\n."sv, "''", ""},
    {"V\\u12\n."sv, "", "malformed-pickle@0 UNICODE has a broken escape '\\\\u12'"},
    {"V\\U00110000\n."sv, "", "malformed-pickle@0 UNICODE has a broken escape '\\\\U00110000'"},
    {"S'a\\x41\\101\\n\\q'\n."sv, "'aAA\\n\\\\q'", ""},
    {"S\"it's\"\n."sv, "'it's'", ""},
    {"S'\\377'\n."sv, "b'\\xff'", ""},
    {"S'a\"\n."sv, "", "malformed-pickle@0 STRING 'a\" is not quoted"},
    {"S'\n."sv, "", "malformed-pickle@0 STRING ' is not quoted"},
    {"S'\\'\n."sv, "", "malformed-pickle@0 STRING ends with a lone backslash"},
    {"S'\\x4'\n."sv, "", "malformed-pickle@0 STRING has a broken escape '\\\\x4'"},
    {"T\x01\x00\x00\x00s."sv, "'s'", ""},
    {"T\xff\xff\xff\xff."sv, "", "malformed-pickle@0 BINSTRING has a negative length, -1"},
    {"U\x02\xc3\xa9."sv, "'é'", ""},
    {"U\x01\xe9."sv, "b'\\xe9'", ""},
    {"B\x01\x00\x00\x00\x00."sv, "b'\\x00'", ""},
    {"C\x02hi."sv, "b'hi'", ""},
    {"\x8e\x01\x00\x00\x00\x00\x00\x00\x00q."sv, "b'q'", ""},
    {"\x96\x01\x00\x00\x00\x00\x00\x00\x00q."sv, "bytearray(b'q')", ""},
    {"\x96\x00\x00\x00\x00\x00\x01\x00\x00."sv, "", "truncated@0 BYTEARRAY8 needs 1,099,511,627,776 bytes, 1 are left"},
    // Containers.
    {")."sv, "()", ""},
    {"]."sv, "[]", ""},
    {"}."sv, "{}", ""},
    {"\x8f."sv, "set()", ""},
    {"(K\x01K\x02t."sv, "(1, 2)", ""},
    {"(t."sv, "()", ""},
    {"(NNl."sv, "[None, None]", ""},
    {"N\x85."sv, "(None,)", ""},
    {"NN\x86."sv, "(None, None)", ""},
    {"NNN\x87."sv, "(None, None, None)", ""},
    {"(K\x01K\x02K\x03K\x04"
     "d."sv,
     "{1: 2, 3: 4}", ""},
    {"(Nd."sv, "", "malformed-pickle@2 DICT of an odd number of items, 1"},
    {"(]Nd."sv, "", "malformed-pickle@3 DICT with a list as key, which cannot be hashed"},
    {"(K\x01K\x02\x91."sv, "frozenset({1, 2})", ""},
    {"(}\x91."sv, "", "malformed-pickle@2 FROZENSET with a dict as item, which cannot be hashed"},
    {"]K\x01"
     "a."sv,
     "[1]", ""},
    {"](K\x01K\x02"
     "e."sv,
     "[1, 2]", ""},
    {"N(e."sv, "None", ""},
    {"NNa."sv, "", "malformed-pickle@2 APPEND to None"},
    {")(Ne."sv, "", "malformed-pickle@3 APPENDS to a tuple"},
    {"(Ne."sv, "", "malformed-pickle@2 APPENDS finds nothing to change below its mark"},
    {"}K\x01K\x02s."sv, "{1: 2}", ""},
    {"}(K\x01K\x02K\x01K\x03u."sv, "{1: 2, 1: 3}", ""},
    {"}(Nu."sv, "", "malformed-pickle@3 SETITEMS of an odd number of items, 1"},
    {"}]Ns."sv, "", "malformed-pickle@3 SETITEM with a list as key, which cannot be hashed"},
    {"}(]tNs."sv, "", "malformed-pickle@5 SETITEM with a tuple as key, which cannot be hashed"},
    {"})\x85Ns."sv, "{((),): None}", ""},
    {")NNs."sv, "", "malformed-pickle@3 SETITEM of a tuple"},
    {"](NNeK\x01K\x05s."sv, "[None, 5]", ""},
    {"]NK\x02s."sv, "", "malformed-pickle@4 SETITEM of a list at None"},
    {"]K\x00Ns."sv, "", "malformed-pickle@4 SETITEM of a list at 0, it has 0 items"},
    {"\x8f(K\x01K\x02\x90."sv, "{1, 2}", ""},
    {"\x8f(]\x90."sv, "", "malformed-pickle@3 ADDITEMS with a list as item, which cannot be hashed"},
    {"](N\x90."sv, "", "malformed-pickle@3 ADDITEMS to a list"},
    {"(N\x91(N\x90."sv, "", "malformed-pickle@5 ADDITEMS to a frozenset"},
    // The stack, its marks and the memo.
    {"K\x01N0."sv, "1", ""},
    {"K\x01(0."sv, "1", ""},
    {"0."sv, "", "malformed-pickle@0 POP needs 1 stack item, 0 are there"},
    {"K\x01(NN1."sv, "1", ""},
    {"1."sv, "", "malformed-pickle@0 POP_MARK finds no mark on the stack"},
    {"K\x01"
     "2\x86."sv,
     "(1, 1)", ""},
    {"N(2."sv, "", "malformed-pickle@2 DUP needs 1 stack item, 0 are above the mark"},
    {"N(."sv, "", "malformed-pickle@2 STOP needs 1 stack item, 0 are above the mark"},
    {"(N."sv, "None", ""},
    {"t."sv, "", "malformed-pickle@0 TUPLE finds no mark on the stack"},
    {"N(N\x86."sv, "", "malformed-pickle@3 TUPLE2 needs 2 stack items, 1 are above the mark"},
    {"K\x01q\x05"
     "0h\x05."sv,
     "1", ""},
    {"K\x01r\x00\x00\x00\x01"
     "0j\x00\x00\x00\x01."sv,
     "1", ""},
    {"K\x01r\xff\xff\xff\xff"
     "0j\xff\xff\xff\xff."sv,
     "1", ""},
    {"K\x01p1_0\n0g 010\n."sv, "1", ""},
    {"K\x01p-1\n."sv, "", "malformed-pickle@2 PUT with memo index -1, which no memo has"},
    {"K\x01p\n."sv, "", "malformed-pickle@2 PUT with memo index '', which is no number"},
    {"g0x1\n."sv, "", "malformed-pickle@0 GET with memo index '0x1', which is no number"},
    {"h\x07."sv, "", "malformed-pickle@0 BINGET 7 at a memo entry that was never set"},
    {"q\x01."sv, "", "malformed-pickle@0 BINPUT needs 1 stack item, 0 are there"},
    {"K\x05q\x07\x94"
     "0h\x01."sv,
     "5", ""},
    {"K\x05\x94K\x06\x94"
     "0h\x01\x86."sv,
     "(5, 6)", ""},
    // Names, calls and states.
    {"cos\nsystem\n."sv, "os.system", ""},
    {"c\nsystem\n."sv, "", "malformed-pickle@0 GLOBAL of '\\nsystem' has an empty module"},
    {"cos\n\n."sv, "", "malformed-pickle@0 GLOBAL of 'os\\n' has an empty name"},
    {"c\xff\nx\n."sv, "", "malformed-pickle@0 GLOBAL of '\\xff\\nx' is not UTF-8"},
    {"\x8c\x01m\x8c\x01n\x93."sv, "m.n", ""},
    {"S'm'\nVn\n\x93."sv, "m.n", ""},
    {"K\x01\x8c\x01n\x93."sv, "", "malformed-pickle@5 STACK_GLOBAL with an int where a str must be"},
    {"ca\nb\n)R\x8c\x01n\x93."sv, "?.n", ""},
    {"ca\nb\n(K\x01tR."sv, "a.b(1)", ""},
    {"K\x01)R."sv, "", "malformed-pickle@3 REDUCE calls an int"},
    {"ca\nb\n]R."sv, "", "malformed-pickle@6 REDUCE with a list where a tuple must be"},
    {"ca\nb\n)\x81."sv, "a.b()", ""},
    {"ca\nb\nN\x81."sv, "", "malformed-pickle@6 NEWOBJ with None where a tuple must be"},
    {"ca\nb\n)}\x92."sv, "a.b(**{})", ""},
    {"ca\nb\n))\x92."sv, "", "malformed-pickle@7 NEWOBJ_EX with a tuple where a dict must be"},
    {"(K\x01ia\nb\n."sv, "a.b(1)", ""},
    {"ia\nb\n."sv, "", "malformed-pickle@0 INST finds no mark on the stack"},
    {"(i\xc3\xa9\nb\n."sv, "", "malformed-pickle@1 INST of 'é\\nb' is not ASCII"},
    {"(ca\nb\nK\x01o."sv, "a.b(1)", ""},
    {"(o."sv, "", "malformed-pickle@1 OBJ finds no class above its mark"},
    {"(K\x01o."sv, "", "malformed-pickle@3 OBJ calls an int"},
    {"ca\nb\n)R}b."sv, "a.b().build({})", ""},
    {"ca\nb\n)R(NNeK\x01"
     "a."sv,
     "a.b()[None, None, 1]", ""},
    {"ca\nb\n)R(K\x01K\x02u]Ns."sv, "a.b(){1: 2, []: None}", ""},
    {"K\x01}b."sv, "", "malformed-pickle@3 BUILD of an int with a dict"},
    {"]Nb."sv, "[]", ""},
    {"N(NNtb."sv, "", "malformed-pickle@5 BUILD of None with a tuple"},
    {"N(N}tb."sv, "None", ""},
    {"Pabc\n."sv, "persistent('abc')", ""},
    {"P\xc3\xa9\n."sv, "", "malformed-pickle@0 PERSID of 'é' is not ASCII"},
    {"K\x01Q."sv, "persistent(1)", ""},
    {"\x82\x05."sv, "extension(5)", ""},
    {"\x83\x00\x80."sv, "extension(32768)", ""},
    {"\x84\x01\x00\x00\x01."sv, "extension(16777217)", ""},
    {"\x84\xff\xff\xff\xff."sv, "", "malformed-pickle@0 EXT4 with code -1, which is below 1"},
    {"\x82\x00."sv, "", "malformed-pickle@0 EXT1 with code 0, which is below 1"},
    {"C\x01x\x98."sv, "b'x'", ""},
    {"N\x98."sv, "", "malformed-pickle@1 READONLY_BUFFER of None"},
    {"\x96\x01\x00\x00\x00\x00\x00\x00\x00xK\x07"
     "a."sv,
     "bytearray(b'x')", ""},
    {"\x96\x01\x00\x00\x00\x00\x00\x00\x00xNa."sv, "", "malformed-pickle@11 APPEND to a bytearray of what is no byte"},
    // The stream itself.
    {""sv, "", "truncated@0 pickle ends after 0 bytes without STOP"},
    {"\x80\x05N"sv, "", "truncated@3 pickle ends after 3 bytes without STOP"},
    {"\x80\x05N."sv, "None", ""},
    {"\x80"sv, "", "truncated@0 PROTO needs 1 byte, 0 are left"},
    {"?"sv, "", "malformed-pickle@0 pickle has no opcode 0x3f '?'"},
    {"\xff"sv, "", "malformed-pickle@0 pickle has no opcode 0xff"},
    {"Ios"sv, "", "truncated@0 INT has no end of line in the 2 bytes left"},
    {"cos\nsystem"sv, "", "truncated@0 GLOBAL has no end of line in the 9 bytes left"},
    {"\x95\x02\x00\x00\x00\x00\x00\x00\x00N."sv, "None", ""},
    {"\x95\x01\x00\x00\x00\x00\x00\x00\x00N."sv, "None", ""},
    // Rules that some readers do not hold: broken, yet read to the end.
    {"\x80\x09N."sv, "", "malformed-pickle@0 PROTO 9 is above protocol 5, the highest there is"},
    {"\x95\x03\x00\x00\x00\x00\x00\x00\x00N."sv, "", "truncated@0 FRAME of 3 bytes, 2 are left"},
    {"\x95\x02\x00\x00\x00\x00\x00\x00\x00NK\x01."sv, "", "malformed-pickle@10 BININT1 at 10 crosses the end of its frame at 11"},
    {"\x95\x0c\x00\x00\x00\x00\x00\x00\x00N\x95\x02\x00\x00\x00\x00\x00\x00\x00N0."sv, "",
     "malformed-pickle@10 FRAME starts 2 bytes before the end of another frame"},
    {"\x97\x98."sv, "", "malformed-pickle@0 NEXT_BUFFER refers to data that is not in the file"},
};

TEST(PickleOpcodes, DescribesOrBreaks) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(testing::PrintToString(c.stream));
    const Graph graph = parse_text(c.stream);
    EXPECT_EQ(graph.broken() ? "" : describe(graph, graph.root()), c.value);
    EXPECT_EQ(broken_text(graph), c.broken);
    EXPECT_EQ(graph.root() == kNoNode, graph.broken().has_value());
    if (!graph.broken()) {
      EXPECT_EQ(graph.end_offset(), 100 + c.stream.size());
    }
  }
}

TEST(PickleOpcodes, TableCoversEveryOpcode) {
  std::set<std::string_view> seen;
  for (const Case& c : kCases) {
    const ByteView bytes(std::as_bytes(std::span(c.stream)), 0);
    for (std::size_t pos = 0; pos < bytes.size();) {
      const Step step = next_opcode(bytes, pos);
      if (step.row) seen.insert(step.row->name);
      if (step.status != StepStatus::ok) break;
      pos = step.next;
    }
  }
  std::size_t rows = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const Opcode* row = find_opcode(static_cast<std::byte>(byte));
    if (!row) continue;
    ++rows;
    EXPECT_EQ(row->byte, byte);
    EXPECT_TRUE(seen.contains(row->name)) << row->name;
  }
  EXPECT_EQ(rows, 68u);
}

TEST(PickleOpcodes, StepNamesTheArgument) {
  const std::string_view stream = "\x80\x02X\x03\x00\x00\x00"
                                  "abccos\nsystem\nI12\n."sv;
  const ByteView bytes(std::as_bytes(std::span(stream)), 0);
  std::string text;
  for (std::size_t pos = 0; pos < bytes.size();) {
    const Step step = next_opcode(bytes, pos);
    ASSERT_EQ(step.status, StepStatus::ok);
    text += std::string(step.row->name) + '=' + std::string(stream.substr(step.argument, step.argument_size)) + '|';
    pos = step.next;
  }
  EXPECT_EQ(text, "PROTO=\x02|BINUNICODE=abc|GLOBAL=os\nsystem|INT=12|STOP=|");
}

// Every prefix of a stream that is whole is truncated, at the first opcode that misses bytes.
TEST(PickleOpcodes, EveryPrefixIsTruncated) {
  const std::string_view streams[] = {
      "\x80\x02}q\x00(X\x01\x00\x00\x00"
      "aq\x01"
      "ctorch\nSize\nq\x02(K\x01M\x00\x01J\x01\x00\x00\x00tRq\x03X\x01\x00\x00\x00"
      "bG?\xf8\x00\x00\x00\x00\x00\x00u."sv,
      "\x80\x04\x95\x0e\x00\x00\x00\x00\x00\x00\x00]\x94(K\x01\x8c\x02hi\x94\x8a\x01\x05"
      "e."sv,
      "(dp0\nS'a'\np1\nI1\nsVb\nL5L\nsF1.5\n(ios\nsystem\ns."sv,
      "\x80\x05\x96\x02\x00\x00\x00\x00\x00\x00\x00xy\x8e\x01\x00\x00\x00\x00\x00\x00\x00z\x86Q."sv,
  };
  for (const std::string_view stream : streams) {
    ASSERT_EQ(broken_text(parse_text(stream)), "") << testing::PrintToString(stream);
    for (std::size_t n = 0; n < stream.size(); ++n) {
      const Graph graph = parse_text(stream.substr(0, n));
      ASSERT_TRUE(graph.broken()) << n;
      EXPECT_EQ(graph.broken()->code(), Code::truncated) << n << ' ' << broken_text(graph);
      EXPECT_FALSE(graph.reached_stop());
      EXPECT_LE(graph.end_offset(), 100 + n);
    }
  }
}

// Flipping any bit gives a graph whose every part can still be asked about.
TEST(PickleOpcodes, FlippedBitsStayReadable) {
  const std::string_view stream = "\x80\x02}q\x00(X\x01\x00\x00\x00"
                                  "aq\x01"
                                  "ctorch\nSize\nq\x02(K\x01M\x00\x01J\x01\x00\x00\x00tRq\x03X\x01\x00\x00\x00"
                                  "b]q\x04(h\x01h\x04h\x03}K\x01Nsb\x8f(NK\x01\x90"
                                  "euh\x03NQ\x86\x86."sv;
  std::size_t whole = 0;
  for (std::size_t bit = 0; bit < stream.size() * 8; ++bit) {
    std::string flipped(stream);
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const Graph graph = parse_text(flipped);
    whole += !graph.broken();
    for (Node n = 0; n < graph.node_count(); ++n) EXPECT_FALSE(describe(graph, n).empty());
    EXPECT_FALSE(describe(graph, graph.salvage_root()).empty());
    EXPECT_LE(graph.end_offset(), 100 + flipped.size());
    for (const Event& event : graph.events()) EXPECT_LT(event.node, graph.node_count());
  }
  EXPECT_GT(whole, 10u);
}

}  // namespace
}  // namespace assay::pickle
