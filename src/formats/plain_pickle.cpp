// SPDX-License-Identifier: Apache-2.0
// One pickle stream (containers/pickle), and what may follow it:
//
//   [PROTO n] opcodes … STOP [another pickle …]
//
// torch tensors are calls that hold a whole legacy stream (torch/embedded.hpp), numpy arrays hold their bytes, and joblib writes an array's
// bytes between the opcodes (containers/joblib.hpp).
#include "formats/plain_pickle.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/try.hpp"
#include "formats/torch/collect.hpp"
#include "formats/torch/pickle_at.hpp"

namespace assay::formats {

namespace {

constexpr std::size_t kEnoughValues = 16;  // of a protocol without a mark: text that reads as so many values is no text
constexpr char kStop = '.';

bool holds_values(const torch::Graph& graph) {
  const torch::Kind kind = torch::kind_of(graph, graph.root());
  return torch::is_sequence(kind) || kind == torch::Kind::dict || kind == torch::Kind::call;
}

bool only_blanks(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

Probe probe_unmarked(const ProbeInput& input, const torch::Graph& graph) {
  const bool whole = input.head.size() == input.size;
  if (graph.broken() && graph.broken()->code() != Code::truncated) return {};
  if (whole) {
    if (graph.broken() || !holds_values(graph)) return {};
    const auto used = static_cast<std::size_t>(graph.end_offset());
    return only_blanks(input.head.from(used).text()) ? Probe{60, "a pickle of protocol 0 or 1 from begin to end"} : Probe{};
  }
  const std::string_view tail = input.tail.text();
  if (graph.reached_stop() || graph.node_count() < kEnoughValues || !tail.ends_with(kStop)) return {};
  return {60, "opcodes of a pickle of protocol 0 or 1"};
}

Result<void> note_rest(const OpenInput& input, std::uint64_t end, Checkpoint& checkpoint) {
  const std::uint64_t rest = input.source->size() - end;
  if (rest == 0) return {};
  ASSAY_TRY(const ByteBlock block, input.source->fetch(end, std::min(rest, torch::kPickleWindow)));
  const torch::Graph graph = pickle::parse(block.view(), input.limits);
  const bool marked = block.view()[0] == std::byte{0x80};
  const bool another = !graph.broken() || (marked && graph.broken()->code() == Code::truncated);
  Finding finding(another ? Code::extra_pickle : Code::unparsed_bytes,
                  concat(counted(rest, "byte", "bytes"), " behind the pickle's end, ", another ? "another pickle" : "not a pickle"));
  if (another) finding.severity = Severity::note;
  finding.where.offset = end;
  finding.where.length = rest;
  checkpoint.add(std::move(finding));
  return {};
}

}  // namespace

Result<Storage> NoStorages::find(const torch::StorageId& id) {
  return fail(Code::missing_storage, concat("storage ", quote(id.key), " is not in the file: a pickle taken out of its archive"));
}

Probe probe_pickle(const ProbeInput& input) {
  const std::string_view head = input.head.text();
  if (head.size() < 2) return {};
  const bool marked = head[0] == '\x80';
  if (marked && (head[1] < 2 || head[1] > 5)) return {};
  // An unmarked pickle begins with a mark or an empty container, or imports something; nothing else is worth a parse.
  if (!marked && std::string_view("(]}lc").find(head[0]) == std::string_view::npos) return {};
  const torch::Graph graph = pickle::parse(input.head);
  if (!marked) return probe_unmarked(input, graph);
  const bool plausible = !graph.broken() || graph.broken()->code() == Code::truncated || graph.node_count() >= kEnoughValues;
  if (plausible) return {70, "PROTO, then opcodes of a pickle"};
  return {50, "PROTO, as a pickle starts"};
}

Result<Checkpoint> open_pickle(const OpenInput& input) {
  const std::uint64_t size = input.source->size();
  ASSAY_TRY(const torch::PickleAt stream, torch::read_pickle_at(*input.source, 0, size, input.limits, torch::kPickleWindow, true));
  const torch::Graph& graph = *stream.graph;
  const torch::Node root = graph.salvage_root();
  Checkpoint checkpoint;
  checkpoint.format = "pickle";
  checkpoint.container = "pickle";
  checkpoint.files.push_back({std::string(input.name), size, input.source});
  if (const auto& broken = graph.broken()) {
    Error error = Error(broken->code(), broken->what()).at(broken->where().offset.value_or(0));
    if (root == torch::kNoNode) return fail(std::move(error));
    checkpoint.add(Finding::from(error));
  }
  torch::PickleInfo pickle;
  pickle.graph = stream.graph;
  pickle.in_file = stream.bytes;
  NoStorages storages;
  ASSAY_CHECK(torch::collect(checkpoint, pickle, root, storages, input.limits));
  torch::note_foreign_imports(checkpoint, pickle);
  if (!graph.broken()) ASSAY_CHECK(note_rest(input, graph.end_offset(), checkpoint));
  if (checkpoint.tensors.empty())
    checkpoint.add(Finding(Code::no_tensors, "a plain pickle, not written by torch.save, that holds no tensors"));
  return checkpoint;
}

}  // namespace assay::formats
