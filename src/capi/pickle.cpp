// SPDX-License-Identifier: Apache-2.0
// A pickle's values as numbers. The graph trusts its caller's nodes; here every one is checked.
#include <algorithm>

#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "capi/handle.hpp"

using namespace assay;
using namespace assay::capi;
using pickle::Graph;
using pickle::Kind;
using pickle::kNoNode;
using pickle::Node;

struct assay_pickle {
  std::shared_ptr<const State> state;  // of a checkpoint's pickle; else only its files are kept
  std::shared_ptr<const void> keep;    // what a plain stream's bytes may point into
  std::shared_ptr<const Graph> graph;
  std::unique_ptr<const assay_error> broken;
};

static_assert(kNoNode == ASSAY_NO_NODE);
static_assert(static_cast<int>(Kind::none) == ASSAY_PICKLE_NONE && static_cast<int>(Kind::boolean) == ASSAY_PICKLE_BOOLEAN &&
              static_cast<int>(Kind::integer) == ASSAY_PICKLE_INTEGER && static_cast<int>(Kind::big_integer) == ASSAY_PICKLE_BIG_INTEGER &&
              static_cast<int>(Kind::real) == ASSAY_PICKLE_REAL && static_cast<int>(Kind::text) == ASSAY_PICKLE_TEXT &&
              static_cast<int>(Kind::bytes) == ASSAY_PICKLE_BYTES && static_cast<int>(Kind::bytearray) == ASSAY_PICKLE_BYTEARRAY &&
              static_cast<int>(Kind::list) == ASSAY_PICKLE_LIST && static_cast<int>(Kind::tuple) == ASSAY_PICKLE_TUPLE &&
              static_cast<int>(Kind::dict) == ASSAY_PICKLE_DICT && static_cast<int>(Kind::set) == ASSAY_PICKLE_SET &&
              static_cast<int>(Kind::frozenset) == ASSAY_PICKLE_FROZENSET && static_cast<int>(Kind::global) == ASSAY_PICKLE_GLOBAL &&
              static_cast<int>(Kind::call) == ASSAY_PICKLE_CALL && static_cast<int>(Kind::persistent) == ASSAY_PICKLE_PERSISTENT &&
              static_cast<int>(Kind::extension) == ASSAY_PICKLE_EXTENSION && static_cast<int>(Kind::buffer) == ASSAY_PICKLE_BUFFER);

namespace {

/// The graph when the node is one of its, else null.
const Graph* graph_of(const assay_pickle* p, Node node) { return p != nullptr && node < p->graph->node_count() ? p->graph.get() : nullptr; }
/// The graph when the node is of this kind.
const Graph* graph_if(const assay_pickle* p, Node node, Kind kind) {
  const Graph* graph = graph_of(p, node);
  return graph != nullptr && graph->kind(node) == kind ? graph : nullptr;
}

std::unique_ptr<assay_pickle> handle_of(std::shared_ptr<const State> state, std::shared_ptr<const void> keep,
                                        std::shared_ptr<const Graph> graph) {
  auto handle = std::make_unique<assay_pickle>();
  handle->state = std::move(state);
  handle->keep = std::move(keep);
  if (graph->broken()) handle->broken = std::make_unique<assay_error>(*graph->broken());
  handle->graph = std::move(graph);
  return handle;
}

/// A file that is no checkpoint, as one pickle stream. `why_not` is why it is no checkpoint.
Result<void> plain_stream_into(std::unique_ptr<FileSet> files, Error&& why_not, assay_pickle** out) {
  if (files->primary().empty()) return fail(std::move(why_not));
  ASSAY_TRY(const std::shared_ptr<ByteSource> source, files->open(files->primary()));
  const Limits limits;
  if (source->size() > limits.pickle_bytes) return fail(std::move(why_not));
  ASSAY_TRY(ByteBlock block, source->fetch(0, source->size()));
  const bool has_protocol = block.view().size() >= 2 && block.view()[0] == std::byte{0x80};
  auto graph = std::make_shared<Graph>(pickle::parse(std::move(block), limits));
  // Text of any kind can start like a pickle of protocol 0 or 1: such a stream must be whole.
  if (graph->broken() && !has_protocol) return fail(std::move(why_not));
  *out = handle_of(nullptr, source, std::move(graph)).release();
  return {};
}

Result<void> pickle_of_into(const std::shared_ptr<const State>& state, assay_pickle** out) {
  const Checkpoint& checkpoint = state->checkpoint;
  if (!checkpoint.values) return fail(Code::usage, concat("a checkpoint of format ", checkpoint.format, " holds no pickle"));
  *out = handle_of(state, nullptr, checkpoint.values).release();
  return {};
}

}  // namespace

