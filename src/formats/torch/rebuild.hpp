// SPDX-License-Identifier: Apache-2.0
// What a call in a checkpoint's pickle stands for, from the fixed table of callables known to carry data. Nothing is called; what the
// table does not know stays an opaque object whose parts are walked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/dtype.hpp"
#include "formats/torch/nodes.hpp"

namespace assay::formats::torch {

enum class Form : std::uint8_t {
  opaque,     ///< not in the table
  tensor,     ///< Rebuilt::tensor
  array,      ///< a numpy array: Rebuilt::array
  alias,      ///< another node with something around it: Rebuilt::inner
  container,  ///< only what is in Rebuilt::groups
  value,      ///< plain: Rebuilt::text says it
  storage,    ///< a storage whose bytes stand in the pickle
  number,     ///< a number or boolean that the file spells as bytes: Rebuilt::scalar
};

/// How the children of a node are found.
enum class GroupKind : std::uint8_t {
  items,              ///< sequence items, by index
  pairs,              ///< dict pairs, by key
  pair_items,         ///< a list of (key, value): how Python 2 writes an OrderedDict
  attributes,         ///< pairs of a BUILD state: an object's attributes
  members,            ///< pairs of a module's parameters, buffers or modules; None means absent
  module_attributes,  ///< the other attributes of a module, empty bookkeeping left out
  parts,              ///< Rebuilt::parts
};
struct Group {
  GroupKind kind;
  Node node;
};
struct Part {
  std::string_view label;  ///< static
  Node node;
};

/// A tensor as its rebuild call gives it, not yet checked.
struct TensorNodes {
  Node storage = kNoNode;  ///< a persistent id, or the storage in another form; kNoNode for a meta tensor
  Node offset = kNoNode, size = kNoNode, stride = kNoNode;
  Node dtype = kNoNode;      ///< a dtype that outranks the storage's
  Node quantizer = kNoNode;  ///< (qscheme, scale, zero point) or (qscheme, scales, zero points, axis)
  bool meta = false;         ///< no data by design
  bool conj = false;
  bool neg = false;
};

/// A numpy array: its bytes stand in the pickle.
struct ArrayNodes {
  RawBytes bytes;
  Node shape = kNoNode;
  DType dtype = DType::unknown;
  bool big_endian = false;
  bool fortran = false;  ///< column-major
};

struct Scalar {
  Kind kind = Kind::none;  ///< boolean, integer or real
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0;
};

struct Rebuilt {
  Form form = Form::opaque;
  TensorNodes tensor;
  ArrayNodes array;
  Scalar scalar;
  Node inner = kNoNode;
  bool parameter = false;
  bool is_object = false;  ///< `text` names a class rather than being the value
  std::uint64_t cost = 0;  ///< items and bytes looked at beyond the call itself
  std::string text;
  std::vector<Group> groups;  ///< children to walk under the node's own name
  std::vector<Part> parts;    ///< named children

  void clear();
};

/// Looks the call up and fills `out`. Cost: the table's length, once per callable in a row.
void rebuild(const Graph& graph, Node call, Rebuilt& out);
/// True when the call gives a tensor, also within a parameter or another wrapper. Leaves anything in `scratch`.
bool is_tensor(const Graph& graph, Node call, Rebuilt& scratch);
/// BUILD states as attributes, and what APPENDS and SETITEMS put into the object.
void add_object_groups(const Graph& graph, Node object, Rebuilt& out);
/// True for a call that makes a tensor, an array or a storage.
bool makes_tensor(const Graph& graph, Node call);
/// True for imports that carry data in ordinary checkpoints: the table's own, storages, dtypes, torch.nn, plain Python types.
bool is_known_global(const GlobalName& name);

// One call as a handler sees it; the callable may be an argument of another call, so `node` is only where it stands.
struct Call {
  const Graph& graph;
  Node node;
  Node args;
  unsigned depth = 0;

  Node arg(std::size_t i) const { return item_at(graph, args, i); }
};
using Handler = void (*)(const Call&, Rebuilt&);

// numpy.cpp
void rebuild_numpy_array(const Call& call, Rebuilt& out);
void rebuild_numpy_buffer(const Call& call, Rebuilt& out);
void rebuild_numpy_scalar(const Call& call, Rebuilt& out);
void rebuild_numpy_dtype(const Call& call, Rebuilt& out);

void rebuild_joblib_array(const Call& call, Rebuilt& out);

// packed_modules.cpp
void rebuild_packed_object(const Call& call, Rebuilt& out);
/// False when it is none.
bool add_quantised_convolution(const Graph& graph, Node module, Node state, Rebuilt& out);

// plain_objects.cpp
void rebuild_size(const Call& call, Rebuilt& out);
void rebuild_device(const Call& call, Rebuilt& out);
void rebuild_layout(const Call& call, Rebuilt& out);
void rebuild_complex(const Call& call, Rebuilt& out);
void rebuild_bytes(const Call& call, Rebuilt& out);
void rebuild_getattr(const Call& call, Rebuilt& out);
void rebuild_ordered_dict(const Call& call, Rebuilt& out);
void rebuild_counter(const Call& call, Rebuilt& out);
void rebuild_collection(const Call& call, Rebuilt& out);
void rebuild_path(const Call& call, Rebuilt& out);
void rebuild_datetime(const Call& call, Rebuilt& out);
void rebuild_date(const Call& call, Rebuilt& out);

}  // namespace assay::formats::torch
