// SPDX-License-Identifier: Apache-2.0
// THE table of formats, and the way from bytes to one of its rows. Content decides; a name only breaks a tie.
#include <algorithm>

#include "base/parallel.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/line_ends.hpp"
#include "formats/deepspeed.hpp"
#include "formats/format.hpp"
#include "formats/maps.hpp"
#include "formats/not_weights.hpp"
#include "formats/npy.hpp"
#include "formats/plain_pickle.hpp"
#include "formats/safetensors.hpp"
#include "formats/shard_set.hpp"
#include "formats/torch_dcp.hpp"
#include "formats/torch_legacy.hpp"
#include "formats/torch_mobile.hpp"
#include "formats/torch_tar.hpp"
#include "formats/torch_zip.hpp"
#include "model/naming.hpp"

namespace assay::formats {

namespace {

constexpr std::uint64_t kHead = 4096;
constexpr std::uint64_t kTail = 65536;

// The field head_decides: the probe needs no tail, and 100 ends the search before one is read.
constexpr Format kFormats[] = {
    {"safetensors", "safetensors", ".safetensors", probe_safetensors, open_safetensors, true, map_safetensors},
    // The kinds of torch archive before the plain one, which takes what is left: the first of equal scores wins.
    {"torch-script", "TorchScript", ".pt .pth .ts .ptl .jit .torchscript", probe_torch_script, open_torch_zip, false, map_zip},
    {"torch-package", "torch.package", ".pt .pth .zip .package", probe_torch_package, open_torch_zip, false, map_zip},
    {"torch-export", "torch.export program", ".pt2 .pt .ep", probe_torch_export, open_torch_zip, false, map_zip},
    {"torch-dcp", "PyTorch distributed checkpoint", ".metadata .distcp", probe_dcp, open_dcp, false, map_dcp},
    {"torch-zip", "PyTorch zip", ".pt .pth .bin .ckpt .tar", probe_torch_zip, open_torch_zip, false, map_zip},
    {"safetensors-sharded", "safetensors in several files", ".safetensors.index.json", probe_safetensors_index, open_index},
    {"torch-sharded", "PyTorch checkpoint in several files", ".bin.index.json", probe_torch_index, open_index},
    {"deepspeed-zero", "DeepSpeed ZeRO checkpoint", "_optim_states.pt", probe_deepspeed, open_deepspeed},
    {"torch-legacy", "PyTorch stream from before 1.6", ".pt .pth .bin .ckpt .pkl .tar", probe_torch_legacy, open_torch_legacy, true,
     map_torch_legacy},
    {"torch-tar", "PyTorch tar from before 0.1.10", ".pt .pth .bin .ckpt .tar", probe_torch_tar, open_torch_tar, false, map_torch_tar},
    {"torch-mobile", "PyTorch mobile module (FlatBuffer)", ".ptl .ff", probe_torch_mobile, open_torch_mobile, true, map_torch_mobile},
    {"npy", "NumPy array", ".npy", probe_npy, open_npy, true, map_npy},
    {"npz", "NumPy archive", ".npz", probe_npz, open_npz, false, map_zip},
    {"pickle", "Python pickle", ".pkl .pickle .joblib", probe_pickle, open_pickle, false, map_pickle},
};

/// Extensions that make people expect a certain format.
constexpr std::string_view kTellingExtensions[] = {".safetensors", ".pt",  ".pth", ".ckpt", ".bin",     ".pkl", ".gguf",
                                                   ".npz",         ".npy", ".h5",  ".onnx", ".msgpack", ".tar", ".zip"};

std::string extension_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string() : lowered(name.substr(dot));
}

bool lists(std::string_view extensions, std::string_view extension) {
  for (std::size_t at = extensions.find(extension); at != std::string_view::npos; at = extensions.find(extension, at + 1)) {
    const std::size_t behind = at + extension.size();
    if (behind == extensions.size() || extensions[behind] == ' ') return true;
  }
  return false;
}

void note_extension(Checkpoint& checkpoint, const Format& format, std::string_view name) {
  const std::string extension = extension_of(name);
  if (std::ranges::find(kTellingExtensions, extension) == std::end(kTellingExtensions) || lists(format.extensions, extension)) return;
  checkpoint.add(Finding(Code::extension_mismatch, concat("a ", format.name, " file, though named ", extension)));
}

/// Whether what was found may come of bytes that have moved.
bool is_doubtful(const Result<Checkpoint>& opened) {
  if (!opened) return opened.error().code() != Code::need_range;
  return opened->findings.any_at_least(Severity::damage) || opened->findings.has(Code::trailing_bytes);
}

/// Why nothing in a file can be trusted that a program took for text.
Result<std::optional<Error>> find_conversion(const ByteSource& source, Look look) {
  ASSAY_TRY(auto words, taken_for_text(source, look));
  if (!words) return std::nullopt;
  return std::optional(Error(Code::text_converted, *std::move(words)).fact("size", source.size()));
}

Result<Checkpoint> open_as(const Format& format, const OpenInput& input) {
  auto checkpoint = format.open(input);
  if (is_doubtful(checkpoint)) {
    const bool misplaced =
        !checkpoint || checkpoint->findings.has(Code::storage_size_mismatch) || checkpoint->findings.has(Code::bad_header);
    ASSAY_TRY(auto converted, find_conversion(*input.source, misplaced ? Look::within : Look::at_ends));
    if (converted) return fail(std::move(*converted).in_file(input.name));
  }
  if (!checkpoint) return fail(std::move(checkpoint).error().in_file(input.name));
  note_extension(*checkpoint, format, input.name);
  return checkpoint;
}

}  // namespace

