// SPDX-License-Identifier: Apache-2.0
#include "analysis/mishaps.hpp"

#include <algorithm>
#include <set>

#include "analysis/cut.hpp"
#include "analysis/zeros.hpp"
#include "base/facts.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::analysis {

namespace {

constexpr std::size_t kNamed = 5, kListed = 1000;

/// Where the run of zeros ends that holds `at`, by a look of some reach at what lies behind, or before.
Result<std::uint64_t> end_of_zeros(const ByteSource& source, std::uint64_t at, bool behind) {
  constexpr std::uint64_t kReach = std::uint64_t{4} << 20;
  const std::uint64_t n = std::min(kReach, behind ? source.size() - at : at);
  return (behind ? zeros_end(source, at, at + n) : zeros_begin(source, at - n, at)).go_on();
}

bool is_zero_header(const Finding& finding) {
  const auto* const signature = fact_of<std::uint64_t>(finding, "signature");
  return !finding.where.tensor.empty() && finding.where.offset && signature != nullptr && *signature == 0;
}

/// What was only counted stays counted.
void replace(Findings& findings, Findings by) {
  for (const auto& [code, count] : findings.counts())
    if (const auto there = by.counts().find(code); there != by.counts().end() && there->second >= Findings::kPerCode)
      for (std::size_t left = findings.suppressed(code); left > 0; --left) by.add(Finding(code, {}));
  findings = std::move(by);
}

/// One finding for all of one file, in place of those of its tensors. False when there is none such.
Result<bool> tell_hole(Checkpoint& checkpoint) {
  const auto& list = checkpoint.findings.list();
  const auto one = std::ranges::find_if(list, is_zero_header);
  if (one == list.end()) return false;
  const std::string file = one->where.file;
  const auto opened = std::ranges::find_if(checkpoint.files, [&](const CheckpointFile& f) { return file.empty() || f.name == file; });
  if (opened == checkpoint.files.end()) return false;
  std::set<std::uint64_t> headers;
  std::vector<std::string> names;
  Findings rest;
  std::uint64_t lost = 0;
  for (const Finding& finding : list) {
    if (!is_zero_header(finding) || finding.where.file != file || *finding.where.offset >= opened->size) {
      rest.add(finding);
      continue;
    }
    headers.insert(*finding.where.offset);
    if (++lost <= kListed) names.push_back(finding.where.tensor);
  }
  if (headers.empty()) return false;
  ASSAY_TRY(const std::uint64_t begin, end_of_zeros(*opened->source, *headers.begin(), false));
  ASSAY_TRY(const std::uint64_t end, end_of_zeros(*opened->source, *headers.rbegin(), true));
  std::string message = concat("zeros stand from about byte ", grouped(begin), " to ", grouped(end), ", where the headers of ",
                               counted(headers.size(), "record", "records"),
                               " should be: a hole that a download left; lost: ", name_list(names, kNamed, lost), "; curl -r ", begin, "-",
                               end - 1, " gets these bytes again");
  Finding finding(Code::zero_hole, std::move(message), {.file = file, .offset = begin, .length = end - begin},
                  {{"tensors", lost}, {"names", std::move(names)}});
  finding.severity = Severity::damage;
  rest.add_first(std::move(finding));
  replace(checkpoint.findings, std::move(rest));
  return true;
}

/// How many of the last bytes are a web page, which a server sent in place of the rest.
Result<std::uint64_t> page_at_end(const ByteSource& source) {
  constexpr std::uint64_t kMost = std::uint64_t{16} << 10;
  constexpr std::size_t kNear = 256;
  const std::uint64_t n = std::min(source.size(), kMost);
  ASSAY_TRY(const ByteBlock block, source.fetch(source.size() - n, n));
  std::string text = lowered(block.view().text());
  text.resize(text.find_last_not_of(" \t\r\n") + 1);
  if (!text.ends_with("</html>")) return std::uint64_t{0};
  std::size_t at = text.rfind("<html");
  if (at == text.npos || text.find('\0', at) != text.npos) return std::uint64_t{0};
  const std::size_t type = text.rfind("<!doctype", at);
  if (type != text.npos && at - type < kNear) at = type;
  return n - at;
}

/// A cut that is further in front than the file's end.
Result<void> move_cut(Checkpoint& checkpoint, Finding& finding, const CheckpointFile& file) {
  ASSAY_TRY(const std::uint64_t page, page_at_end(*file.source));
  if (page == 0) return {};
  const std::uint64_t end = file.size - page;
  for (Fact& fact : finding.facts)
    if (auto* const missing = std::get_if<std::uint64_t>(&fact.value); missing != nullptr && fact.key == "missing" && *missing != 0)
      *missing += page;
  finding.facts.push_back({"page", page});
  finding.message +=
      concat("; the last ", grouped(page), " bytes are a web page that a server sent in place of the rest: cut them off (truncate -s ", end,
             ") and resume");
  for (Tensor& tensor : checkpoint.tensors) {
    if (!tensor.readable || tensor.storage == kNone || &checkpoint.files[checkpoint.storages[tensor.storage].file] != &file) continue;
    const Storage& storage = checkpoint.storages[tensor.storage];
    if (!storage.producer && storage.offset + storage.nbytes > end) tensor.readable = false;
  }
  return {};
}

/// Tensors that lack about as many bytes as carriage returns must have stood before line feeds, of which none is left. How many must have
/// is counted by places in groups of four bytes: what one byte of every number never is stands beside no other.
Result<void> find_removed_returns(const CheckpointFile& file, std::uint64_t missing) {
  constexpr std::uint64_t kMost = std::uint64_t{16} << 20, kEnough = 12, kTimes = 4;
  constexpr std::size_t kPlaces = 4;
  const std::uint64_t n = std::min(file.size, kMost);
  if (missing == 0 || missing > n) return {};
  ASSAY_TRY(const ByteBlock block, file.source->view(0, n));
  const std::string_view text = block.view().text();
  if (text.find("\r\n") != text.npos) return {};
  std::uint64_t returns[kPlaces] = {}, feeds[kPlaces] = {}, expected = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    returns[i % kPlaces] += text[i] == '\r';
    feeds[i % kPlaces] += text[i] == '\n';
  }
  for (std::size_t i = 0; i < kPlaces; ++i) expected += returns[i] * feeds[(i + 1) % kPlaces] * kPlaces / n;
  const std::uint64_t in_all = expected * (file.size / n);
  if (expected < kEnough || missing > in_all * kTimes || missing * kTimes < in_all) return {};
  return fail(
      Error(Code::text_converted, concat("the file was taken for text: it is ", counted(missing, "byte", "bytes"),
                                         " too short, and no line feed has a carriage return before it, as some ", expected, " should"))
          .in_file(file.name)
          .fact("size", file.size));
}

}  // namespace

Result<void> explain_damage(Checkpoint& checkpoint) {
  if (checkpoint.complete) return {};
  for (bool more = true; more;) {
    ASSAY_TRY(more, tell_hole(checkpoint));
  }
  const std::vector<Cut> all = cuts(checkpoint);
  if (all.empty()) return {};
  Findings findings;
  for (Finding finding : checkpoint.findings.list()) {
    const auto cut = std::ranges::find_if(all, [&](const Cut& one) {
      return finding.code == Code::truncated &&
             (finding.where.file.empty() ? checkpoint.files.front().name : finding.where.file) == one.file;
    });
    const auto file = cut == all.end() ? checkpoint.files.end() : std::ranges::find(checkpoint.files, cut->file, &CheckpointFile::name);
    const bool first =
        file != checkpoint.files.end() && std::ranges::any_of(finding.facts, [](const Fact& f) { return f.key == "missing"; });
    if (first) {
      if (checkpoint.container == "safetensors") ASSAY_CHECK(find_removed_returns(*file, cut->missing));
      ASSAY_CHECK(move_cut(checkpoint, finding, *file));
    }
    findings.add(std::move(finding));
  }
  replace(checkpoint.findings, std::move(findings));
  return {};
}

}  // namespace assay::analysis
