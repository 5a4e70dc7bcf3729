// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "analysis/scan/scan.hpp"
#include "assay/values.hpp"
#include "base/arena.hpp"
#include "base/text.hpp"
#include "formats/safetensors_header.hpp"
#include "formats/shard_index.hpp"
#include "fuzz.hpp"

namespace assay::fuzz {

namespace {

void open_and_read(std::string_view format, Bytes input, std::string_view name) {
  const auto opened = open_as(format, input, name);
  if (!opened) {
    require(opened.error().code() != Code::need_range && opened.error().code() != Code::internal,
            "an error of a file in memory is about the file");
    require(!opened.error().what().empty(), "an error says what is wrong");
    return;
  }
  check_whole(*opened);
  read_some_values(*opened);
}

}  // namespace

void formats_safetensors(Bytes input) { open_and_read("safetensors", input, "x.safetensors"); }
void formats_torch_zip(Bytes input) { open_and_read("torch-zip", input, "x.pt"); }
void formats_torch_legacy(Bytes input) { open_and_read("torch-legacy", input, "x.pt"); }
void formats_torch_tar(Bytes input) { open_and_read("torch-tar", input, "x.tar"); }
void formats_torch_mobile(Bytes input) { open_and_read("torch-mobile", input, "x.ptl"); }
void formats_npy(Bytes input) { open_and_read("npy", input, "x.npy"); }
void formats_npz(Bytes input) { open_and_read("npz", input, "x.npz"); }
void formats_pickle(Bytes input) { open_and_read("pickle", input, "x.pkl"); }

/// A folder of two files: how long the metadata is, it, and the data that it speaks of.
void formats_torch_dcp(Bytes input) {
  if (input.size() < 2) return;
  const std::size_t length =
      std::min<std::size_t>(std::to_integer<std::size_t>(input[0]) + 256 * std::to_integer<std::size_t>(input[1]), input.size() - 2);
  SourceSet set("set", "");
  set.add(".metadata", MemorySource::borrow(input.subspan(2, length)));
  set.add("__0_0.distcp", MemorySource::borrow(input.subspan(2 + length)));
  const auto opened = open(set);
  if (!opened) return require(opened.error().code() != Code::internal, "an error of a set in memory is about the set");
  check_whole(*opened);
  read_some_values(*opened);
  (void)passes_verify(set, *opened);
}

/// The scanner of the plain spelling and the exact reader say the same of every header that the scanner takes.
void formats_safetensors_header(Bytes input) {
  constexpr std::uint64_t kData = 1000;
  const ByteView header(input, 8);
  const Limits limits;
  const auto layout = [&] { return formats::safetensors::Layout(8 + input.size(), 8 + input.size() + kData, 0); };
  Checkpoint by_scan, by_parse;
  auto scanned = layout(), parsed = layout();
  const bool took = formats::safetensors::scan_header(header, by_scan.arena(), limits, scanned);
  const auto read = formats::safetensors::parse_header(header, by_parse.arena(), limits, parsed);
  if (read) parsed.finish(by_parse);
  if (!took) return;
  require(read.has_value(), "what the scanner takes is a header");
  scanned.finish(by_scan);
  require(told(std::move(by_scan)) == told(std::move(by_parse)), "both readers of a header say the same");
}

void formats_shard_index(Bytes input) {
  const ByteView text(input, 0);
  const auto scanned = formats::detail::scan_index(text);
  const auto parsed = formats::detail::parse_index(text, Limits{});
  if (parsed)
    for (const auto& entry : parsed->entries) require(entry.file < parsed->files.size(), "an entry's file is listed");
  if (!scanned) return;
  require(parsed.has_value(), "what the scanner takes is an index");
  const auto say = [](const formats::ShardIndex& index) {
    std::string out;
    for (const std::string_view file : index.files) out += concat(quote(file), ',');
    for (const auto& entry : index.entries) out += concat(quote(entry.tensor), '=', entry.file, ',');
    return out;
  };
  require(say(*scanned) == say(*parsed) && scanned->total_size == parsed->total_size, "both readers of an index say the same");
}

/// A host that supplies ranges gets the answer that a mapped file gives.
void opening_ranges(Bytes input) {
  const auto whole = open_bytes(input, "x.pt");
  const auto parts = open_by_ranges(input, "x.pt");
  require(told(whole) == told(parts), "a file opened by ranges is the same");
}

/// Every byte of what opens has one owner, and verifying it ends.
void opening_verify(Bytes input) {
  SourceSet set("set", "x.pt");
  set.add("x.pt", MemorySource::borrow(input));
  const auto opened = open(set);
  if (opened) (void)passes_verify(set, *opened);
}

/// A scan answers every file, and says how far it got.
void scan_file(Bytes input) {
  const auto source = MemorySource::borrow(input);
  const auto report = scan::scan_file(*source, "x.pt", {});
  require(report.has_value(), "a scan of bytes at hand does not fail");
  require(!report->members.empty(), "the file itself is among what was scanned");
  for (const scan::Import& import : report->imports)
    if (import.verdict != scan::Verdict::clean) require(!report->clean(), "a file with a name that is not harmless is not clean");
  for (const scan::Call& call : report->calls)
    if (call.verdict != scan::Verdict::clean) require(!report->clean(), "a file with a call that is not harmless is not clean");
}

}  // namespace assay::fuzz
