// SPDX-License-Identifier: Apache-2.0
// Recognition by magic: a table for what its first bytes tell, a few functions for what needs a second look.
#include "formats/not_weights.hpp"

#include <algorithm>
#include <iterator>

#include "base/endian.hpp"
#include "base/text.hpp"
#include "formats/not_weights_text.hpp"

namespace assay::formats {

namespace {

using std::string_view_literals::operator""sv;

std::string_view head(const ProbeInput& input) { return input.head.text(); }

bool at(std::string_view bytes, std::size_t offset, std::string_view magic) {
  return bytes.size() > offset && bytes.substr(offset).starts_with(magic);
}

std::string version_at_4(const ProbeInput& input) {
  return input.head.size() < 8 ? std::string() : concat(" v", load_le<std::uint32_t>(input.head.data() + 4));
}

struct Magic {
  std::size_t offset;
  std::string_view bytes;
  Code code;
  std::string_view what;
  std::string (*more)(const ProbeInput&) = nullptr;  // put behind `what`
};

std::string gzip_name(const ProbeInput& input) {
  const std::string_view bytes = head(input);
  if (bytes.size() < 12 || (bytes[3] & 8) == 0 || (bytes[3] & 4) != 0) return {};
  const std::string_view name = bytes.substr(10, bytes.substr(10).find('\0'));
  return name.empty() ? std::string() : concat(" of ", quote(name));
}

std::string ggjt_words(const ProbeInput& input) { return version_at_4(input) + ", a llama.cpp format from before GGUF"; }

std::string gguf_words(const ProbeInput& input) {
  // Versions are small numbers: one that is not is of the other byte order.
  const bool swapped = input.head.size() >= 8 && load_le<std::uint16_t>(input.head.data() + 4) == 0;
  const std::string version = swapped ? concat(" v", load_be<std::uint32_t>(input.head.data() + 4), " (big-endian)") : version_at_4(input);
  return version + ", which this version does not read; llama.cpp's gguf-dump lists what is in it";
}

// Records that only belong to the next member are passed over.
std::string first_tar_member(const ProbeInput& input) {
  std::string_view rest = head(input);
  while (rest.size() >= 512 && std::string_view("xgLK").find(rest[156]) != std::string_view::npos) {
    std::uint64_t size = 0;
    for (const char digit : rest.substr(124, 12)) {
      if (digit < '0' || digit > '7') break;
      size = size * 8 + static_cast<std::uint64_t>(digit - '0');
    }
    rest = size < rest.size() ? rest.substr(std::min(rest.size(), static_cast<std::size_t>(512 + (size + 511) / 512 * 512)))
                              : std::string_view();
  }
  if (rest.size() < 512) return {};
  const std::string_view name = rest.substr(0, 100);
  return concat(", first member ", quote(name.substr(0, name.find('\0'))));
}

// First match wins, so longer magics stand before their prefixes.
constexpr Magic kMagics[] = {
    {0, "\x00\x05\x16\x07"sv, Code::apple_double, "macOS AppleDouble side file"},
    {0, "\x00\x05\x16\x00"sv, Code::apple_double, "macOS AppleSingle file"},
    {0, "GGUF"sv, Code::unsupported_format, "GGUF", gguf_words},
    {0, "FUGG"sv, Code::unsupported_format, "GGUF with swapped bytes", gguf_words},
    {0, "lmgg"sv, Code::ggml_legacy, "ggml, a llama.cpp format from before GGUF"},
    {0, "fmgg"sv, Code::ggml_legacy, "ggmf", ggjt_words},
    {0, "tjgg"sv, Code::ggml_legacy, "ggjt", ggjt_words},
    {0, "algg"sv, Code::ggml_legacy, "ggla", ggjt_words},
    {0, "\x89HDF\r\n\x1a\n"sv, Code::hdf5, "HDF5 file (Keras, MATLAB)"},
    {512, "\x89HDF\r\n\x1a\n"sv, Code::hdf5, "HDF5 file behind a 512-byte user block"},
    {1024, "\x89HDF\r\n\x1a\n"sv, Code::hdf5, "HDF5 file behind a 1024-byte user block"},
    {2048, "\x89HDF\r\n\x1a\n"sv, Code::hdf5, "HDF5 file behind a 2048-byte user block"},
    {0, "\x1f\x8b"sv, Code::gzip, "gzip", gzip_name},
    {0,
     "\xfd"
     "7zXZ\x00"sv,
     Code::xz, "xz compressed data"},
    {0, "\x28\xb5\x2f\xfd"sv, Code::zstd, "zstd compressed data"},
    {0, "\x04\x22\x4d\x18"sv, Code::lz4, "lz4 compressed data"},
    {0, "7z\xbc\xaf\x27\x1c"sv, Code::seven_zip, "7z archive"},
    {0, "Rar!\x1a\x07"sv, Code::rar, "RAR archive"},
    {0, "PYTORCH1"sv, Code::unsupported_format,
     "torch preview container from before 1.0, which torch itself no longer reads; save it again with a torch of its time"},
    {0, "\x0c\xdb\x3a\x2a"sv, Code::unsupported_format, "Orbax checkpoint of JAX (OCDBT); convert it with orbax"},
    {0, "%PDF-"sv, Code::unsupported_format, "PDF document, not weights"},
    {4, "TFL3"sv, Code::tensorflow, "TensorFlow Lite model"},
    {0,
     "\x7f"
     "ELF"sv,
     Code::executable, "ELF program or library"},
    {0, "\xcf\xfa\xed\xfe"sv, Code::executable, "Mach-O program or library"},
    {0, "\x89PNG\r\n\x1a\n"sv, Code::image, "PNG picture"},
    {0, "\xff\xd8\xff"sv, Code::image, "JPEG picture"},
    {0, "GIF8"sv, Code::image, "GIF picture"},
    {8, "WEBPVP8"sv, Code::image, "WebP picture"},
};

/// A result of a recogniser: what the bytes are and how sure that is.
struct Known {
  Code code;
  std::string what;
  int score = 80;
};
using Recogniser = std::optional<Known> (*)(const ProbeInput&);

std::optional<Known> tar(const ProbeInput& input) {
  if (!at(head(input), 257, "ustar")) return std::nullopt;
  return Known{Code::tar_archive, "tar archive" + first_tar_member(input)};
}

std::optional<Known> bzip2(const ProbeInput& input) {
  const std::string_view bytes = head(input);
  if (!at(bytes, 0, "BZh") || !at(bytes, 4, "1AY&SY")) return std::nullopt;
  return Known{Code::bzip2, "bzip2 compressed data"};
}

std::optional<Known> zlib(const ProbeInput& input) {
  const std::string_view bytes = head(input);
  if (bytes.size() < 8 || bytes[0] != 0x78) return std::nullopt;
  const unsigned flags = static_cast<unsigned char>(bytes[1]);
  if ((0x7800 + flags) % 31 != 0 || (flags & 0x20) != 0) return std::nullopt;
  return Known{Code::zlib, "zlib stream", 60};
}

std::optional<Known> windows_program(const ProbeInput& input) {
  const std::string_view bytes = head(input);
  if (!at(bytes, 0, "MZ") || bytes.size() < 64) return std::nullopt;
  const auto header = load_le<std::uint32_t>(input.head.data() + 60);
  if (!at(bytes, header, "PE\0\0"sv) && !at(bytes, 0, "MZqFpD")) return std::nullopt;
  return Known{Code::executable, "Windows program or library"};
}

std::optional<Known> tensorflow_table(const ProbeInput& input) {
  if (!input.tail.text().ends_with("\x57\xfb\x80\x8b\x24\x75\x47\xdb"sv)) return std::nullopt;
  return Known{Code::tensorflow, "TensorFlow checkpoint index (SSTable); its data is in the .data- files beside it"};
}

/// Protobuf without magic: field 1 is a small version, field 2 a text or a message.
std::optional<Known> protobuf(const ProbeInput& input) {
  const std::string_view bytes = head(input);
  const std::string name = lowered(input.name);
  if (bytes.size() < 8 || bytes[0] != 0x08 || bytes[1] < 1 || bytes[1] > 32) return std::nullopt;
  const auto length = static_cast<unsigned char>(bytes[3]);
  const std::string_view producer = bytes.substr(4, length);
  const bool text = bytes[2] == 0x12 && length > 0 && length < 64 && producer.size() == length &&
                    std::ranges::all_of(producer, [](char c) { return c >= 0x20 && c < 0x7f; });
  if (text)
    return Known{Code::onnx, concat("ONNX graph, IR version ", static_cast<unsigned>(bytes[1]), ", written by ", quote(producer)), 70};
  if (name.ends_with(".onnx")) return Known{Code::onnx, concat("ONNX graph, IR version ", static_cast<unsigned>(bytes[1])), 70};
  if (bytes[1] == 1 && bytes[2] == 0x12 && name.ends_with(".pb")) return Known{Code::tensorflow, "TensorFlow SavedModel", 70};
  return std::nullopt;
}

/// A msgpack map whose first key is a text.
std::optional<Known> msgpack(const ProbeInput& input) {
  const std::string_view bytes = head(input);
  if (bytes.size() < 8) return std::nullopt;
  const unsigned first = static_cast<unsigned char>(bytes[0]);
  const std::size_t key = first > 0x80 && first <= 0x8f ? 1 : first == 0xde ? 3 : first == 0xdf ? 5 : 0;
  if (key == 0) return std::nullopt;
  const unsigned type = static_cast<unsigned char>(bytes[key]);
  const bool small = type > 0xa0 && type <= 0xbf;
  const std::size_t length = small ? type - 0xa0 : type == 0xd9 ? static_cast<unsigned char>(bytes[key + 1]) : 0;
  const std::string_view text = bytes.substr(key + (small ? 1 : 2)).substr(0, length);
  if (length == 0 || text.size() < length || !std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; })) return std::nullopt;
  return Known{Code::flax, concat("msgpack (Flax), first key ", quote(text)), lowered(input.name).ends_with(".msgpack") ? 75 : 60};
}

