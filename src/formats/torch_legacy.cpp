// SPDX-License-Identifier: Apache-2.0
// magic pickle, version pickle, system pickle, object pickle, key list pickle, { count i64, bytes } …: see torch/legacy_stream.hpp. More of
// the same may follow, since torch.save may write to an open file several times.
#include "formats/torch_legacy.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/try.hpp"
#include "formats/cut_file.hpp"
#include "formats/torch/collect.hpp"
#include "formats/torch/legacy_stream.hpp"

namespace assay::formats {

namespace {

constexpr std::size_t kMagicPickle = 64;  // bytes that hold the first pickle in every protocol

bool starts_stream(ByteView bytes) {
  if (bytes.empty() || (bytes[0] != std::byte{0x80} && bytes[0] != std::byte{'L'})) return false;
  return torch::is_legacy_magic(pickle::parse(bytes.slice(0, std::min(bytes.size(), kMagicPickle))));
}

Result<void> note_rest(const ByteSource& source, std::uint64_t end, Checkpoint& checkpoint) {
  const std::uint64_t rest = source.size() - end;
  if (rest == 0) return {};
  ASSAY_TRY(const ByteBlock block, source.fetch(end, std::min<std::uint64_t>(rest, kMagicPickle)));
  const bool another = starts_stream(block.view());
  Finding finding(
      another ? Code::extra_pickle : Code::trailing_bytes,
      another ? concat("another torch.save stream of ", grouped(rest), " bytes follows at ", end, "; torch.load reads the first one only")
              : concat(counted(rest, "byte", "bytes"), " behind the last storage"));
  if (another) finding.severity = Severity::note;
  finding.where.offset = end;
  finding.where.length = rest;
  checkpoint.add(std::move(finding));
  return {};
}

}  // namespace

Probe probe_torch_legacy(const ProbeInput& input) {
  if (starts_stream(input.head)) return {100, "the magic number of torch.save before 1.6"};
  return {};
}

Result<Checkpoint> open_torch_legacy(const OpenInput& input) {
  Checkpoint checkpoint;
  checkpoint.format = "torch-legacy";
  checkpoint.container = "pickle";
  checkpoint.files.push_back({std::string(input.name), input.source->size(), input.source});
  ASSAY_TRY(torch::LegacyStream stream,
            torch::read_legacy_stream(*input.source, 0, input.source->size(), checkpoint.arena(), input.limits));
  const torch::Node root = stream.object.graph->salvage_root();
  if (root == torch::kNoNode) {
    if (stream.broken) return fail(*std::move(stream.broken));
    return fail(Error(Code::malformed_pickle, "the object's pickle is empty").at(stream.object.bytes.offset()));
  }
  if (stream.broken && stream.cut.empty()) checkpoint.add(Finding::from(*stream.broken));
  for (Finding& finding : stream.findings) checkpoint.add(std::move(finding));

  torch::PickleInfo pickle;
  pickle.graph = stream.object.graph;
  pickle.in_file = stream.object.bytes;
  ASSAY_CHECK(torch::collect(checkpoint, pickle, root, stream.storages, input.limits));
  torch::note_foreign_imports(checkpoint, pickle);
  if (!stream.cut.empty()) {
    ASSAY_CHECK(tell_cut(checkpoint, {.where = stream.cut,
                                      .missing = stream.missing,
                                      .at_least = stream.broken.has_value(),
                                      .within = stream.end == input.source->size()}));
  } else if (!stream.broken) {
    ASSAY_CHECK(note_rest(*input.source, stream.end, checkpoint));
  }
  if (checkpoint.tensors.empty()) checkpoint.add(Finding(Code::no_tensors, "the file holds no tensors"));
  return checkpoint;
}

}  // namespace assay::formats