namespace assay::capi {

Result<void> open_pickle_into(std::unique_ptr<FileSet> files, assay_pickle** out) {
  auto opened = open(*files);
  if (!opened) {
    const Code code = opened.error().code();
    if (code == Code::need_range || code == Code::io_error || code == Code::no_such_file) return fail(std::move(opened).error());
    return plain_stream_into(std::move(files), std::move(opened).error(), out);
  }
  auto state = std::make_shared<State>();
  state->files = std::move(files);
  state->checkpoint = *std::move(opened);
  return pickle_of_into(state, out);
}

}  // namespace assay::capi

extern "C" {

assay_status assay_pickle_open_memory(const void* data, size_t size, assay_pickle** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (out == nullptr || (data == nullptr && size != 0)) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    return open_pickle_into(borrow(data, size, nullptr), out);
  });
}
assay_status assay_pickle_of(const assay_checkpoint* checkpoint, assay_pickle** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (out == nullptr || checkpoint == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    return pickle_of_into(checkpoint->state, out);
  });
}
void assay_pickle_close(assay_pickle* pickle) { delete pickle; }

const assay_error* assay_pickle_broken(const assay_pickle* p) { return p != nullptr ? p->broken.get() : nullptr; }
uint32_t assay_pickle_root(const assay_pickle* p) { return p != nullptr ? p->graph->root() : kNoNode; }
size_t assay_pickle_node_count(const assay_pickle* p) { return p != nullptr ? p->graph->node_count() : 0; }
assay_pickle_kind assay_pickle_kind_of(const assay_pickle* p, uint32_t node) {
  const Graph* graph = graph_of(p, node);
  return graph != nullptr ? static_cast<assay_pickle_kind>(graph->kind(node)) : ASSAY_PICKLE_NONE;
}
uint64_t assay_pickle_offset(const assay_pickle* p, uint32_t node) {
  const Graph* graph = graph_of(p, node);
  return graph != nullptr ? graph->offset(node) : ASSAY_NO_OFFSET;
}

int64_t assay_pickle_integer(const assay_pickle* p, uint32_t node) {
  const Graph* graph = graph_of(p, node);
  if (graph == nullptr) return 0;
  return graph->kind(node) == Kind::boolean ? static_cast<int64_t>(graph->boolean(node)) : graph->integer(node);
}
double assay_pickle_real(const assay_pickle* p, uint32_t node) {
  const Graph* graph = graph_of(p, node);
  return graph != nullptr ? graph->real(node) : 0;
}
const char* assay_pickle_text(const assay_pickle* p, uint32_t node, size_t* length) {
  const Graph* graph = graph_of(p, node);
  return give(graph != nullptr ? graph->text(node) : std::string_view(), length);
}
const void* assay_pickle_bytes(const assay_pickle* p, uint32_t node, size_t* length) {
  const Graph* graph = graph_of(p, node);
  const ByteView bytes = graph != nullptr ? graph->bytes(node) : ByteView();
  if (length != nullptr) *length = bytes.size();
  return bytes.data();
}

size_t assay_pickle_length(const assay_pickle* p, uint32_t node) {
  const Graph* graph = graph_of(p, node);
  if (graph == nullptr || graph->kind(node) == Kind::dict) return 0;
  return graph->kind(node) == Kind::persistent ? 1 : graph->length(node);
}
uint32_t assay_pickle_item(const assay_pickle* p, uint32_t node, size_t i) {
  return i < assay_pickle_length(p, node) ? p->graph->item(node, i) : kNoNode;
}
size_t assay_pickle_pair_count(const assay_pickle* p, uint32_t node) {
  const Graph* graph = graph_of(p, node);
  return graph != nullptr ? graph->pair_count(node) : 0;
}
uint32_t assay_pickle_key(const assay_pickle* p, uint32_t node, size_t i) {
  return i < assay_pickle_pair_count(p, node) ? p->graph->key(node, i) : kNoNode;
}
uint32_t assay_pickle_value(const assay_pickle* p, uint32_t node, size_t i) {
  return i < assay_pickle_pair_count(p, node) ? p->graph->value(node, i) : kNoNode;
}
uint32_t assay_pickle_get(const assay_pickle* p, uint32_t node, const char* key, size_t length) {
  if (key == nullptr || assay_pickle_pair_count(p, node) == 0) return kNoNode;
  return p->graph->get(node, {key, length});
}

