// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/storage_id.hpp"

#include <algorithm>
#include <charconv>

#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::formats::torch {

namespace {

// Of the texts of an id: torch's are short, and many ids may share a long one, all of which each would look at.
constexpr std::size_t kMostText = 4096;

void set_class(StorageId& id, std::string_view name) {
  // Only the class's own name counts, whatever its module: torch looks it up the same way.
  id.class_name = name.substr(name.rfind('.') + 1);
  id.untyped = id.class_name == "UntypedStorage" || id.class_name == "_UntypedStorage";
  id.dtype = dtype_from_storage_class(id.class_name).value_or(DType::unknown);
}

std::unexpected<Error> malformed(const Graph& graph, Node n, std::string what) {
  return fail(Error(Code::malformed_tensor, std::move(what)).at(graph.offset(n)));
}

// One field of a tuple's repr: a quoted text, <class 'module.Name'>, or a bare word up to the comma.
std::string_view repr_field(std::string_view& rest) {
  const std::size_t begin = rest.find_first_not_of(" ,(");
  if (begin == std::string_view::npos) return rest = {};
  rest.remove_prefix(begin);
  if (rest.starts_with("<class ")) rest.remove_prefix(7);
  std::string_view field;
  if (rest.starts_with('\'') || rest.starts_with('"')) {
    const std::size_t end = rest.find(rest.front(), 1);
    if (end == std::string_view::npos) return rest = {};
    field = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (rest.starts_with('>')) rest.remove_prefix(1);
  } else {
    const std::size_t end = rest.find_first_of(",)");
    field = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end);
  }
  return field;
}

Result<StorageId> from_repr(const Graph& graph, Node n, std::string_view text) {
  StorageId id;
  std::string_view rest = text;
  if (!text.starts_with('(') || repr_field(rest) != "storage")
    return malformed(graph, n, concat("persistent id ", quote(text, 80), " does not name a storage"));
  set_class(id, repr_field(rest));
  id.key = repr_field(rest);
  id.location = repr_field(rest);
  const std::string_view numel = repr_field(rest);
  const auto [end, failure] = std::from_chars(numel.data(), numel.data() + numel.size(), id.numel);
  if (failure != std::errc() || end != numel.data() + numel.size())
    return malformed(graph, n, concat("storage element count ", quote(numel, 40), " is not a number"));
  return id;
}

Result<void> read_view(const Graph& graph, Node n, Node view, StorageId& id) {
  const auto offset = integer_of(graph, item_at(graph, view, 1));
  const auto numel = integer_of(graph, item_at(graph, view, 2));
  if (!offset || !numel || *offset < 0 || *numel < 0) return malformed(graph, n, "a storage's view metadata is not (key, offset, count)");
  id.view_offset = static_cast<std::uint64_t>(*offset);
  id.view_numel = static_cast<std::uint64_t>(*numel);
  return {};
}

}  // namespace

std::optional<std::uint64_t> StorageId::claimed_bytes() const {
  const std::uint64_t bytes = storage_unit(dtype);
  const auto elements = view_numel ? checked_add(view_offset, *view_numel) : numel;
  return elements ? checked_mul(*elements, bytes) : std::nullopt;
}

Result<StorageId> read_storage_id(const Graph& graph, Node n, Arena& arena) {
  if (kind_of(graph, n) != Kind::persistent)
    return malformed(graph, n, concat("expected a storage, found ", n == kNoNode ? "nothing" : pickle::kind_name(graph.kind(n))));
  const Node pid = graph.item(n, 0);
  for (std::size_t i = 0; i < std::min<std::size_t>(length_of(graph, pid), 4); ++i)
    if (const std::size_t size = graph.text(graph.item(pid, i)).size(); size > kMostText)
      return malformed(graph, n, concat("a text of ", size, " bytes in a storage's id; at most ", kMostText, " make sense"));
  if (is_text(kind_of(graph, pid))) return from_repr(graph, n, graph.text(pid).substr(0, kMostText));
  const Node tag = item_at(graph, pid, 0);
  if (!is_text(kind_of(graph, tag)) || graph.text(tag) != "storage") return malformed(graph, n, "persistent id does not name a storage");

  StorageId id;
  const Node type = item_at(graph, pid, 1);
  set_class(id, kind_of(graph, type) == Kind::global ? graph.global(type).name : graph.text(type));
  const Node key = item_at(graph, pid, 2);
  if (is_text(kind_of(graph, key))) id.key = graph.text(key);
  else if (const auto number = integer_of(graph, key)) id.key = arena.text(decimal(*number));
  else return malformed(graph, n, "storage key is neither a text nor an integer");
  const Node location = item_at(graph, pid, 3);
  if (is_text(kind_of(graph, location))) id.location = graph.text(location);
  const auto numel = integer_of(graph, item_at(graph, pid, 4));
  if (!numel || *numel < 0) return malformed(graph, n, concat("storage ", quote(id.key), " has no valid element count"));
  id.numel = static_cast<std::uint64_t>(*numel);
  const Node view = item_at(graph, pid, 5);
  if (kind_of(graph, view) != Kind::none) ASSAY_CHECK(read_view(graph, n, view, id));
  return id;
}

}  // namespace assay::formats::torch