/// A download that reserved its space and got no further.
std::optional<Known> only_zeros(const ProbeInput& input) {
  const auto zero = [](char c) { return c == '\0'; };
  if (!std::ranges::all_of(head(input), zero) || !std::ranges::all_of(input.tail.text(), zero)) return std::nullopt;
  if (input.head.size() < 16) return std::nullopt;
  return Known{Code::truncated, concat("starts and ends with zero bytes only (", grouped(input.size),
                                       " bytes): the space was reserved, the content never written")};
}

/// A file behind what is not its own: a byte order mark, or the header of the server's answer. An archive is found there anyway.
std::optional<Known> foreign_front(const ProbeInput& input) {
  const std::string_view bytes = head(input);
  const bool mark = bytes.starts_with("\xef\xbb\xbf");
  std::size_t n = mark ? 3 : 0;
  while (!mark && bytes.substr(n).starts_with("HTTP/")) {  // one for each address that sent it on
    const std::size_t end = bytes.find("\r\n\r\n", n);
    if (end == std::string_view::npos) return std::nullopt;
    n = end + 4;
  }
  const std::string_view rest = bytes.substr(n);
  if (n == 0 || rest.size() < 9 || rest.starts_with("PK")) return std::nullopt;
  if (mark && rest[0] != '\x80' && (rest[7] != '\0' || rest[8] != '{')) return std::nullopt;
  return Known{Code::leading_bytes,
               concat(mark ? "a UTF-8 byte order mark" : "the header of an HTTP answer, as curl -i writes it,",
                      " stands before the file; tail -c +", n + 1, " takes what is behind it"),
               95};
}

