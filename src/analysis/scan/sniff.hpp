// SPDX-License-Identifier: Apache-2.0
// What bytes are, by their first ones. Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/finding.hpp"
#include "assay/limits.hpp"
#include "assay/source.hpp"

namespace assay::scan {

/// Bytes of a piece that are looked at before it is known what it is.
inline constexpr std::uint64_t kSniffed = 4096;

struct Known {
  std::string_view kind;             ///< "text", "7z"
  bool inert = false;                ///< no reader of it runs anything
  Code code = Code::unknown_format;  ///< where it is not
  std::string_view words;
};

/// What is neither a pickle nor an archive that is opened.
Known recognise(ByteView head);
/// A packed stream that is unpacked here: "gzip", "zlib", "xz", "lzma", "bzip2"; "" for all else.
std::string_view recognise_packed(ByteView head);
/// Packed or archived in a way that is not opened: 7z, rar, zstd, lz4, lzip, cab. Kind "" for all else.
Known recognise_closed(ByteView head);
/// True when all of the bytes are printable text in UTF-8 (a character cut at the end of kSniffed bytes is forgiven).
bool is_text(ByteView bytes);
/// The same without forgiveness.
bool is_plain_text(std::string_view text);

/// True when the file starts as safetensors does: a length that fits, then a brace.
bool looks_like_safetensors(ByteView head, std::uint64_t size);
/// Reads the frame of a safetensors file strictly. Gives where the data end; fails with what is wrong.
Result<std::uint64_t> check_safetensors(const ByteSource& source, const Limits& limits);
/// True when the file starts as a msgpack map does whose first key is a text, as Flax writes them.
bool looks_like_msgpack(ByteView head);
struct Msgpack {
  static constexpr std::size_t kMostBytes = 10'000;
  std::uint64_t end = 0;  ///< behind the value
  std::vector<std::pair<std::uint64_t, std::uint64_t>>
      bytes;  ///< [begin, end) of values that are plain bytes; beyond kMostBytes they become one
  std::optional<std::pair<int, std::uint64_t>> unknown_extension;  ///< the first whose meaning is an application's own, and where
};
/// Walks one msgpack value. Fails with what is wrong. Cost: contents are stepped over.
Result<Msgpack> read_msgpack(const ByteSource& source);
/// The header of a GGUF file.
struct GgufFrame {
  std::uint64_t tensors = 0;
  std::uint64_t header_end = 0;           ///< before the padding to the data
  std::optional<std::uint64_t> data_end;  ///< behind the last tensor; nothing where the size of a type is not known
  std::string reaching;                   ///< a word of a chat template that reaches for the interpreter; "" for none
  std::uint64_t template_at = 0;          ///< where that template is
};
/// Walks it: keys, values, tensors. Fails with what is wrong.
Result<GgufFrame> check_gguf(const ByteSource& source, const Limits& limits);

}  // namespace assay::scan
