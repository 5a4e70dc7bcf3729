// SPDX-License-Identifier: Apache-2.0
// The frame of a GGUF file, strictly. Little endian.
//
//   "GGUF", version u32, tensors u64, keys u64 (both u32 in version 1, as all lengths are)
//   { key string, type u32, value } …      string  length u64, bytes;  array  type u32, count u64, elements, which are no arrays
//   { name string, dimensions n u32, n u64, type u32, offset u64 } …
//   padding to general.alignment (32), data; a tensor's offset counts from there
#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <unordered_set>

#include "analysis/scan/sniff.hpp"
#include "analysis/scan/templates.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/cursor.hpp"

namespace assay::scan {

namespace {

constexpr std::uint32_t kString = 8, kArray = 9;
constexpr std::uint8_t kValueSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr std::uint32_t kMostDimensions = 4;
constexpr std::size_t kLongestName = 63;  // bytes of a tensor's name, for ggml keeps it in 64
constexpr std::uint64_t kMostAlignment = std::uint64_t{1} << 30;

/// Elements and bytes of a block of each type that ggml has; files of other programs have more.
constexpr struct {
  std::uint32_t type, elements, bytes;
} kBlocks[] = {{0, 1, 4},      {1, 1, 2},     {2, 32, 18},    {3, 32, 20},    {6, 32, 22},    {7, 32, 24},    {8, 32, 34},
               {9, 32, 36},    {10, 256, 84}, {11, 256, 110}, {12, 256, 144}, {13, 256, 176}, {14, 256, 210}, {15, 256, 292},
               {16, 256, 66},  {17, 256, 74}, {18, 256, 98},  {19, 256, 50},  {20, 32, 18},   {21, 256, 110}, {22, 256, 82},
               {23, 256, 136}, {24, 1, 1},    {25, 1, 2},     {26, 1, 4},     {27, 1, 8},     {28, 1, 8},     {29, 256, 56},
               {30, 1, 2},     {34, 256, 54}, {35, 256, 66},  {39, 32, 17},   {40, 64, 36}};

class Walker {
 public:
  explicit Walker(ByteView bytes) : in_(bytes) {}
  Result<GgufFrame> walk(std::uint64_t file_size);

 private:
  std::uint64_t length(std::string_view what) { return version_ == 1 ? in_.u32_le(what) : in_.u64_le(what); }
  std::string_view string(std::string_view what) { return in_.take(length(what), what).text(); }
  void fail(Code code, std::string text) { in_.fail(Error(code, std::move(text)).at(in_.offset())); }
  void values(std::uint32_t type, std::uint64_t count);
  void key();
  void tensor();

