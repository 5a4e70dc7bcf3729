// SPDX-License-Identifier: Apache-2.0
// The pickle graph as a whole: events, names, ownership, salvage, limits, and files made to cost.
#include "assay/pickle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "unit/containers/pickle_streams.hpp"

namespace assay::pickle {
namespace {

using namespace std::literals;

std::string repeated(std::string_view text, std::size_t n) {
  std::string all;
  all.reserve(text.size() * n);
  for (std::size_t i = 0; i < n; ++i) all += text;
  return all;
}

TEST(Pickle, LogsWhatALoaderWouldDoInOrder) {
  const Graph graph = parse_text("\x80\x02"
                                 "ctorch\nSize\n)Rq\x00}b(K\x01K\x02"
                                 "eh\x00NNs(ios\nsystem\nPx\n\x82\x05"
                                 "0000."sv);
  EXPECT_EQ(broken_text(graph), "");
  EXPECT_EQ(events_text(graph),
            "2 import torch.Size; 15 call torch.Size()[1, 2]{None: None}.build({}); 19 build torch.Size()[1, 2]{None: None}.build({}); "
            "25 mutate torch.Size()[1, 2]{None: None}.build({}); 30 mutate torch.Size()[1, 2]{None: None}.build({}); 32 import os.system; "
            "32 call os.system(); 43 persistent persistent('x'); 46 extension extension(5)");
}

TEST(Pickle, ResultsThrownAwayStayInTheLog) {
  const Graph graph = parse_text("\x80\x02"
                                 "cos\nsystem\nX\x04\x00\x00\x00true\x85R0}."sv);
  EXPECT_EQ(describe(graph, graph.root()), "{}");
  EXPECT_EQ(events_text(graph), "2 import os.system; 23 call os.system('true')");
}

TEST(Pickle, KeepsWhatRanBeforeTheBreak) {
  const Graph graph = parse_text("cos\nsystem\n)R\xff\xff"sv);
  EXPECT_EQ(broken_text(graph), "malformed-pickle@13 pickle has no opcode 0xff");
  EXPECT_EQ(events_text(graph), "0 import os.system; 12 call os.system()");
  EXPECT_EQ(graph.end_offset(), 113u);
  EXPECT_EQ(graph.root(), kNoNode);
}

TEST(Pickle, ReadsOnBehindRulesThatNotAllReadersHold) {
  const Graph graph = parse_text("\x80\x09"
                                 "cos\nsystem\n)R."sv);
  EXPECT_EQ(broken_text(graph), "malformed-pickle@0 PROTO 9 is above protocol 5, the highest there is");
  EXPECT_EQ(events_text(graph), "2 import os.system; 14 call os.system()");
  EXPECT_EQ(graph.root(), kNoNode);
  EXPECT_EQ(describe(graph, graph.salvage_root()), "os.system()");
  EXPECT_TRUE(graph.reached_stop());
  EXPECT_EQ(graph.protocol(), 9);
  // The first broken rule is the one that counts.
  EXPECT_EQ(broken_text(parse_text("\x80\x09"
                                   "0."sv)),
            "malformed-pickle@0 PROTO 9 is above protocol 5, the highest there is");
}

TEST(Pickle, StopsBehindStop) {
  const std::string_view stream = "(N(.K\x01."sv;
  EXPECT_EQ(broken_text(parse_text(stream)), "malformed-pickle@3 STOP needs 1 stack item, 0 are above the mark");
  const Graph graph = parse_text("NN(N.K\x01."sv);
  EXPECT_EQ(graph.end_offset(), 105u);
  EXPECT_EQ(graph.begin_offset(), 100u);
  EXPECT_EQ(graph.left_on_stack(), 3u);
}

TEST(Pickle, MapsPython2NamesBelowProtocol3) {
  const Graph two = parse_text("\x80\x02"
                               "c__builtin__\nxrange\n(K\x05tR."sv);
  const Node call = two.root();
  EXPECT_TRUE(two.is_call(call, "builtins", "range"));
  EXPECT_TRUE(two.is_call(call, "__builtin__", "xrange"));
  EXPECT_FALSE(two.is_call(call, "builtins", "xrange"));
  EXPECT_EQ(two.global(two.callable(call)).module, "__builtin__");
  EXPECT_EQ(two.global(two.callable(call)).name, "xrange");
  EXPECT_EQ(two.mapped_global(two.callable(call)).module, "builtins");

  const Graph four = parse_text("\x80\x04\x8c\x0b__builtin__\x8c\x03set\x93."sv);
  EXPECT_FALSE(four.is_global(four.root(), "builtins", "set"));
  EXPECT_TRUE(four.is_global(four.root(), "__builtin__", "set"));
  EXPECT_EQ(four.mapped_global(four.root()).module, "__builtin__");

  struct Row {
    std::string_view written, mapped;
  };
  const Row rows[] = {
      {"copy_reg\n_reconstructor", "copyreg._reconstructor"},
      {"cPickle\nloads", "pickle.loads"},
      {"thread\nstart_new_thread", "_thread.start_new_thread"},
      {"exceptions\nValueError", "builtins.ValueError"},
      {"exceptions\nStandardError", "builtins.Exception"},
      {"urllib\nurlopen", "urllib.request.urlopen"},
      {"urllib\nunknown", "urllib.unknown"},
      {"commands\ngetoutput", "subprocess.getoutput"},
      {"itertools\nimap", "builtins.map"},
      {"UserDict\nUserDict", "collections.UserDict"},
      {"__builtin__\nset", "builtins.set"},
      {"collections\nOrderedDict", "collections.OrderedDict"},
      {"xmlrpclib\nx", "xmlrpc.client.x"},
      {"BaseHTTPServer\nx", "http.server.x"},
      {"whichdb\nwhichdb", "dbm.whichdb"},
  };
  for (const Row& row : rows) {
    const std::string stream = "c" + std::string(row.written) + "\n.";
    const Graph graph = parse_text(stream);
    EXPECT_EQ(describe(graph, graph.root()), row.mapped);
  }
  // The latest PROTO decides.
  const Graph late = parse_text("\x80\x04\x80\x02"
                                "c__builtin__\nset\n."sv);
  EXPECT_TRUE(late.is_global(late.root(), "builtins", "set"));
}

TEST(Pickle, KeepsNamesAsWritten) {
  const Graph graph = parse_text("\x80\x04"
                                 "ctorch\nserialization.os.system\n."sv);
  EXPECT_EQ(graph.global(graph.root()).name, "serialization.os.system");
  const Graph carriage = parse_text("cos\r\nsystem \n."sv);
  EXPECT_EQ(carriage.global(carriage.root()).module, "os\r");
  EXPECT_FALSE(carriage.is_global(carriage.root(), "os", "system"));
}

TEST(Pickle, ResolvesNamesThroughTheMemo) {
  const Graph graph = parse_text("\x80\x04\x8c\x02os\x94"
                                 "0\x8c\x06system\x94"
                                 "0\x8c\x05"
                                 "decoy\x94"
                                 "0h\x00q\x05"
                                 "0h\x01q\x06"
                                 "0h\x05h\x06\x93."sv);
  EXPECT_EQ(broken_text(graph), "");
  EXPECT_EQ(describe(graph, graph.root()), "os.system");
}

TEST(Pickle, AnswersByKind) {
  const std::string_view stream = "(X\x02\x00\x00\x00hiC\x03xyzK\x07\x8a\x09\x01\x00\x00\x00\x00\x00\x00\x00\x01V\\u00e9\n\x88t."sv;
  const Graph graph = parse_text(stream);
  ASSERT_EQ(broken_text(graph), "");
  const auto item = [&graph](std::size_t i) { return graph.item(graph.root(), i); };
  ASSERT_EQ(graph.length(graph.root()), 6u);
  EXPECT_EQ(graph.text(item(0)), "hi");
  EXPECT_EQ(static_cast<const void*>(graph.text(item(0)).data()), stream.data() + 6);  // in place
  EXPECT_TRUE(graph.in_stream(item(0)));
  EXPECT_EQ(graph.offset(item(0)), 101u);
  EXPECT_EQ(graph.bytes(item(1)).offset(), 110u);
  EXPECT_EQ(graph.bytes(item(1)).text(), "xyz");
  EXPECT_EQ(graph.integer(item(2)), 7);
  EXPECT_EQ(graph.kind(item(3)), Kind::big_integer);
  EXPECT_EQ(graph.bytes(item(3)).size(), 9u);
  EXPECT_EQ(graph.integer(item(3)), 0);
  EXPECT_EQ(graph.text(item(4)), "é");
  EXPECT_FALSE(graph.in_stream(item(4)));
  EXPECT_EQ(graph.bytes(item(4)).offset(), graph.offset(item(4)));
  EXPECT_TRUE(graph.boolean(item(5)));
  EXPECT_EQ(graph.integer(item(5)), 0);
  EXPECT_EQ(graph.text(item(2)), "");
  EXPECT_EQ(item(6), kNoNode);
  EXPECT_EQ(graph.kind(kNoNode), Kind::none);
  EXPECT_EQ(graph.length(kNoNode), 0u);
  EXPECT_EQ(graph.text(kNoNode), "");
  EXPECT_EQ(graph.callable(kNoNode), kNoNode);
  EXPECT_TRUE(graph.states(kNoNode).empty());
}

TEST(Pickle, BigIntegersAreTheirShortestBytes) {
  const auto bytes_of = [](std::string_view stream) {
    const Graph graph = parse_text(stream);
    EXPECT_EQ(graph.kind(graph.root()), Kind::big_integer) << stream;
    std::vector<int> bytes;
    const std::span<const std::byte> stored = graph.bytes(graph.root()).span();
    for (const std::byte b : stored) bytes.push_back(std::to_integer<int>(b));
    return bytes;
  };
  EXPECT_EQ(bytes_of("L9223372036854775808L\n."), (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 128, 0}));
  EXPECT_EQ(bytes_of("L-9223372036854775809L\n."), (std::vector<int>{255, 255, 255, 255, 255, 255, 255, 127, 255}));
  EXPECT_EQ(bytes_of("L-0x10000000000000000L\n."), (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0, 255}));
  EXPECT_EQ(bytes_of("L0xffffffffffffffffL\n."), (std::vector<int>{255, 255, 255, 255, 255, 255, 255, 255, 0}));
}

