// SPDX-License-Identifier: Apache-2.0
//
//   safetensors  header length u64, header (JSON), data: every byte of it belongs to one tensor
#include "analysis/scan/sniff.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <unordered_set>
#include <vector>

#include "assay/dtype.hpp"
#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/json.hpp"
#include "containers/unpack.hpp"

namespace assay::scan {

namespace {

struct Magic {
  std::string_view bytes;
  std::size_t at;
  Known known;
};

using namespace std::string_view_literals;

constexpr Magic kClosed[] = {
    {"7z\xbc\xaf\x27\x1c"sv, 0, {"7z", false, Code::seven_zip, "a 7z archive, which is not opened; nor does PyTorch read it"}},
    {"Rar!\x1a\x07"sv, 0, {"rar", false, Code::rar, "a rar archive, which is not opened"}},
    {"\x28\xb5\x2f\xfd"sv, 0, {"zstd", false, Code::zstd, "packed with zstd, which is not unpacked here"}},
    {"\x04\x22\x4d\x18"sv, 0, {"lz4", false, Code::lz4, "packed with lz4, which is not unpacked here"}},
    {"\x02\x21\x4c\x18"sv, 0, {"lz4", false, Code::lz4, "packed with lz4, which is not unpacked here"}},
    {"LZIP"sv, 0, {"lzip", false, Code::unsupported_format, "packed with lzip, which is not unpacked here"}},
    {"\x1f\x9d"sv, 0, {"compress", false, Code::unsupported_format, "packed with compress, which is not unpacked here"}},
    {"MSCF"sv, 0, {"cab", false, Code::unsupported_format, "a cabinet archive, which is not opened"}},
};

constexpr Magic kOthers[] = {
    {"\x89HDF\r\n\x1a\n"sv, 0, {"hdf5", false, Code::hdf5, "an HDF5 file, which is not looked into; Keras stores code in such files"}},
    {"\x7f"
     "ELF"sv,
     0,
     {"executable", false, Code::executable, "a program or a library of native code"}},
    {"MZ"sv, 0, {"executable", false, Code::executable, "a program or a library of native code"}},
    {"\xfe\xed\xfa\xcf"sv, 0, {"executable", false, Code::executable, "a program or a library of native code"}},
    {"\xcf\xfa\xed\xfe"sv, 0, {"executable", false, Code::executable, "a program or a library of native code"}},
    {"\xca\xfe\xba\xbe"sv, 0, {"executable", false, Code::executable, "a program or a library of native code"}},
    {"PYTORCH1"sv, 0, {"torch-preview", false, Code::unsupported_format, "a torch file from before 1.0, which is not looked into"}},
    {"PTMF"sv, 4, {"torch-mobile", false, Code::unsupported_format, "a mobile module (FlatBuffer), which is not looked into"}},
    {"TFL3"sv, 4, {"tflite", false, Code::tensorflow, "a TensorFlow Lite model, which is not looked into"}},
    {"\x89PNG\r\n\x1a\n"sv, 0, {"image", true, {}, {}}},
    {"\xff\xd8\xff"sv, 0, {"image", true, {}, {}}},
    {"GIF8"sv, 0, {"image", true, {}, {}}},
    {"WEBP"sv, 8, {"image", true, {}, {}}},
    {"BM"sv, 0, {"image", true, {}, {}}},
    {"\0\5\x16\7"sv, 0, {"apple-double", true, {}, {}}},
    {"%PDF-"sv, 0, {"pdf", true, {}, {}}},
    {"PAR1"sv, 0, {"parquet", true, {}, {}}},
    {"ARROW1"sv, 0, {"arrow", true, {}, {}}},
    {"OggS"sv, 0, {"sound", true, {}, {}}},
    {"RIFF"sv, 0, {"sound", true, {}, {}}},
    {"SQLite format 3\0"sv, 0, {"sqlite", true, {}, {}}},
};

bool matches(const Magic& magic, ByteView head) {
  const std::string_view text = head.text();
  return text.size() >= magic.at && text.substr(magic.at).starts_with(magic.bytes);
}

/// A SentencePiece model starts with a piece: field 1, its length, field 1 of it, a text.
bool is_sentencepiece(ByteView head) {
  if (head.size() < 8 || head[0] != std::byte{0x0a} || head[2] != std::byte{0x0a}) return false;
  const auto outer = std::to_integer<std::size_t>(head[1]), inner = std::to_integer<std::size_t>(head[3]);
  return outer < 128 && inner + 2 <= outer && outer + 2 < head.size() && head[4 + inner] == std::byte{0x15} &&
         head[2 + outer] == std::byte{0x0a};
}

/// A .pyc file: its version, a line's end that a text mode would spoil, and flags of which two are known.
bool is_python_bytecode(ByteView head) {
  return head.size() >= 16 && head[2] == std::byte{'\r'} && head[3] == std::byte{'\n'} && load_le<std::uint32_t>(head.data() + 4) <= 3;
}

/// The properties, the dictionary's size (2^n or 2^n + 2^(n-1)) and the unpacked size in front of an lzma stream without container.
bool is_lzma_alone(ByteView head) {
  constexpr unsigned kProperties = 9 * 5 * 5;
  constexpr std::uint64_t kUnknownSize = ~std::uint64_t{0}, kLargest = std::uint64_t{1} << 38;
  if (head.size() < 14 || std::to_integer<unsigned>(head[0]) >= kProperties) return false;
  const std::uint32_t dictionary = load_le<std::uint32_t>(head.data() + 1);
  const std::uint64_t size = load_le<std::uint64_t>(head.data() + 5);
  const bool plausible = std::popcount(dictionary) == 1 || (std::popcount(dictionary) == 2 && (dictionary & (dictionary >> 1)) != 0) ||
                         dictionary == 0xffffffff;
  return plausible && (size == kUnknownSize || size < kLargest) && head[13] == std::byte{0};
}

}  // namespace

Known recognise_closed(ByteView head) {
  for (const Magic& magic : kClosed)
    if (matches(magic, head)) return magic.known;
  return {};
}

std::string_view recognise_packed(ByteView head) {
  const std::string_view text = head.text();
  if (is_gzip(head)) return "gzip";
  if (text.starts_with("\xfd"
                       "7zXZ\0"sv))
    return "xz";
  if (text.size() > 3 && text.starts_with("BZh") && text[3] >= '1' && text[3] <= '9') return "bzip2";
  // Two formats without a mark: they must also unpack.
  if (is_zlib(head) && !inflate_zlib(head, kSniffed).bytes.empty()) return "zlib";
  if (is_lzma_alone(head) && !unpack(Packing::lzma, head, kSniffed).bytes.empty()) return "lzma";
  return {};
}

bool is_text(ByteView bytes) {
  std::string_view text = bytes.text();
  if (const std::size_t bad = first_invalid_utf8(text); bad != std::string_view::npos) {
    if (text.size() < kSniffed || text.size() - bad > 3) return false;
    text = text.substr(0, bad);
  }
  return is_plain_text(text);
}

bool is_plain_text(std::string_view text) {
  return first_invalid_utf8(text) == std::string_view::npos && std::ranges::all_of(text, [](char c) {
           return (static_cast<unsigned char>(c) >= 0x20 && c != '\x7f') || c == '\n' || c == '\r' || c == '\t' || c == '\f';
         });
}

Known recognise(ByteView head) {
  for (const Magic& magic : kOthers)
    if (matches(magic, head)) return magic.known;
  if (is_python_bytecode(head)) return {"python-bytecode", false, Code::executable, "compiled Python, which is not looked into"};
  if (is_text(head)) {
    const std::string_view text = head.text();
    const std::size_t first = text.find_first_not_of(" \t\r\n", text.starts_with("\xef\xbb\xbf") ? 3 : 0);
    return {first != std::string_view::npos && (text[first] == '{' || text[first] == '[') ? "json" : "text", true, {}, {}};
  }
  if (is_sentencepiece(head)) return {"sentencepiece", true, {}, {}};
  return {"unknown", false, Code::unknown_format, "neither a pickle nor any other format that is known here"};
}

// --- safetensors ------------------------------------------------------------------------------------------------------------

namespace {

constexpr std::uint64_t kLongestSafetensorsHeader = 100'000'000;

/// {"name": {"dtype": text, "shape": [n, …], "data_offsets": [begin, end]}, …, "__metadata__": {text: text}}
class FrameHandler final : public json::Handler {
 public:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;

