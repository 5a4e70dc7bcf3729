// SPDX-License-Identifier: Apache-2.0
#include "assay/pickle.hpp"
#include "base/arith.hpp"
#include "containers/inflate.hpp"
#include "containers/inflate_stream.hpp"
#include "containers/json.hpp"
#include "containers/zip.hpp"
#include "fuzz.hpp"

namespace assay::fuzz {

namespace {

constexpr std::uint64_t kUnpacked = 1 << 20;

}  // namespace

void containers_zip(Bytes input) {
  const auto source = MemorySource::borrow(input);
  const Limits limits;
  const auto directory = zip::read_directory(*source, limits);
  if (!directory) return;
  require(directory->prefix <= input.size() && directory->directory_offset <= input.size() && directory->end_offset <= input.size(),
          "the directory is in the file");
  for (const zip::Member& member : directory->members) {
    require(directory->find(member.name) != nullptr, "a member is found by its name");
    const auto offset = zip::data_offset(*source, member);
    if (offset) require(within(*offset, member.packed_size, input.size()), "a member's data is in the file");
    const auto bytes = zip::read_member(*source, member, kUnpacked, limits);
    if (bytes) require(bytes->view().size() == member.size, "a member has the size that its entry says");
    const auto storage = zip::storage_of(*source, member, limits);
    if (storage && !storage->producer) require(within(storage->offset, storage->nbytes, input.size()), "a stored member is in the file");
  }
  (void)zip::compare_local_headers(*source, *directory);
}

void containers_pickle(Bytes input) {
  const ByteView stream(input, 100);
  const pickle::Graph graph = pickle::parse(stream);
  require(graph.begin_offset() == 100 && graph.end_offset() >= 100 && graph.end_offset() - 100 <= input.size(),
          "a pickle ends in its stream");
  require(graph.reached_stop() || graph.broken(), "a pickle without STOP is broken");
  const auto known = [&](pickle::Node n) { return n == pickle::kNoNode || n < graph.node_count(); };
  require(known(graph.root()) && known(graph.salvage_root()), "the root is a node");
  for (pickle::Node n = 0; n < graph.node_count(); ++n) {
    for (std::size_t i = 0; i < graph.length(n) && i < 16; ++i) require(known(graph.item(n, i)), "an item is a node");
    for (std::size_t i = 0; i < graph.pair_count(n) && i < 16; ++i)
      require(known(graph.key(n, i)) && known(graph.value(n, i)), "a key and its value are nodes");
    require(known(graph.callable(n)) && known(graph.args(n)) && known(graph.kwargs(n)), "a call's parts are nodes");
    for (const pickle::Node state : graph.states(n)) require(known(state), "a state is a node");
    (void)graph.text(n);
    (void)graph.global(n);
    (void)graph.mapped_global(n);
    if (graph.in_stream(n))
      require(within(graph.bytes(n).offset() - 100, graph.bytes(n).size(), input.size()), "text of the stream stands in it");
  }
  for (const pickle::Event& event : graph.events())
    require(event.node < graph.node_count() && known(event.other), "an event is about a node");
  require(pickle::describe(graph, graph.salvage_root(), 200).size() < 2000, "a description is short");
}

namespace {

/// Follows the nesting, and that every event is in order.
class Nesting final : public json::Handler {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number(std::string_view text) override {
    require(!text.empty(), "a number has digits");
    (void)json::to_u64(text);
    (void)json::to_i64(text);
    (void)json::to_f64(text);
    return true;
  }
  bool string(std::string_view) override { return true; }
  bool key(std::string_view) override { return true; }
  bool start_object() override { return ++depth_ > 0; }
  bool end_object() override { return depth_-- > 0; }
  bool start_array() override { return ++depth_ > 0; }
  bool end_array() override { return depth_-- > 0; }
  int depth() const { return depth_; }

 private:
  int depth_ = 0;
};

}  // namespace

void containers_json(Bytes input) {
  Nesting nesting;
  const auto consumed = json::parse(ByteView(input, 0), nesting, Limits{});
  if (!consumed) return;
  require(*consumed <= input.size() && nesting.depth() == 0, "a document ends where its brackets do");
}

/// libdeflate and the portable reader give the same bytes, or both refuse.
void containers_inflate(Bytes input) {
  const ByteView packed(input, 0);
  const Inflated portable = inflate_stream(packed, kUnpacked);
  require(portable.bytes.size() <= kUnpacked && portable.consumed <= input.size(), "inflating stays in its bounds");
  (void)inflate_gzip(packed, kUnpacked);
  (void)inflate_zlib(packed, kUnpacked);
  if (portable.broken) return;
  const auto fast = inflate(packed.slice(0, static_cast<std::size_t>(portable.consumed)), portable.bytes.size());
  require(fast && std::equal(portable.bytes.begin(), portable.bytes.end(), fast->view().span().begin()), "both inflate the same");
}

}  // namespace assay::fuzz