TEST(Pickle, GetFindsTheLastPair) {
  const Graph graph = parse_text("}(X\x01\x00\x00\x00"
                                 "aK\x01K\x05K\x02X\x01\x00\x00\x00"
                                 "aK\x03u."sv);
  EXPECT_EQ(graph.pair_count(graph.root()), 3u);
  EXPECT_EQ(graph.integer(graph.get(graph.root(), "a")), 3);
  EXPECT_EQ(graph.get(graph.root(), "b"), kNoNode);
  const Graph call = parse_text("ccollections\nOrderedDict\n)RX\x01\x00\x00\x00"
                                "aK\x01s."sv);
  EXPECT_EQ(call.integer(call.get(call.root(), "a")), 1);
  EXPECT_EQ(call.length(call.root()), 0u);
}

TEST(Pickle, OwnsTheBytesItIsGiven) {
  const std::string_view stream = "X\x02\x00\x00\x00hi."sv;
  auto bytes = std::make_unique<std::byte[]>(stream.size());
  std::memcpy(bytes.get(), stream.data(), stream.size());
  Graph graph = parse(ByteBlock(std::move(bytes), stream.size(), 40));
  Graph moved = std::move(graph);
  EXPECT_EQ(moved.text(moved.root()), "hi");
  EXPECT_EQ(moved.bytes(moved.root()).offset(), 45u);
  EXPECT_EQ(moved.end_offset(), 48u);
}