std::span<const Format> registry() { return kFormats; }

const Format* find_format(std::string_view id) {
  const auto found = std::ranges::find(kFormats, id, &Format::id);
  return found == std::end(kFormats) ? nullptr : found;
}

Result<Checkpoint> open_single(const FileSet& files, std::string_view name, std::shared_ptr<ByteSource> source, const Limits& limits,
                               Content content) {
  const std::uint64_t size = source->size();
  const OpenInput input{files, name, source, limits};
  auto head = source->fetch(0, std::min(size, kHead));
  if (!head) return fail(std::move(head).error().in_file(name));
  ProbeInput probe{name, size, head->view(), {}};
  for (const Format& format : kFormats)
    if (format.head_decides && format.probe(probe).score >= 100) return open_as(format, input);

  const std::uint64_t tail_size = std::min(size, kTail);
  auto tail = source->fetch(size - tail_size, tail_size);
  if (!tail) return fail(std::move(tail).error().in_file(name));
  probe.tail = tail->view();
  const Format* best = nullptr;
  int best_score = 0;
  for (const Format& format : kFormats) {
    const int score = format.probe(probe).score;
    if (score > best_score) best = &format, best_score = score;
  }
  auto other = recognise_not_weights(probe);
  if (other && other->score > best_score) return fail(std::move(other->error).in_file(name));
  if (best && best->open == open_index && content == Content::weights)
    return fail(Error(Code::json_document, "an index of shards, where a file of weights is expected").in_file(name));
  if (best) return open_as(*best, input);
  ASSAY_TRY(auto converted, find_conversion(*source, Look::at_ends));
  if (converted) return fail(std::move(*converted).in_file(name));
  return fail(unknown_format(probe).in_file(name));
}

}  // namespace assay::formats

namespace assay {

Result<Checkpoint> open(const FileSet& files, const Limits& limits) {
  ASSAY_TRY(auto checkpoint, formats::open_set(files, limits));
  if (!checkpoint) {
    ASSAY_TRY(auto source, files.open(files.primary()));
    ASSAY_TRY(checkpoint, formats::open_single(files, files.primary(), std::move(source), limits, formats::Content::weights_or_index));
  }
  // One looks at the beginnings of names, the other at the rest of them and adds a finding.
  constexpr std::size_t kMany = 20'000;
  in_parallel(2, checkpoint->tensors.size() < kMany ? 1 : limits.threads, [&](std::size_t i, std::size_t) {
    if (i == 0) checkpoint->sections = model::find_sections(*checkpoint);
    else model::note_wrappers(*checkpoint);
  });
  return *std::move(checkpoint);
}

}  // namespace assay
