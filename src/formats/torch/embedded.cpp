// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/embedded.hpp"

#include <algorithm>

#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "formats/torch/legacy_stream.hpp"

namespace assay::formats::torch {

namespace {

// Held bytes at the offsets they have in their file, so that what is found in them is placed there.
class HeldBytes final : public ByteSource {
 public:
  explicit HeldBytes(ByteView bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.offset() + bytes_.size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset < bytes_.offset() || !within(offset - bytes_.offset(), out.size(), bytes_.size()))
      return fail(Error(Code::truncated, concat(out.size(), " bytes at ", offset, " are not within the pickled bytes")).at(offset));
    std::ranges::copy(bytes_.slice(static_cast<std::size_t>(offset - bytes_.offset()), out.size()).span(), out.begin());
    return {};
  }

 private:
  ByteView bytes_;
};

}  // namespace

Result<ByteBlock> PickledBytes::load(const ByteSource&) const {
  const auto size = static_cast<std::size_t>(raw_.size);
  auto bytes = std::make_unique<std::byte[]>(size);
  copy_bytes(*graph_, raw_, {bytes.get(), size});
  return ByteBlock(std::move(bytes), size, graph_->offset(raw_.node))
      .part(static_cast<std::size_t>(begin_), static_cast<std::size_t>(size_));
}

std::optional<ByteView> bytes_in_file(const Graph& graph, const RawBytes& raw, ByteView in_file) {
  if (raw.latin1 || in_file.empty()) return std::nullopt;
  const ByteView bytes = graph.bytes(raw.node);
  if (bytes.empty() || bytes.data() < in_file.data() || bytes.data() >= in_file.data() + in_file.size()) return std::nullopt;
  return in_file.slice(static_cast<std::size_t>(bytes.data() - in_file.data()), bytes.size());
}

bool is_embedded(const Graph& graph, Node n) {
  return kind_of(graph, n) == Kind::call && graph.is_call(n, "torch.storage", "_load_from_bytes");
}

Result<EmbeddedStorage> find_embedded(const std::shared_ptr<const Graph>& graph, Node bytes, ByteView in_file, Arena& arena,
                                      const Limits& limits) {
  const auto raw = bytes == kNoNode ? std::nullopt : raw_bytes(*graph, bytes);
  if (!raw) return fail(Error(Code::malformed_tensor, "the storage's bytes are not bytes"));
  std::vector<std::byte> decoded;
  auto view = bytes_in_file(*graph, *raw, in_file);
  const bool placed = view.has_value();
  if (!placed) {
    decoded.resize(static_cast<std::size_t>(raw->size));
    copy_bytes(*graph, *raw, decoded);
    view.emplace(decoded, graph->offset(raw->node));
  }
  const HeldBytes source(*view);
  ASSAY_TRY(LegacyStream stream, read_legacy_stream(source, view->offset(), view->offset() + view->size(), arena, limits));
  if (stream.broken) return fail(*std::move(stream.broken));

  EmbeddedStorage found;
  ASSAY_TRY(found.id, read_storage_id(*stream.object.graph, stream.object.graph->root(), arena));
  found.id.class_name = arena.text(found.id.class_name);
  found.id.key = arena.text(found.id.key);
  found.id.location = arena.text(found.id.location);
  ASSAY_TRY(found.storage, stream.storages.find(found.id));
  if (!placed) {
    const std::uint64_t begin = found.storage.offset - view->offset();
    found.storage.producer = std::make_shared<PickledBytes>(graph, *raw, begin, found.storage.nbytes);
    found.storage.offset = view->offset();
  }
  return found;
}

}  // namespace assay::formats::torch