TEST(Pickle, StatesOfAnyNodeKeepTheirOrder) {
  const Graph graph = parse_text("ca\nb\n)R}bK\x01"
                                 "b(K\x02tb."sv);
  const auto states = graph.states(graph.root());
  ASSERT_EQ(states.size(), 3u);
  EXPECT_EQ(graph.kind(states[0]), Kind::dict);
  EXPECT_EQ(graph.integer(states[1]), 1);
  EXPECT_EQ(graph.kind(states[2]), Kind::tuple);
  const Graph global = parse_text("ca\nb\n}b."sv);
  EXPECT_EQ(global.states(global.root()).size(), 1u);
}

TEST(Pickle, SalvagesWhatStoodBeforeTheCut) {
  struct Row {
    std::string_view stream, value;
  };
  const Row rows[] = {
      {""sv, "None"},
      {"}(X\x01\x00\x00\x00"
       "aK\x01X\x01\x00\x00\x00"
       "bK\x02X\x01\x00\x00\x00"
       "c"sv,
       "{'a': 1, 'b': 2}"},
      {"}X\x01\x00\x00\x00mccollections\nOrderedDict\n)R(X\x01\x00\x00\x00"
       "aK\x01"sv,
       "{'m': collections.OrderedDict(){'a': 1}}"},
      {"}(X\x01\x00\x00\x00mccollections\nOrderedDict\n)R(X\x01\x00\x00\x00"
       "aK\x01X"sv,
       "{'m': collections.OrderedDict(){'a': 1}}"},
      {"](K\x01(K\x02"sv, "[1]"},
      {"ca\nb\n(K\x01K\x02"sv, "a.b"},
      {"K\x01K\x02\xff"sv, "1"},
  };
  for (const Row& row : rows) {
    const Graph graph = parse_text(row.stream);
    EXPECT_TRUE(graph.broken());
    EXPECT_EQ(describe(graph, graph.salvage_root()), row.value);
  }
}