const char* assay_pickle_global_module(const assay_pickle* p, uint32_t node, size_t* length) {
  const Graph* graph = graph_if(p, node, Kind::global);
  return give(graph != nullptr ? graph->global(node).module : std::string_view(), length);
}
const char* assay_pickle_global_name(const assay_pickle* p, uint32_t node, size_t* length) {
  const Graph* graph = graph_if(p, node, Kind::global);
  return give(graph != nullptr ? graph->global(node).name : std::string_view(), length);
}
uint32_t assay_pickle_callable(const assay_pickle* p, uint32_t node) {
  const Graph* graph = graph_if(p, node, Kind::call);
  return graph != nullptr ? graph->callable(node) : kNoNode;
}
uint32_t assay_pickle_arguments(const assay_pickle* p, uint32_t node) {
  const Graph* graph = graph_if(p, node, Kind::call);
  return graph != nullptr ? graph->args(node) : kNoNode;
}
uint32_t assay_pickle_keyword_arguments(const assay_pickle* p, uint32_t node) {
  const Graph* graph = graph_if(p, node, Kind::call);
  return graph != nullptr ? graph->kwargs(node) : kNoNode;
}
size_t assay_pickle_state_count(const assay_pickle* p, uint32_t node) {
  const Graph* graph = graph_of(p, node);
  return graph != nullptr ? graph->states(node).size() : 0;
}
uint32_t assay_pickle_state(const assay_pickle* p, uint32_t node, size_t i) {
  return i < assay_pickle_state_count(p, node) ? p->graph->states(node)[i] : kNoNode;
}

size_t assay_pickle_tensor(const assay_pickle* p, uint32_t node) {
  if (p == nullptr || !p->state) return ASSAY_NO_INDEX;
  const auto& pairs = p->state->checkpoint.node_tensors;
  const auto found = std::ranges::lower_bound(pairs, node, {}, [](const auto& pair) { return pair.first; });
  return found != pairs.end() && found->first == node ? found->second : ASSAY_NO_INDEX;
}

int assay_pickle_storage(const assay_pickle* p, uint32_t node, assay_pickle_storage_info* out) {
  const Graph* graph = graph_if(p, node, Kind::persistent);
  if (graph == nullptr || out == nullptr) return 0;
  // ('storage', storage class, key, location, elements)
  const Node id = graph->item(node, 0);
  if (graph->kind(id) != Kind::tuple || graph->length(id) < 5) return 0;
  const Node klass = graph->item(id, 1), key = graph->item(id, 2), elements = graph->item(id, 4);
  if (graph->kind(graph->item(id, 0)) != Kind::text || graph->text(graph->item(id, 0)) != "storage" || graph->kind(klass) != Kind::global ||
      graph->kind(key) != Kind::text || graph->kind(elements) != Kind::integer || graph->integer(elements) < 0) {
    return 0;
  }
  const DType dtype = dtype_from_storage_class(graph->global(klass).name).value_or(DType::unknown);
  const auto count = static_cast<std::uint64_t>(graph->integer(elements));
  const std::uint64_t nbytes = checked_mul(count, bits_to_bytes(dtype_bits(dtype))).value_or(0);
  *out = {ASSAY_NO_OFFSET, nbytes, count, static_cast<assay_dtype>(dtype), ASSAY_NO_INDEX};
  if (!p->state) return 1;
  // A storage's key is the id's, or ends with it where it is a member's name: "archive/data/0".
  const std::string_view wanted = graph->text(key);
  const auto& storages = p->state->checkpoint.storages;
  for (std::size_t i = 0; i < storages.size(); ++i) {
    const std::string_view name = storages[i].key;
    const bool same = name == wanted || (name.ends_with(wanted) && name.substr(0, name.size() - wanted.size()).ends_with("/data/"));
    if (!same) continue;
    out->offset = storages[i].offset;
    out->storage = i;
    break;
  }
  return 1;
}

}  // extern "C"