  bool null() override { return (depth_ == 1 && metadata_) || wrong(); }  // readers take it for none
  bool boolean(bool) override { return wrong(); }
  bool number(std::string_view text) override {
    const auto value = json::to_u64(text);
    if (depth_ != 3 || !value) return stop(Code::bad_header, concat("number ", escape(text, 40), " where none may be"));
    (key_ == "data_offsets" ? numbers_ : shape_).push_back(*value);
    return true;
  }
  bool string(std::string_view text) override {
    if (depth_ != 2 || (!metadata_ && key_ != "dtype")) return wrong();
    if (metadata_) return true;
    const auto found = dtype_from_name(text);
    if (!found) return stop(Code::unknown_dtype, concat("an entry has the dtype ", quote(text)));
    bits_ = dtype_info(*found).bits;
    return true;
  }
  bool key(std::string_view text) override {
    if (depth_ == 1) {
      if (!names_.insert(std::string(text)).second) return stop(Code::duplicate_name, concat("two entries are named ", quote(text)));
      metadata_ = text == "__metadata__";
      seen_ = 0;
    } else if (!metadata_) {
      const int bit = text == "dtype" ? 1 : text == "shape" ? 2 : text == "data_offsets" ? 4 : 0;
      if (seen_ & bit) return stop(Code::duplicate_name, concat("an entry has ", quote(text), " twice"));
      seen_ |= bit;
      key_ = text;
    }
    return true;
  }
  bool start_object() override { return ++depth_ <= 2 ? true : wrong(); }
  bool end_object() override {
    if (--depth_ == 1 && !metadata_) {
      if (seen_ != 7) return stop(Code::bad_header, "an entry lacks dtype, shape or data_offsets");
      if (numbers_.size() != 2 || numbers_[0] > numbers_[1]) return stop(Code::bad_header, "an entry's data_offsets are no range");
      std::optional<std::uint64_t> bits = bits_;
      for (const std::uint64_t n : shape_) bits = bits ? checked_mul(*bits, n) : bits;
      if (!bits) return stop(Code::shape_overflow, "an entry's shape has more elements than can be counted");
      if (*bits % 8 != 0 || *bits / 8 != numbers_[1] - numbers_[0])
        return stop(Code::size_mismatch,
                    concat("an entry's shape needs ", *bits, " bits, its data_offsets are ", numbers_[1] - numbers_[0], " bytes apart"));
      ranges.emplace_back(numbers_[0], numbers_[1]);
      numbers_.clear();
      shape_.clear();
    }
    return true;
  }
  bool start_array() override { return ++depth_ == 3 && !metadata_ && (key_ == "shape" || key_ == "data_offsets") ? true : wrong(); }
  bool end_array() override {
    --depth_;
    return true;
  }