TEST(Pickle, LimitsAreNamed) {
  const auto broken_with = [](std::string_view stream, auto change) {
    Limits limits;
    change(limits);
    return broken_text(parse_text(stream, limits));
  };
  const auto nothing = [](Limits&) {};
  const std::string many = repeated("N", 100) + ".";
  EXPECT_EQ(broken_with(many, nothing), "");
  EXPECT_EQ(broken_with(many, [](Limits& l) { l.pickle_nodes = 99; }), "limit-exceeded@99 NONE exceeds the limit of 99 values");
  EXPECT_EQ(broken_with(many, [](Limits& l) { l.pickle_stack = 50; }), "limit-exceeded@50 NONE exceeds the limit of 50 stack items");
  EXPECT_EQ(broken_with(many, [](Limits& l) { l.pickle_bytes = 20; }), "limit-exceeded@20 pickle exceeds the limit of 20 bytes of pickle");
  EXPECT_EQ(broken_with(repeated("(", 100), [](Limits& l) { l.pickle_stack = 50; }),
            "limit-exceeded@50 MARK exceeds the limit of 50 stack items");
  EXPECT_EQ(broken_with("N" + repeated("\x94", 100) + ".", [](Limits& l) { l.pickle_memo = 10; }),
            "limit-exceeded@11 MEMOIZE exceeds the limit of 10 memo entries");
  EXPECT_EQ(broken_with("c" + repeated("m.", 2049) + "\nn\n.", nothing),
            "limit-exceeded@0 GLOBAL exceeds the limit of 4096 bytes of a name, with 4098");
  EXPECT_EQ(broken_with("L" + repeated("9", 5000) + "\n.", nothing), "");
  EXPECT_EQ(broken_with("L" + repeated("9", 5000) + "\n.", [](Limits& l) { l.int_digits = 4999; }),
            "limit-exceeded@0 LONG exceeds the limit of 4999 digits of long integers");
  // Long integers count together, short ones do not.
  EXPECT_EQ(broken_with(repeated("L" + repeated("9", 5000) + "\n", 3) + ".", [](Limits& l) { l.int_digits = 14000; }),
            "limit-exceeded@10004 LONG exceeds the limit of 14000 digits of long integers");
  EXPECT_EQ(broken_with(repeated("L" + repeated("9", 100) + "\n", 300) + ".", [](Limits& l) { l.int_digits = 14000; }), "");
  // References and events cost memory too.
  const auto few_nodes = [](Limits& l) { l.pickle_nodes = 100; };
  EXPECT_NE(broken_with("]q\x01" + repeated("(" + repeated("h\x01", 50) + "e", 20) + ".", few_nodes).find("references between values"),
            std::string::npos);
  EXPECT_NE(broken_with("ca\nb\n" + repeated("2b", 200) + ".", few_nodes).find("events"), std::string::npos);
}

TEST(Pickle, ManyBatchesCostLinearTime) {
  constexpr std::size_t kBatches = 400, kItems = 1000;
  std::string stream = "}";
  for (std::size_t batch = 0; batch < kBatches; ++batch) {
    stream += '(';
    for (std::size_t i = 0; i < kItems; ++i) {
      const std::uint32_t key = static_cast<std::uint32_t>(batch * kItems + i);
      stream += 'J';
      stream.append(reinterpret_cast<const char*>(&key), 4);
      stream += "]";
    }
    stream += 'u';
  }
  stream += '.';
  const Graph graph = parse_text(stream);
  ASSERT_EQ(broken_text(graph), "");
  ASSERT_EQ(graph.pair_count(graph.root()), kBatches * kItems);
  for (std::size_t i = 0; i < kBatches * kItems; ++i) ASSERT_EQ(graph.integer(graph.key(graph.root(), i)), static_cast<std::int64_t>(i));
}