  Cursor in_;
  GgufFrame frame_;
  std::uint32_t version_ = 0;
  std::uint64_t alignment_ = 32, furthest_ = 0;
  std::optional<std::uint64_t> data_ = 0;  // bytes up to the last tensor's end
  std::unordered_set<std::string> names_;
};

void Walker::values(std::uint32_t type, std::uint64_t count) {
  if (type >= std::size(kValueSizes)) return fail(Code::bad_header, concat("value type ", type, " is none"));
  if (type == kArray) return fail(Code::bad_header, "an array holds arrays");
  if (type != kString) {
    const auto bytes = checked_mul(count, kValueSizes[type]);
    return in_.skip(bytes.value_or(~std::uint64_t{0}), "array");
  }
  for (std::uint64_t i = 0; i < count && in_.ok(); ++i) string("string");
}

void Walker::key() {
  const std::string name(string("key"));
  const std::uint32_t type = in_.u32_le("value type");
  if (in_.ok() && !names_.insert(name).second) return fail(Code::duplicate_name, concat("two keys are named ", quote(name)));
  if (name == "general.alignment" && type == 4) {
    alignment_ = in_.u32_le("alignment");
    if (in_.ok() && (!std::has_single_bit(alignment_) || alignment_ > kMostAlignment))
      fail(Code::bad_header, concat("the alignment ", alignment_, " is no power of two"));
    return;
  }
  if (name == "general.alignment") return fail(Code::bad_header, concat("general.alignment has value type ", type));
  if (type == kString && name.starts_with("tokenizer.chat_template")) {
    const std::uint64_t at = in_.offset();
    if (const std::string_view word = reaching_word(string("template")); !word.empty() && frame_.reaching.empty())
      frame_.reaching = word, frame_.template_at = at;
    return;
  }
  if (type != kArray) return values(type, 1);
  const std::uint32_t element = in_.u32_le("array type");
  const std::uint64_t count = length("array length");
  if (in_.ok()) values(element, count);
}

void Walker::tensor() {
  const std::string name(string("tensor name"));
  if (in_.ok() && name.size() > kLongestName)
    return fail(Code::odd_name, concat("the tensor name ", quote(name, kLongestName), " has ", name.size(),
                                       " bytes; ggml refuses more than ", kLongestName));
  if (in_.ok() && !names_.insert(name).second) return fail(Code::duplicate_name, concat("two tensors are named ", quote(name)));
  const std::uint32_t dimensions = in_.u32_le("dimensions");
  if (in_.ok() && dimensions > kMostDimensions)
    return fail(Code::bad_shape, concat("tensor ", quote(name), " has ", dimensions, " dimensions"));
  std::optional<std::uint64_t> elements = 1;
  for (std::uint32_t i = 0; i < dimensions && in_.ok(); ++i) {
    const std::uint64_t n = version_ == 1 ? in_.u32_le("dimension") : in_.u64_le("dimension");
    elements = elements ? checked_mul(*elements, n) : elements;
  }
  const std::uint32_t type = in_.u32_le("tensor type");
  const std::uint64_t offset = in_.u64_le("tensor offset");
  if (in_.ok() && !elements) return fail(Code::shape_overflow, concat("tensor ", quote(name), " has more elements than can be counted"));
  if (in_.ok() && elements && *elements != 0) furthest_ = std::max(furthest_, offset);
  const auto* const block = std::ranges::find(kBlocks, type, [](const auto& row) { return row.type; });
  if (!data_ || !elements || *elements == 0) return;
  // Rows are whole blocks. Where they are not, or the type is unknown, nobody can say where the data end.
  if (block == std::end(kBlocks) || *elements % block->elements != 0) return data_.reset();
  const auto bytes = checked_mul(*elements / block->elements, block->bytes);
  const auto end = bytes ? checked_add(offset, *bytes) : std::nullopt;
  data_ = end ? std::optional(std::max(*data_, *end)) : std::nullopt;
}

Result<GgufFrame> Walker::walk(std::uint64_t file_size) {
  constexpr std::uint64_t kLeastTensor = 8 + 4 + 4 + 8, kLeastKey = 8 + 4 + 1;
  in_.skip(4, "magic");
  version_ = in_.u32_le("version");
  if (in_.ok() && (version_ < 1 || version_ > 3)) fail(Code::bad_version, concat("GGUF version ", version_, " is not 1, 2 or 3"));
  const std::uint64_t tensors = length("tensor count"), keys = length("key count");
  if (in_.ok() && (tensors > file_size / kLeastTensor || keys > file_size / kLeastKey))
    fail(Code::bad_header, concat(tensors, " tensors and ", keys, " keys do not fit in ", file_size, " bytes"));
  for (std::uint64_t i = 0; i < keys && in_.ok(); ++i) key();
  names_.clear();
  for (std::uint64_t i = 0; i < tensors && in_.ok(); ++i) tensor();
  if (!in_.ok()) return std::unexpected(in_.take_error());
  const std::uint64_t begin = std::min((in_.offset() + alignment_ - 1) & ~(alignment_ - 1), file_size);
  if (tensors != 0 && furthest_ > file_size - begin)
    return assay::fail(
        Error(Code::truncated, concat("a tensor starts ", furthest_, " bytes into the data, ", file_size - begin, " are there")).at(begin));
  if (tensors != 0 && data_ && *data_ > file_size - begin)
    return assay::fail(
        Error(Code::truncated, concat("the tensors need ", *data_, " bytes of data, ", file_size - begin, " are there")).at(begin));
  if (tensors != 0 && data_) frame_.data_end = begin + *data_;
  frame_.tensors = tensors;
  frame_.header_end = in_.offset();
  return std::move(frame_);
}

}  // namespace

Result<GgufFrame> check_gguf(const ByteSource& source, const Limits& limits) {
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 20, kGrowth = 8;
  const std::uint64_t most = std::min(source.size(), limits.header_bytes);
  for (std::uint64_t n = std::min(kFirst, most);; n = std::min(n * kGrowth, most)) {
    ASSAY_TRY(const ByteBlock block, source.view(0, n));
    auto walked = Walker(block.view()).walk(source.size());
    const bool cut = !walked && walked.error().code() == Code::truncated && n < most;
    if (!cut) return walked;
  }
}

}  // namespace assay::scan