 private:
  bool wrong() { return stop(Code::bad_header, "a value where none of its kind may be"); }
  int depth_ = 0;
  bool metadata_ = false;
  int seen_ = 0;
  std::string key_;
  std::vector<std::uint64_t> numbers_, shape_;
  std::uint64_t bits_ = 0;
  std::unordered_set<std::string> names_;
};

}  // namespace

bool looks_like_safetensors(ByteView head, std::uint64_t size) {
  if (head.size() < 9) return false;
  const std::uint64_t n = load_le<std::uint64_t>(head.data());
  if (n < 2 || n > size - 8) return false;
  const std::string_view text = head.from(8).text();
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

Result<std::uint64_t> check_safetensors(const ByteSource& source, const Limits& limits) {
  ASSAY_TRY(const ByteBlock length, source.fetch(0, 8));
  const std::uint64_t n = load_le<std::uint64_t>(length.view().data());
  if (n > kLongestSafetensorsHeader || n > limits.header_bytes)
    return fail(Error(Code::header_too_long, concat("the header claims ", n, " bytes, the limit is ", kLongestSafetensorsHeader)).at(0));
  ASSAY_TRY(const ByteBlock header, source.fetch(8, n));
  FrameHandler handler;
  ASSAY_TRY(const std::uint64_t used, json::parse(header.view(), handler, limits));
  const std::string_view rest = header.view().text().substr(static_cast<std::size_t>(used));
  if (rest.find_first_not_of(" \t\r\n") != std::string_view::npos)
    return fail(Error(Code::bad_header, "the header goes on behind its JSON").at(8 + used));
  auto& ranges = handler.ranges;
  sort_stable(ranges);
  std::uint64_t end = 0;
  for (const auto& [from, to] : ranges) {
    if (from != end)
      return fail(
          Error(from < end ? Code::overlap : Code::gap, concat("a tensor starts at ", from, ", the one before ends at ", end)).at(0));
    end = to;
  }
  if (end > source.size() - 8 - n)
    return fail(
        Error(Code::truncated, concat("the header promises ", end, " bytes of data, ", source.size() - 8 - n, " are there")).at(8 + n));
  return 8 + n + end;
}

}  // namespace assay::scan