TEST(Pickle, InterleavedAppendsKeepTheirOrder) {
  constexpr std::size_t kRounds = 50000;
  const std::string stream = "]q\x01"
                             "0]q\x02"
                             "0" +
                             repeated("h\x01K\x07"
                                      "a0h\x02Na0",
                                      kRounds) +
                             "h\x01h\x02\x86.";
  const Graph graph = parse_text(stream);
  ASSERT_EQ(broken_text(graph), "");
  const Node first = graph.item(graph.root(), 0), second = graph.item(graph.root(), 1);
  ASSERT_EQ(graph.length(first), kRounds);
  ASSERT_EQ(graph.length(second), kRounds);
  for (std::size_t i = 0; i < kRounds; ++i) {
    ASSERT_EQ(graph.integer(graph.item(first, i)), 7);
    ASSERT_EQ(graph.kind(graph.item(second, i)), Kind::none);
  }
}

TEST(Pickle, DeepNestingNeedsNoStack) {
  constexpr std::size_t kDeep = 2'000'000;
  const std::string lists = repeated("]", kDeep) + repeated("a", kDeep - 1) + ".";
  Graph graph = parse_text(lists);
  EXPECT_EQ(broken_text(graph), "");
  EXPECT_EQ(graph.node_count(), kDeep);
  EXPECT_EQ(describe(graph, graph.root(), 1000), repeated("[", 24) + "…" + repeated("]", 24));
  graph = Graph();
  const std::string tuples = "N" + repeated("\x85", kDeep) + ".";
  EXPECT_EQ(parse_text(tuples).node_count(), kDeep + 1);
}

TEST(Pickle, SharedValuesAreNotCopied) {
  const std::string doubled = "N" + repeated("2\x86", 64) + ".";
  const Graph graph = parse_text(doubled);
  EXPECT_EQ(graph.node_count(), 65u);
  EXPECT_EQ(graph.item(graph.root(), 0), graph.item(graph.root(), 1));
  EXPECT_LE(describe(graph, graph.root()).size(), 400u);
  std::string laughs = "](NNNNNNNNNNe\x94";
  for (int level = 0; level < 30; ++level) laughs += "](" + repeated(std::string("h") + static_cast<char>(level), 10) + "e\x94";
  laughs += '.';
  const Graph laughing = parse_text(laughs);
  EXPECT_EQ(broken_text(laughing), "");
  EXPECT_EQ(laughing.node_count(), 41u);
  EXPECT_LE(describe(laughing, laughing.root()).size(), 400u);
}

TEST(Pickle, CyclesAreMarked) {
  const Graph list = parse_text("]q\x01h\x01"
                                "a."sv);
  EXPECT_EQ(list.item(list.root(), 0), list.root());
  EXPECT_EQ(describe(list, list.root()), "[…]");
  const Graph dict = parse_text("}q\x01K\x01h\x01s."sv);
  EXPECT_EQ(describe(dict, dict.root()), "{1: …}");
  const Graph call = parse_text("ca\nb\n)Rq\x01h\x01"
                                "bh\x01"
                                "a."sv);
  EXPECT_EQ(describe(call, call.root()), "a.b()[…].build(…)");
}

TEST(Pickle, DescribeIsCut) {
  const std::string stream = "(" + repeated("K\x01", 1000) + "l.";
  const Graph graph = parse_text(stream);
  const std::string text = describe(graph, graph.root(), 20);
  EXPECT_EQ(text, "[1, 1, 1, 1, 1, 1, 1, …");
  EXPECT_EQ(describe(graph, kNoNode), "None");
}

TEST(Pickle, SparseMemoCostsOneEntry) {
  std::string stream = "K\x01";
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const std::uint32_t index = 0xffffffff - i * 4'000'000;
    stream += 'r';
    stream.append(reinterpret_cast<const char*>(&index), 4);
  }
  stream += "\x94"
            "0h\x05.";  // MEMOIZE goes to entry 1000, so 5 was never set
  EXPECT_EQ(broken_text(parse_text(stream)).substr(0, 28), "malformed-pickle@5004 BINGET");
  stream.replace(stream.size() - 3, 3, "j\xe8\x03");
  stream += std::string("\0\0.", 3);
  const Graph graph = parse_text(stream);
  EXPECT_EQ(broken_text(graph), "");
  EXPECT_EQ(graph.integer(graph.root()), 1);
}

}  // namespace
}  // namespace assay::pickle
