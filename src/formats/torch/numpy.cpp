// SPDX-License-Identifier: Apache-2.0
// NumPy values in a pickle.
//
//   array   _reconstruct(ndarray, (0,), b"b") and BUILD (1, shape, dtype, is_fortran, raw bytes)
//           _frombuffer(bytearray, dtype, shape, "C" or "F")                                     protocol 5
//   scalar  scalar(dtype, raw bytes)
//   dtype   dtype("f8", False, True) and BUILD (3, "<", None, names, fields, item size, alignment, flags)
//   joblib  NumpyArrayWrapper() and BUILD {shape, order, dtype, …}; its bytes stand behind that opcode (containers/joblib.hpp)
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/half.hpp"
#include "base/text.hpp"
#include "formats/torch/numpy.hpp"
#include "formats/torch/rebuild.hpp"

namespace assay::formats::torch {

namespace {

struct NamedType : NumpyType {
  std::string text;  ///< "f8", for people
};

constexpr struct {
  std::string_view code;
  DType dtype;
} kTypeCodes[] = {
    {"b1", DType::bool_}, {"?", DType::bool_}, {"i1", DType::i8},  {"u1", DType::u8},  {"i2", DType::i16},
    {"u2", DType::u16},   {"i4", DType::i32},  {"u4", DType::u32}, {"i8", DType::i64}, {"u8", DType::u64},
    {"f2", DType::f16},   {"f4", DType::f32},  {"f8", DType::f64}, {"c8", DType::c64}, {"c16", DType::c128},
};

NamedType read_type(const Graph& graph, Node n) {
  NamedType type;
  if (kind_of(graph, n) != Kind::call) {
    type.text += pickle::describe(graph, n);
    return type;
  }
  const Node code = item_at(graph, graph.args(n), 0);
  if (is_text(kind_of(graph, code))) {
    type.text = graph.text(code);
  } else {  // ml_dtypes registers classes: dtype(ml_dtypes.bfloat16)
    type.text = kind_of(graph, code) == Kind::global ? std::string(graph.global(code).name) : "";
    if (type.text != "float8_e4m3" && type.text != "float8_e4m3b11fnuz") type.dtype = dtype_from_torch(type.text).value_or(DType::unknown);
  }
  const NumpyType plain = numpy_type(type.text);
  type.big_endian = plain.big_endian;
  type.kind = plain.kind;
  if (plain.dtype != DType::unknown) type.dtype = plain.dtype;
  for (const Node state : graph.states(n)) {
    const Node order = item_at(graph, state, 1);
    if (is_text(kind_of(graph, order))) type.big_endian = graph.text(order) == ">";
  }
  return type;
}

void describe_array(const Graph& graph, const NamedType& type, Node shape, Rebuilt& out) {
  out.form = Form::value;
  out.is_object = true;
  out.text = concat("numpy.ndarray of ", type.text, " ");
  out.text += pickle::describe(graph, shape);
}

void set_array(const Graph& graph, Node bytes, Node dtype, Node shape, bool fortran, Rebuilt& out) {
  const NamedType type = read_type(graph, dtype);
  const auto raw = bytes == kNoNode ? std::nullopt : raw_bytes(graph, bytes);
  if (type.dtype == DType::unknown || !raw) return describe_array(graph, type, shape, out);
  out.form = Form::array;
  out.cost += raw->size;
  out.array = {.bytes = *raw, .shape = shape, .dtype = type.dtype, .big_endian = type.big_endian, .fortran = fortran};
}

std::uint64_t load(std::span<const std::byte> bytes, bool big_endian) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t at = big_endian ? i : bytes.size() - 1 - i;
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[at]);
  }
  return value;
}

double as_real(std::uint64_t bits, DType dtype) {
  switch (dtype) {
    case DType::f16: return static_cast<double>(f16_to_f32(static_cast<std::uint16_t>(bits)));
    case DType::bf16: return static_cast<double>(bf16_to_f32(static_cast<std::uint16_t>(bits)));
    case DType::f32: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    default: return std::bit_cast<double>(bits);
  }
}

// UCS-4 text padded with zeros.
std::string text_of_ucs4(std::span<const std::byte> bytes, bool big_endian) {
  std::string text;
  for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    const auto point = static_cast<std::uint32_t>(load(bytes.subspan(i, 4), big_endian));
    if (point == 0) break;
    append_utf8(text, point <= 0x10ffff ? point : 0xfffd);
  }
  return text;
}

std::string text_of_complex(std::span<const std::byte> bytes, const NumpyType& type) {
  const std::size_t half = bytes.size() / 2;
  const DType part = type.dtype == DType::c64 ? DType::f32 : DType::f64;
  std::string text = "(", imaginary;
  append_real(text, as_real(load(bytes.first(half), type.big_endian), part));
  append_real(imaginary, as_real(load(bytes.subspan(half), type.big_endian), part));
  return concat(text, imaginary.starts_with('-') ? "" : "+", imaginary, "j)");
}