constexpr Recogniser kRecognisers[] = {foreign_front, tar, bzip2, windows_program, tensorflow_table, only_zeros, protobuf, msgpack, zlib};

}  // namespace

std::optional<NotWeights> recognise_not_weights(const ProbeInput& input) {
  const auto sized = [&](Error error) { return std::move(error).at(0).fact("size", input.size); };
  if (input.size == 0) return NotWeights{100, sized(Error(Code::empty_file, "empty file (0 bytes)"))};
  for (const Magic& magic : kMagics)
    if (at(head(input), magic.offset, magic.bytes))
      return NotWeights{80, sized(Error(magic.code, std::string(magic.what) + (magic.more ? magic.more(input) : std::string())))};
  for (const Recogniser recognise : kRecognisers)
    if (auto known = recognise(input)) return NotWeights{known->score, sized(Error(known->code, std::move(known->what)))};
  if (auto text = recognise_text(input)) return NotWeights{text->score, sized(std::move(text->error))};
  return std::nullopt;
}

Error unknown_format(const ProbeInput& input) {
  const std::string_view first = head(input).substr(0, 16);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string bytes, shown;
  for (const char c : first) {
    const auto value = static_cast<unsigned char>(c);
    if (!bytes.empty()) bytes += ' ';
    bytes += {kDigits[value >> 4], kDigits[value & 15]};
    shown += value >= 0x20 && value < 0x7f ? c : '.';
  }
  return Error(Code::unknown_format,
               concat("not a known format; the first ", first.size() == 1 ? "byte is " : "bytes are ", bytes, " \"", shown, '"'))
      .at(0)
      .fact("size", input.size)
      .fact("first_bytes", bytes);
}

}  // namespace assay::formats
