// SPDX-License-Identifier: Apache-2.0
#include "containers/unpack.hpp"

#include <bzlib.h>
#include <lzma.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/endian.hpp"
#include "base/text.hpp"

namespace assay {

namespace {

constexpr std::uint64_t kMostMemory = std::uint64_t{128} << 20;
constexpr std::size_t kPiece = std::size_t{256} << 10;

/// Collects what a decoder gives, up to a bound.
class Output {
 public:
  Output(Inflated& out, std::uint64_t most) : out_(out), most_(most), piece_(std::make_unique_for_overwrite<std::byte[]>(kPiece)) {}
  std::byte* room() { return piece_.get(); }
  /// False when that is more than there may be.
  bool take(std::size_t n) {
    const std::size_t fits = static_cast<std::size_t>(std::min<std::uint64_t>(n, most_ - out_.bytes.size()));
    out_.bytes.insert(out_.bytes.end(), piece_.get(), piece_.get() + fits);
    return fits == n;
  }

 private:
  Inflated& out_;
  std::uint64_t most_;
  std::unique_ptr<std::byte[]> piece_;
};

Error too_much(std::string_view name, std::uint64_t most, std::uint64_t offset) {
  return Error(Code::limit_exceeded, concat("the ", name, " stream unpacks to more than the limit of ", most, " bytes")).at(offset);
}

struct EndLzma {
  void operator()(lzma_stream* stream) const { lzma_end(stream); }
};

Error lzma_error(lzma_ret code, std::uint64_t offset) {
  switch (code) {
    case LZMA_MEMLIMIT_ERROR:
      return Error(Code::limit_exceeded, concat("the xz stream wants a dictionary of more than ", kMostMemory, " bytes")).at(offset);
    case LZMA_MEM_ERROR: return Error(Code::out_of_memory, "no room to unpack the xz stream").at(offset);
    case LZMA_BUF_ERROR: return Error(Code::truncated, "the xz stream is cut").at(offset);
    case LZMA_FORMAT_ERROR: return Error(Code::inflate_failed, "no xz stream starts here").at(offset);
    case LZMA_OPTIONS_ERROR: return Error(Code::unsupported, "the xz stream uses a filter that is not known here").at(offset);
    default: return Error(Code::inflate_failed, "the xz stream is damaged").at(offset);
  }
}

/// Starts the decoder; `skip` is what of the packed bytes it does not read.
lzma_ret start_lzma(Packing packing, ByteView packed, lzma_stream& stream, std::size_t& skip) {
  skip = 0;
  if (packing == Packing::xz) return lzma_stream_decoder(&stream, kMostMemory, LZMA_CONCATENATED);
  if (packing == Packing::lzma) return lzma_alone_decoder(&stream, kMostMemory);
  if (packed.size() < 4) return LZMA_BUF_ERROR;
  const std::size_t n = load_le<std::uint16_t>(packed.data() + 2);
  if (n > packed.size() - 4) return LZMA_BUF_ERROR;
  skip = 4 + n;
  lzma_filter filters[2] = {{LZMA_FILTER_LZMA1, nullptr}, {LZMA_VLI_UNKNOWN, nullptr}};
  if (const auto code = lzma_properties_decode(&filters[0], nullptr, reinterpret_cast<const std::uint8_t*>(packed.data() + 4), n);
      code != LZMA_OK)
    return code;
  const auto* options = static_cast<const lzma_options_lzma*>(filters[0].options);
  const lzma_ret code = options->dict_size > kMostMemory ? LZMA_MEMLIMIT_ERROR : lzma_raw_decoder(&stream, filters);
  std::free(filters[0].options);  // NOLINT(cppcoreguidelines-no-malloc): liblzma allocated it with malloc
  return code;
}

Inflated unpack_lzma(Packing packing, ByteView packed, std::uint64_t max_size) {
  Inflated out;
  lzma_stream stream = LZMA_STREAM_INIT;
  const std::unique_ptr<lzma_stream, EndLzma> end(&stream);
  std::size_t skip = 0;
  if (const lzma_ret code = start_lzma(packing, packed, stream, skip); code != LZMA_OK) {
    out.broken = lzma_error(code, packed.offset());
    return out;
  }
  Output output(out, max_size);
  stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data() + skip);
  stream.avail_in = packed.size() - skip;
  for (lzma_ret code = LZMA_OK; code == LZMA_OK;) {
    stream.next_out = reinterpret_cast<std::uint8_t*>(output.room());
    stream.avail_out = kPiece;
    code = lzma_code(&stream, LZMA_FINISH);
    if (!output.take(kPiece - stream.avail_out)) {
      out.broken = too_much("xz", max_size, packed.offset());
      break;
    }
    if (code != LZMA_OK && code != LZMA_STREAM_END) out.broken = lzma_error(code, packed.offset());
  }
  out.consumed = packed.size() - stream.avail_in;
  return out;
}

struct EndBzip2 {
  void operator()(bz_stream* stream) const { BZ2_bzDecompressEnd(stream); }
};

Error bzip2_error(int code, std::uint64_t offset) {
  if (code == BZ_MEM_ERROR) return Error(Code::out_of_memory, "no room to unpack the bzip2 stream").at(offset);
  if (code == BZ_OK) return Error(Code::truncated, "the bzip2 stream is cut").at(offset);
  return Error(Code::inflate_failed, code == BZ_DATA_ERROR_MAGIC ? "no bzip2 stream starts here" : "the bzip2 stream is damaged")
      .at(offset);
}

/// One stream of `packed` from `at` on; moves `at` behind it.
void unpack_bzip2_stream(ByteView packed, std::size_t& at, Output& output, Inflated& out, std::uint64_t max_size) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // its counts have 32 bits
  bz_stream stream{};
  if (const int code = BZ2_bzDecompressInit(&stream, 0, 0); code != BZ_OK) {
    out.broken = bzip2_error(code, packed.offset(at));
    return;
  }
  const std::unique_ptr<bz_stream, EndBzip2> end(&stream);
  for (int code = BZ_OK; code == BZ_OK;) {
    const std::size_t given = std::min(packed.size() - at, kMostAtOnce);
    stream.next_in = const_cast<char*>(reinterpret_cast<const char*>(packed.data() + at));  // it only reads
    stream.avail_in = static_cast<unsigned>(given);
    stream.next_out = reinterpret_cast<char*>(output.room());
    stream.avail_out = kPiece;
    code = BZ2_bzDecompress(&stream);
    at += given - stream.avail_in;
    const std::size_t made = kPiece - stream.avail_out;
    if (!output.take(made)) {
      out.broken = too_much("bzip2", max_size, packed.offset());
      return;
    }
    const bool stuck = code == BZ_OK && made == 0 && given == stream.avail_in;
    if (code == BZ_STREAM_END) return;
    if (code != BZ_OK || stuck) {
      out.broken = bzip2_error(code, packed.offset(at));
      return;
    }
  }
}

Inflated unpack_bzip2(ByteView packed, std::uint64_t max_size) {
  Inflated out;
  Output output(out, max_size);
  std::size_t at = 0;
  do unpack_bzip2_stream(packed, at, output, out, max_size);
  while (!out.broken && packed.from(at).text().starts_with("BZh"));
  out.consumed = at;
  return out;
}

}  // namespace

Inflated unpack(Packing packing, ByteView packed, std::uint64_t max_size) {
  return packing == Packing::bzip2 ? unpack_bzip2(packed, max_size) : unpack_lzma(packing, packed, max_size);
}

}  // namespace assay
