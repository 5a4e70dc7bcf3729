// SPDX-License-Identifier: Apache-2.0
// Writes the layout that formats/safetensors.cpp reads, as the reference writer orders and pads it.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "formats/safetensors_layout.hpp"
#include "formats/write.hpp"

namespace assay::formats {

namespace {

constexpr std::uint64_t kLargestHeader = 100'000'000;  // what the reference reader takes

/// As a JSON string, with the escapes that JSON demands and no others.
void append_json(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto value = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += {'\\', c};
    else if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else if (c == '\b') out += "\\b";
    else if (c == '\f') out += "\\f";
    else if (value < 0x20) out += {'\\', 'u', '0', '0', kDigits[value >> 4], kDigits[value & 15]};
    else out += c;
  }
  out += '"';
}

void append_numbers(std::string& out, std::span<const std::uint64_t> numbers) {
  out += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) out += concat(i == 0 ? "" : ",", numbers[i]);
  out += ']';
}

Result<void> check(const TensorToWrite& tensor) {
  const auto refuse = [&](Code code, std::string what) { return fail(Error(code, std::move(what)).of_tensor(tensor.name)); };
  if (tensor.name == "__metadata__") return refuse(Code::reserved_name, "'__metadata__' cannot be a tensor's name in safetensors");
  if (!valid_utf8(tensor.name)) return refuse(Code::unsupported, concat("the name ", quote(tensor.name), " is not UTF-8"));
  if (!safetensors::dtype_of(dtype_name(tensor.dtype)))
    return refuse(Code::unsupported, concat("safetensors has no dtype ", dtype_name(tensor.dtype)));
  std::optional<std::uint64_t> bits = dtype_bits(tensor.dtype);
  for (const std::uint64_t dimension : tensor.shape) bits = bits ? checked_mul(*bits, dimension) : bits;
  if (!bits || *bits % 8 != 0 || *bits / 8 != tensor.bytes.size())
    return refuse(Code::size_mismatch, concat("shape ", bracketed(tensor.shape), " of ", dtype_name(tensor.dtype), " does not fit ",
                                              tensor.bytes.size(), " bytes"));
  return {};
}

}  // namespace

Result<std::vector<std::byte>> write_safetensors(std::span<const TensorToWrite> tensors,
                                                 const std::map<std::string, std::string>& metadata) {
  std::vector<const TensorToWrite*> order;
  for (const TensorToWrite& tensor : tensors) {
    ASSAY_CHECK(check(tensor));
    order.push_back(&tensor);
  }
  // dtypes.def lists them by rank: the widest stand last, and are written first, so that every tensor is aligned.
  sort_stable(
      order, [](const TensorToWrite* a, const TensorToWrite* b) { return a->dtype != b->dtype ? a->dtype > b->dtype : a->name < b->name; });

  std::string header = "{";
  std::uint64_t end = 0;
  if (!metadata.empty()) {
    header += "\"__metadata__\":";
    for (char before = '{'; const auto& [key, value] : metadata) {
      if (!valid_utf8(key) || !valid_utf8(value)) return fail(Code::unsupported, concat("the metadata of ", quote(key), " is not UTF-8"));
      header += std::exchange(before, ',');
      append_json(header, key);
      header += ':';
      append_json(header, value);
    }
    header += '}';
  }
  std::vector<std::string_view> names;
  for (const TensorToWrite* tensor : order) {
    if (header.size() > 1) header += ',';
    append_json(header, tensor->name);
    header += concat(":{\"dtype\":\"", dtype_name(tensor->dtype), "\",\"shape\":");
    append_numbers(header, tensor->shape);
    header += concat(",\"data_offsets\":[", end, ',', end + tensor->bytes.size(), "]}");
    end += tensor->bytes.size();
    names.push_back(tensor->name);
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  sort_stable(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    return fail(Error(Code::duplicate_name, concat("two tensors are named ", quote(*twice))).of_tensor(*twice));
  if (header.size() > kLargestHeader)
    return fail(Code::header_too_long,
                concat("a header of ", header.size(), " bytes is more than the ", kLargestHeader, " that the reference reader takes"));

  std::vector<std::byte> file(8 + header.size() + static_cast<std::size_t>(end));
  store_le<std::uint64_t>(file.data(), header.size());
  std::memcpy(file.data() + 8, header.data(), header.size());
  std::byte* next = file.data() + 8 + header.size();
  for (const TensorToWrite* tensor : order) {
    if (!tensor->bytes.empty()) std::memcpy(next, tensor->bytes.data(), tensor->bytes.size());
    next += tensor->bytes.size();
  }
  return file;
}

}  // namespace assay::formats