// The state that joblib's wrapper was last built with.
Node joblib_state(const Graph& graph, Node wrapper) {
  const auto states = graph.states(wrapper);
  return states.empty() || kind_of(graph, states.back()) != Kind::dict ? kNoNode : states.back();
}

}  // namespace

NumpyType numpy_type(std::string_view text) {
  NumpyType type;
  if (!text.empty() && std::string_view("<>|=").find(text.front()) != std::string_view::npos) {
    type.big_endian = text.front() == '>';
    text.remove_prefix(1);
  }
  if (!text.empty()) type.kind = text.front();
  for (const auto& row : kTypeCodes)
    if (row.code == text) type.dtype = row.dtype;
  return type;
}

void rebuild_joblib_array(const Call& call, Rebuilt& out) {
  const Graph& graph = call.graph;
  const Node state = joblib_state(graph, call.node);
  if (state == kNoNode) return;
  out.cost += 3 * graph.pair_count(state);
  const std::size_t inlays = graph.length(call.node);
  const Node order = graph.get(state, "order");
  const bool fortran = is_text(kind_of(graph, order)) && graph.text(order) == "F";
  const Node bytes = inlays == 0 ? kNoNode : graph.item(call.node, inlays - 1);
  set_array(graph, bytes, graph.get(state, "dtype"), graph.get(state, "shape"), fortran, out);
}

void rebuild_numpy_array(const Call& call, Rebuilt& out) {
  const Graph& graph = call.graph;
  const auto states = graph.states(call.node);
  for (std::size_t i = states.size(); i-- > 0;) {  // the last one counts
    const Node state = states[i];
    if (length_of(graph, state) < 5) continue;
    const Node bytes = item_at(graph, state, 4);
    const bool object_array = kind_of(graph, bytes) == Kind::list;
    set_array(graph, object_array ? kNoNode : bytes, item_at(graph, state, 2), item_at(graph, state, 1),
              truth_of(graph, item_at(graph, state, 3)), out);
    if (object_array) out.groups.push_back({GroupKind::items, bytes});
    return;
  }
}

void rebuild_numpy_buffer(const Call& call, Rebuilt& out) {
  const Graph& graph = call.graph;
  const Node order = call.arg(3);
  set_array(graph, call.arg(0), call.arg(1), call.arg(2), is_text(kind_of(graph, order)) && graph.text(order) == "F", out);
}

void rebuild_numpy_scalar(const Call& call, Rebuilt& out) {
  const Graph& graph = call.graph;
  const NamedType type = read_type(graph, call.arg(0));
  const auto raw = raw_bytes(graph, call.arg(1));
  std::array<std::byte, 256> buffer{};
  out.form = Form::value;
  out.is_object = true;
  out.text = concat("numpy.", type.text);
  out.cost += raw ? raw->size : 0;
  if (!raw || raw->size > buffer.size()) return;
  const std::span<const std::byte> bytes = std::span(buffer).first(copy_bytes(graph, *raw, buffer));
  if (type.kind == 'U' || type.kind == 'S') {
    out.is_object = false;
    if (type.kind == 'U') out.text = text_of_ucs4(bytes, type.big_endian);
    else out.text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return;
  }
  if (type.dtype == DType::unknown || bytes.size() * 8 != dtype_bits(type.dtype)) return;
  const DTypeKind kind = dtype_info(type.dtype).kind;
  if (kind == DTypeKind::complex) {
    out.is_object = false;
    out.text = text_of_complex(bytes, type);
    return;
  }
  const std::uint64_t bits = load(bytes, type.big_endian);
  const unsigned unused = 64 - dtype_bits(type.dtype);
  const auto value = static_cast<std::int64_t>(bits << unused) >> unused;
  const bool beyond = kind == DTypeKind::unsigned_integer && unused == 0 && value < 0;
  out.is_object = false;
  out.text = beyond ? decimal(bits) : std::string();
  if (beyond) return;
  out.form = Form::number;
  if (kind == DTypeKind::boolean) out.scalar = {.kind = Kind::boolean, .boolean = bits != 0};
  else if (kind == DTypeKind::real && bytes.size() == 1)
    out.form = Form::value, out.is_object = true, out.text = concat("numpy.", type.text);
  else if (kind == DTypeKind::real) out.scalar = {.kind = Kind::real, .real = as_real(bits, type.dtype)};
  else out.scalar = {.kind = Kind::integer, .integer = kind == DTypeKind::signed_integer ? value : static_cast<std::int64_t>(bits)};
}

void rebuild_numpy_dtype(const Call& call, Rebuilt& out) {
  const NamedType type = read_type(call.graph, call.node);
  out.form = Form::value;
  out.text = concat("numpy.", type.big_endian ? ">" : "", type.text);
}

}  // namespace assay::formats::torch
