// SPDX-License-Identifier: Apache-2.0
// One parsed pickle held against the list of names. The verdict comes from the log of events, never from the result alone: what a file
// throws away it has run all the same. Internal to this folder.
#pragma once

#include <array>
#include <deque>
#include <unordered_map>
#include <vector>

#include "analysis/scan/array_types.hpp"
#include "analysis/scan/scanner.hpp"

namespace assay::scan {

inline constexpr std::size_t kShownName = 200;  // bytes of an imported name in a message
/// "os.system"; "?" stands for a part that only loading could tell.
std::string full_name(pickle::GlobalName name);

class Judge {
 public:
  Judge(Scanner& scanner, const Piece& piece, Scanner::Row row, const pickle::Graph& graph, std::uint32_t stream)
      : scanner_(scanner), piece_(piece), row_(row), graph_(graph), stream_(stream), array_types_(graph) {}
  /// Puts imports, calls and findings into the report. Fails only as reading nested pickles does.
  /// Events before the offset `from` are left out: they were told already.
  void run(std::uint64_t from = 0);
  /// Bytes that torch.storage._load_from_bytes would be given, for the caller to scan after run(): the nodes that hold them.
  const std::vector<pickle::Node>& nested() const { return nested_; }

 private:
  using Node = pickle::Node;
  /// What is wrong with a use of a benign name; "" when nothing is.
  std::string check_call(Node call, Rule rule);
  std::string check_from_type(Node args);
  std::string check_encode(Node args) const;
  std::string check_attribute(Node call);
  std::string check_bytes(Node args);
  std::string check_coded(Node call) const;
  std::string check_reconstruct(Node args);
  std::string check_subscript(Node args);
  bool is_type(Node node, int& looks);

  const Judgement& judge_global(Node global);
  Judgement judge_uncached(Node global) const;
  void find_loose();
  void look_at(Node holder, Node held);
  void import(Node global);
  void call(Node node);
  void persistent(Node node);
  void changed(Node target, std::string_view how, std::uint64_t offset);
  void built(const pickle::Event& event);
  void called_back(Node object, std::size_t method, Node argument, std::uint64_t offset);
  void report_call(Node node, std::string callable, Verdict verdict, std::string why);
  void unknown(std::string words, std::string callable, std::string arguments, std::string why, std::uint64_t offset);
  void keep_call(Call call, Code code);
  bool is_full(Verdict verdict);
  bool is_plain(Node node) const;
  bool is_class(Node node);
  bool is_class_for_anything(Node node);

  /// The methods that opcodes call on an object, and what a state plants under their names; kNoNode for nothing.
  static constexpr std::array<std::string_view, 4> kCalled = {"__setstate__", "append", "extend", "add"};
  using Planted = std::array<Node, kCalled.size()>;
  const Planted& planted_by(Node dict);

  Scanner& scanner_;
  const Piece& piece_;
  Scanner::Row row_;
  const pickle::Graph& graph_;
  std::uint32_t stream_;
  std::vector<const Judgement*> globals_;          // by node; null where it was not asked for
  std::deque<Judgement> others_;                   // that are not kept for the next pickle
  std::unordered_map<Node, std::string> bad_use_;  // of globals with restricted rules: why
  std::unordered_map<Node, Planted> planted_;      // by dicts
  std::unordered_map<Node, Planted> carried_;      // by objects, of the states they have had so far
  std::vector<Node> nested_;
  ArrayTypes array_types_;
};

}  // namespace assay::scan
