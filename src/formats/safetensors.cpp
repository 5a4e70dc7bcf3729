// SPDX-License-Identifier: Apache-2.0
// safetensors:
//
//   0      u64 LE  N, the header's length
//   8      N bytes of JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, …,
//                            "__metadata__": {"key": "value", …}}
//   8 + N  the data area, where offsets count from; row-major, little endian, without gaps, to the end of the file
//
// What the reference reader refuses as a whole is listed here as far as it goes, each fault a finding of its own.
#include "formats/safetensors.hpp"

#include <algorithm>

#include "base/arena.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "formats/safetensors_header.hpp"

namespace assay::formats {

namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kReferenceLimit = 100'000'000;        // the largest header that the reference reader takes
constexpr std::uint64_t kPlausible = std::uint64_t{1} << 40;  // eight bytes of text are a larger number than this
constexpr std::uint64_t kLargeHeader = 128 << 10;             // copying one costs more than faulting it in
constexpr std::size_t kBytesPerEntry = 110;                   // typical, for first room only

bool starts_object(std::string_view header) {
  const std::size_t first = header.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && header[first] == '{';
}

/// Zeros in the header, as a download leaves them that skipped a part; nothing where there are few or none.
std::optional<Error> find_hole(ByteView bytes) {
  constexpr std::size_t kLeast = 16;
  const std::string_view text = bytes.text();
  const std::size_t begin = text.find('\0');
  if (begin == text.npos) return std::nullopt;
  const std::size_t end = std::min(text.find_first_not_of('\0', begin), text.size());
  if (end - begin < kLeast) return std::nullopt;
  return Error(Code::zero_hole, concat("zeros stand from byte ", grouped(bytes.offset(begin)), " to ", grouped(bytes.offset(end)),
                                       ", where the header should be: a hole that a download left"))
      .at(bytes.offset(begin));
}

/// The header's length, checked against the file.
Result<std::uint64_t> header_length(const OpenInput& input) {
  const std::uint64_t size = input.source->size();
  if (size < kLengthBytes)
    return fail(
        Error(Code::truncated, concat("the header's length needs 8 bytes, the file has ", size)).at(0).expected_found(kLengthBytes, size));
  ASSAY_TRY(const ByteBlock first, input.source->fetch(0, kLengthBytes));
  const auto length = load_le<std::uint64_t>(first.view().data());
  const std::uint64_t left = size - kLengthBytes;
  if (length == 0) {
    constexpr std::uint64_t kLook = 4096;
    ASSAY_TRY(const ByteBlock front, input.source->fetch(0, std::min(size, kLook)));
    if (auto hole = find_hole(front.view())) return fail(*std::move(hole));
  }
  if (length < 2) return fail(Error(Code::bad_header, concat("header length ", length, " leaves no room for '{}'")).at(0));
  if (length > left && length <= kPlausible)
    return fail(Error(Code::truncated,
                      concat("the header alone is ", grouped(length), " bytes, the file has ", grouped(left), " behind the length"))
                    .at(0)
                    .expected_found(kLengthBytes + length, size));
  if (length > left || length > input.limits.header_bytes)
    return fail(
        Error(Code::header_too_long, concat("header length ", length, length > left ? " exceeds the " : " exceeds the limit of ",
                                            length > left ? left : input.limits.header_bytes, length > left ? " bytes left" : " bytes"))
            .at(0)
            .expected_found(length, left));
  return length;
}

/// Where a file of `end` bytes begins anew behind others of its own: what a download leaves that started over and was put behind what was
/// there. 0 where it does not.
Result<std::uint64_t> find_restart(const ByteSource& source, ByteView header, std::uint64_t end) {
  constexpr std::size_t kCompared = 256;
  const std::uint64_t again = source.size() - std::min(end, source.size());
  if (again < header.offset() + header.size() || again == source.size()) return 0;
  const std::size_t n = std::min(header.size(), kCompared);
  ASSAY_TRY(const ByteBlock behind, source.fetch(again, kLengthBytes + n));
  const bool same = load_le<std::uint64_t>(behind.view().data()) == header.size() &&
                    behind.view().from(kLengthBytes).text() == header.text().substr(0, n);
  return same ? again : 0;
}

}  // namespace

Probe probe_safetensors(const ProbeInput& input) {
  const bool named = lowered(input.name).ends_with(".safetensors");
  if (input.head.size() < kLengthBytes) return named && input.size > 0 ? Probe{30, "named .safetensors"} : Probe{};
  const auto length = load_le<std::uint64_t>(input.head.data());
  const std::string_view rest = input.head.from(kLengthBytes).text();
  const bool object = starts_object(rest);
  if (object && length >= 2 && length <= input.size - kLengthBytes) return {100, "8-byte length within the file, then '{'"};
  if (object && length <= kPlausible) return {85, "8-byte length, then '{'"};
  if (object) return {30, "'{' behind 8 bytes"};
  if (!named) return {};
  // All blanks so far: the header may still begin behind what can be seen.
  if (length <= kPlausible) return {30, "named .safetensors, plausible length"};
  return {};
}

Result<Checkpoint> open_safetensors(const OpenInput& input) {
  ASSAY_TRY(const std::uint64_t length, header_length(input));
  ASSAY_TRY(ByteBlock fetched,
            length < kLargeHeader ? input.source->fetch(kLengthBytes, length) : input.source->view(kLengthBytes, length));

  Checkpoint checkpoint;
  checkpoint.format = "safetensors";
  checkpoint.container = "safetensors";
  checkpoint.files.push_back({std::string(input.name), input.source->size(), input.source});
  auto block = std::make_shared<ByteBlock>(std::move(fetched));
  const ByteView header = block->view();
  checkpoint.arena().keep(block);  // names point into it

  const std::uint64_t data_start = kLengthBytes + length;
  const auto fresh = [&] { return safetensors::Layout(data_start, input.source->size(), header.size() / kBytesPerEntry); };
  safetensors::Layout layout = fresh();
  if (!safetensors::scan_header(header, checkpoint.arena(), input.limits, layout)) {
    layout = fresh();
    auto parsed = safetensors::parse_header(header, checkpoint.arena(), input.limits, layout);
    if (!parsed)
      if (auto hole = find_hole(header)) parsed = std::unexpected(*std::move(hole));
    // Entries in front of the damage say where their tensors are, and those may well be whole.
    if (!parsed && layout.size() == 0) return std::unexpected(std::move(parsed).error());
    if (!parsed) {
      layout.break_off(Finding::from(std::move(parsed).error()));
      layout.finish(checkpoint);
      return checkpoint;
    }
  }
  if (length > kReferenceLimit) {
    Finding finding(
        Code::odd_header,
        concat("header length ", grouped(length), " exceeds the ", grouped(kReferenceLimit), " that the reference reader takes"),
        Where{.offset = 0, .length = kLengthBytes});
    finding.severity = Severity::warning;
    layout.note(std::move(finding));
  }
  ASSAY_TRY(const std::uint64_t again, find_restart(*input.source, header, layout.end()));
  layout.finish(checkpoint, again);
  return checkpoint;
}

}  // namespace assay::formats
