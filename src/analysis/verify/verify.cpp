// SPDX-License-Identifier: Apache-2.0
#include "analysis/verify/verify.hpp"

#include <algorithm>
#include <set>

#include "analysis/cut.hpp"
#include "analysis/doctor/checks.hpp"
#include "analysis/verify/member_paths.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/window.hpp"

namespace assay::analysis {

namespace {

/// Which check a finding of the headers belongs to. What is not here is structure.
struct Owner {
  Code code;
  std::string_view check;
};
constexpr std::string_view kStructure = "structure", kBytes = "bytes-owned", kSizes = "sizes", kLocal = "local-headers", kShards = "shards",
                           kCrc = "crc-32", kValues = "values";
constexpr Owner kOwners[] = {{Code::gap, kBytes},
                             {Code::trailing_bytes, kBytes},
                             {Code::leading_bytes, kBytes},
                             {Code::unparsed_bytes, kBytes},
                             {Code::overlap, kBytes},
                             {Code::overlapping_members, kBytes},
                             {Code::size_mismatch, kSizes},
                             {Code::shape_overflow, kSizes},
                             {Code::bad_shape, kSizes},
                             {Code::bad_stride, kSizes},
                             {Code::bad_dtype, kSizes},
                             {Code::out_of_storage, kSizes},
                             {Code::storage_size_mismatch, kSizes},
                             {Code::name_mismatch, kLocal},
                             {Code::ambiguous_archive, kLocal},
                             {Code::missing_shard, kShards},
                             {Code::bad_shard, kShards},
                             {Code::wrong_shard, kShards},
                             {Code::duplicate_tensor, kShards},
                             {Code::total_size_mismatch, kShards},
                             {Code::stale_index, kShards},
                             {Code::path_escapes, kShards},
                             {Code::crc_mismatch, kCrc}};

std::string_view owner_of(const Finding& finding) {
  // The header of a file of tensors is damage when it cannot be read; an index is passed over with a warning.
  if (finding.code == Code::bad_header && finding.severity < Severity::damage) return kShards;
  const auto* const found = std::ranges::find(kOwners, finding.code, &Owner::code);
  return found == std::end(kOwners) ? kStructure : found->check;
}

void wrong(Check& check, std::string what) {
  check.verdict = CheckVerdict::fail;
  if (check.wrong.size() < Check::kMostWrong) check.wrong.push_back(std::move(what));
}

/// The verdict stands; says it in one line.
void conclude(Check& check, std::string fine, std::uint64_t count = 0) {
  count = std::max<std::uint64_t>(count, check.wrong.size());
  if (check.wrong.empty()) check.detail = std::move(fine);
  else check.detail = count == 1 ? check.wrong.front() : concat(check.wrong.front(), "; and ", count - 1, " more");
}

Check skip(std::string_view name, std::string why) {
  return {.name = std::string(name), .verdict = CheckVerdict::skip, .detail = std::move(why), .wrong = {}};
}

/// The message, and the file where it does not say it itself.
std::string with_file(const Finding& finding) {
  const std::string file = quote(finding.where.file);
  if (finding.where.file.empty() || finding.message.find(file) != std::string::npos) return finding.message;
  return concat(file, ": ", finding.message);
}

/// The findings of one check that are as bad as a warning; of structure and sizes, damage.
Check from_findings(std::string_view name, const Findings& findings) {
  const Severity least = name == kStructure || name == kSizes ? Severity::damage : Severity::warning;
  Check check{.name = std::string(name)};
  std::vector<const Finding*> worst_first;
  for (const Finding& finding : findings.list())
    if (finding.severity >= least && owner_of(finding) == name && !told_with_cut(findings, finding)) worst_first.push_back(&finding);
  sort_stable(worst_first, std::ranges::greater(), &Finding::severity);
  for (const Finding* const finding : worst_first) wrong(check, with_file(*finding));
  return check;
}

Check check_structure(const Checkpoint& checkpoint, std::span<const Finding> zero_tails) {
  Check check = from_findings(kStructure, checkpoint.findings);
  for (const Finding& finding : zero_tails) wrong(check, with_file(finding));
  conclude(check, concat(checkpoint.format, ", ", counted(checkpoint.tensors.size(), "tensor", "tensors"), " in ",
                         counted(checkpoint.files.size(), "file", "files")));
  return check;
}

Check check_sizes(const Checkpoint& checkpoint) {
  Check check = from_findings(kSizes, checkpoint.findings);
  std::uint64_t whole = 0, bytes = 0;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!tensor.readable) continue;
    ++whole;
    bytes += tensor.nbytes();
  }
  if (checkpoint.tensors.empty()) return skip(kSizes, "no tensors");
  conclude(check,
           concat(counted(whole, "tensor has", "tensors have"), " the bytes that dtype and shape need, ", grouped(bytes), " in all"));
  return check;
}

/// What the headers say of bytes that belong to nothing; else how many they are and where.
std::string words_of(const Checkpoint& checkpoint, const model::ByteMap& map, const model::Part& part, bool several) {
  for (const Finding& finding : checkpoint.findings.list())
    if (owner_of(finding) == kBytes && finding.where.offset == part.offset && finding.where.length == part.length &&
        (!several || finding.where.file == map.file))
      return with_file(finding);
  return concat(several ? concat(quote(map.file), ": ") : std::string(), counted(part.length, "byte", "bytes"), " at ", hex(part.offset),
                part.length == 1 ? " belongs" : " belong", " to nothing (", part_kind_name(part.kind), ")");
}

Check check_bytes(const Checkpoint& checkpoint, std::span<const model::ByteMap> maps) {
  Check check{.name = std::string(kBytes)};
  std::uint64_t size = 0;
  const bool several = maps.size() > 1;
  const bool described = std::ranges::all_of(maps, &model::ByteMap::described);
  for (const model::ByteMap& map : maps) {
    if (!described) break;
    size += map.size;
    const std::string file = several ? concat(quote(map.file), ": ") : std::string();
    for (const model::Part& part : map.parts)
      if (model::is_unowned(part.kind)) wrong(check, words_of(checkpoint, map, part, several));
    for (const model::Overlap& overlap : map.overlaps)
      wrong(check, concat(file, counted(overlap.length, "byte", "bytes"), " at ", hex(overlap.offset),
                          overlap.length == 1 ? " belongs" : " belong", " to ", quote(overlap.a), " and to ", quote(overlap.b)));
  }
  if (check.wrong.empty()) check = from_findings(kBytes, checkpoint.findings);
  if (check.wrong.empty() && maps.empty()) return skip(kBytes, "no file can be mapped");
  if (check.wrong.empty() && !described)
    return skip(kBytes, concat("what ", checkpoint.format, " files hold besides tensors is not told apart"));
  if (maps.size() < checkpoint.files.size()) wrong(check, "some files cannot be opened");
  conclude(check, concat("each of ", counted(size, "byte has one owner", "bytes has one owner")));
  return check;
}

/// True where a hole that is told as a whole lies.
bool in_hole(const Checkpoint& checkpoint, std::string_view file, std::uint64_t at) {
  return std::ranges::any_of(checkpoint.findings.list(), [&](const Finding& finding) {
    return finding.code == Code::zero_hole && (finding.where.file.empty() || file.empty() || finding.where.file == file) &&
           at >= finding.where.offset.value_or(at + 1) && at - *finding.where.offset < finding.where.length.value_or(0);
  });
}

/// Adds what the local headers of one zip say otherwise to `findings`; gives how many were compared.
Result<std::uint64_t> compare_headers(const ByteSource& source, std::string_view file, Findings& findings, const Limits& limits) {
  auto directory = zip::read_directory(source, limits);
  if (!directory && directory.error().code() == Code::need_range) return fail(std::move(directory).error());
  if (!directory || directory->salvaged) return std::uint64_t{0};
  ASSAY_TRY(const Findings compared, zip::compare_local_headers(source, *directory));
  for (Finding finding : compared.list()) {
    finding.where.file = file;
    findings.add(std::move(finding));
  }
  return directory->members.size();
}

Result<Check> check_local_headers(const Checkpoint& checkpoint, Findings& findings, const Limits& limits) {
  Check check{.name = std::string(kLocal)};
  std::uint64_t members = 0, zips = 0, in_holes = 0;
  Findings told;
  for (const Finding& finding : checkpoint.findings.list())
    if (owner_of(finding) == kLocal) told.add(finding);
  for (std::uint32_t file = 0; file < checkpoint.files.size(); ++file) {
    ASSAY_TRY(const std::vector<Archive> archives, archives_in(checkpoint, file, limits));
    zips += archives.size();
    const std::string_view name = checkpoint.files.size() > 1 ? std::string_view(checkpoint.files[file].name) : std::string_view();
    for (const Archive& archive : archives) {
      const WindowSource source(*checkpoint.files[file].source, archive.begin, archive.size);
      Findings found;
      ASSAY_TRY(const std::uint64_t compared, compare_headers(source, name, found, limits));
      members += compared;
      for (Finding finding : found.list()) {
        if (finding.where.offset) *finding.where.offset += archive.begin;
        if (finding.where.offset && in_hole(checkpoint, name, *finding.where.offset)) {
          ++in_holes;
          continue;
        }
        told.add(finding);
        findings.add(std::move(finding));
      }
    }
  }
  for (const Finding& finding : told.list())
    if (finding.severity >= Severity::warning) wrong(check, with_file(finding));
  if (in_holes > 0) wrong(check, concat(in_holes, " of ", counted(members, "local header is", "local headers are"), " lost in the hole"));
  if (zips == 0) return skip(kLocal, "no zip");
  if (members == 0 && check.wrong.empty()) return skip(kLocal, "no directory to compare them with");
  conclude(check, concat(counted(members, "local header agrees", "local headers agree"), " with the directory"));
  return check;
}

/// Findings of one shard that differ in the tensor only.
struct OfShard {
  const Finding* first;
  std::string other;  // the shard that has the tensors; "" where none has
  std::vector<std::string> tensors;
  bool differ = false;  // from what the other has
};

std::vector<OfShard> by_shard(const Findings& findings) {
  std::vector<OfShard> groups;
  for (const Finding& finding : findings.list()) {
    if (owner_of(finding) != kShards || finding.severity < Severity::warning) continue;
    std::string other;
    for (const Fact& fact : finding.facts)
      if (const auto* shard = std::get_if<std::string>(&fact.value); shard && (fact.key == "counts" || fact.key == "found_in"))
        other = *shard;
    const auto same = [&](const OfShard& group) {
      return !finding.where.tensor.empty() && !group.tensors.empty() && group.first->code == finding.code &&
             group.first->where.file == finding.where.file && group.other == other;
    };
    auto group = std::ranges::find_if(groups, same);
    if (group == groups.end()) group = groups.insert(groups.end(), {&finding, std::move(other), {}, false});
    group->differ = group->differ || finding.message.find("the copies differ") != std::string::npos;
    if (!finding.where.tensor.empty()) group->tensors.push_back(finding.where.tensor);
  }
  sort_stable(groups, std::ranges::greater(), [](const OfShard& group) { return group.first->severity; });
  return groups;
}

/// The same for all of its tensors: they are lost, elsewhere, or there twice.
std::string words_of(const Checkpoint& checkpoint, const OfShard& group) {
  if (group.tensors.size() < 2) return with_file(*group.first);
  const std::string file = quote(group.first->where.file), names = name_list(group.tensors, 3);
  const std::string count = counted(group.tensors.size(), "tensor", "tensors");
  if (group.first->code == Code::wrong_shard && group.other.empty())
    return concat(count, " that the index maps to ", file, " are in no shard: ", names);
  if (group.first->code == Code::wrong_shard)
    return concat(count, " that the index maps to ", file, " are in ", quote(group.other), ": ", names);
  const bool has_others = std::ranges::any_of(checkpoint.tensors, [&](const Tensor& tensor) {
    const CheckpointFile* holder = checkpoint.file_of(tensor);
    return holder != nullptr && holder->name == group.first->where.file;
  });
  if (!has_others && !group.differ) return concat(file, " holds ", count, " of ", quote(group.other), " and nothing else: a copy of it");
  return concat(count, " of ", file, " are in ", quote(group.other), group.differ ? " too, and some differ: " : " too: ", names);
}

Check check_shards(const Checkpoint& checkpoint) {
  Check check{.name = std::string(kShards)};
  for (const OfShard& group : by_shard(checkpoint.findings)) wrong(check, words_of(checkpoint, group));
  if (checkpoint.files.size() < 2 && check.wrong.empty()) return skip(kShards, "one file");
  conclude(check, concat(checkpoint.files.size(), " files agree on ", counted(checkpoint.tensors.size(), "tensor", "tensors")));
  return check;
}

}  // namespace

std::string_view check_verdict_name(CheckVerdict verdict) {
  constexpr std::string_view kNames[] = {"pass", "fail", "skip"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Result<std::vector<Check>> check_headers(const Checkpoint& checkpoint, std::span<const model::ByteMap> maps, const ModelConfig& config,
                                         Findings& findings, const Limits& limits) {
  std::vector<Check> checks;
  std::vector<Finding> zero_tails;
  ASSAY_CHECK(find_zero_tails(checkpoint, zero_tails).go_on());
  checks.push_back(check_structure(checkpoint, zero_tails));
  for (Finding& finding : zero_tails) findings.add(std::move(finding));
  checks.push_back(check_bytes(checkpoint, maps));
  checks.push_back(check_sizes(checkpoint));
  ASSAY_TRY(Check local, check_local_headers(checkpoint, findings, limits));
  checks.push_back(std::move(local));
  ASSAY_CHECK(find_escaping_members(checkpoint, findings, limits));
  checks.push_back(check_shards(checkpoint));
  checks.push_back(check_config(checkpoint, config));
  return checks;
}

namespace {

/// Tensors whose bytes are in a member; at most kMostWrong.
std::vector<std::string> tensors_in(const Checkpoint& checkpoint, const MemberCheck& member) {
  std::vector<std::string> names;
  const std::uint64_t length = std::max<std::uint64_t>(member.member.packed_size, 1);
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.storage == kNone || names.size() == Check::kMostWrong) continue;
    const Storage& storage = checkpoint.storages[tensor.storage];
    if (storage.file == member.file && storage.offset >= member.offset && storage.offset - member.offset < length)
      names.emplace_back(tensor.name);
  }
  return names;
}

Finding mismatch(const Checkpoint& checkpoint, const MemberCheck& member) {
  std::string what = concat("member ", quote(member.member.name), " has the CRC-32 ", hex(member.crc), ", its ",
                            member.member.salvaged ? "header" : "directory entry", " says ", hex(member.member.crc));
  std::vector<std::string> tensors = tensors_in(checkpoint, member);
  if (!tensors.empty()) what += concat("; damaged: ", name_list(tensors, 3));
  Finding finding(Code::crc_mismatch, std::move(what),
                  {.member = std::string(member.member.name), .offset = member.offset, .length = member.member.packed_size},
                  {{"expected", std::uint64_t{member.member.crc}}, {"found", std::uint64_t{member.crc}}});
  if (checkpoint.files.size() > 1) finding.where.file = checkpoint.files[member.file].name;
  if (!tensors.empty()) finding.facts.push_back({"tensors", std::move(tensors)});
  return finding;
}

/// What opening has found already: it holds the main pickle against its check sum.
bool is_told(const Checkpoint& checkpoint, const Finding& mismatch) {
  return std::ranges::any_of(checkpoint.findings.list(), [&](const Finding& finding) {
    return finding.code == mismatch.code && finding.where.member == mismatch.where.member && finding.where.file == mismatch.where.file;
  });
}

Finding unreadable(const Checkpoint& checkpoint, const MemberCheck& member) {
  const std::string name = quote(member.member.name);
  const std::string& what = member.unread->what();
  Finding finding(member.unread->code(), what.find(name) == std::string::npos ? concat("member ", name, ": ", what) : what,
                  {.member = std::string(member.member.name), .offset = member.unread->where().offset.value_or(member.offset)});
  if (checkpoint.files.size() > 1) finding.where.file = checkpoint.files[member.file].name;
  return finding;
}

Check check_crc(const Checkpoint& checkpoint, const Pass& pass, Findings& findings) {
  if (pass.members().empty()) return skip(kCrc, "no zip: this format carries no check sums");
  Check check{.name = std::string(kCrc)};
  std::uint64_t good = 0, unknown = 0, bad = 0, in_holes = 0;
  for (const MemberCheck& member : pass.members()) {
    if (member.unread && in_hole(checkpoint, checkpoint.files[member.file].name, member.archive.begin + member.member.header_offset)) {
      ++in_holes;
      continue;
    }
    if (!member.unread && member.matches()) {
      ++good;
    } else if (!member.unread && !member.known()) {
      ++unknown;
    } else if (++bad > Findings::kPerCode) {
      continue;
    } else if (member.unread) {
      Finding finding = unreadable(checkpoint, member);
      wrong(check, finding.message);
      findings.add(std::move(finding));
    } else {
      Finding finding = mismatch(checkpoint, member);
      wrong(check, finding.message);
      if (!is_told(checkpoint, finding)) findings.add(std::move(finding));
    }
  }
  if (in_holes > 0) wrong(check, concat(counted(in_holes, "member is", "members are"), " lost in the hole"));
  if (bad == 0 && good == 0 && in_holes == 0)
    return skip(kCrc,
                concat(counted(unknown, "member has no check sum", "members have no check sums"), ": 0 in the directory means unknown"));
  const std::string without = unknown > 0 ? concat(", ", unknown, " without a check sum (0 in the directory)") : std::string();
  conclude(check, concat(counted(good, "member matches", "members match"), without), bad);
  return check;
}

Result<Check> check_values(const Checkpoint& checkpoint, const Pass& pass, Findings& findings) {
  Check check{.name = std::string(kValues)};
  std::vector<Finding> found;
  doctor::Chart chart(checkpoint, found);
  std::uint64_t looked_at = 0, bytes = 0;
  for (const TensorCheck& tensor : pass.tensors()) {
    const Tensor& where = checkpoint.tensors[tensor.tensor];
    if (tensor.unread) {
      found.push_back(Finding(tensor.unread->code(), tensor.unread->what(), {.tensor = std::string(where.name)}));
      continue;
    }
    ++looked_at;
    bytes += where.nbytes();
    doctor::Patient patient;
    patient.tensor = tensor.tensor;
    patient.role = role_of(where);
    patient.stats.numel = patient.stats.measured = where.numel;
    patient.stats.zeros = tensor.counts.zeros;
    patient.stats.nan = tensor.counts.nan;
    patient.stats.pos_inf = tensor.counts.pos_inf;
    patient.stats.neg_inf = tensor.counts.neg_inf;
    ASSAY_CHECK(doctor::check_special(checkpoint, patient, chart).go_on());
    doctor::check_flat(checkpoint, patient, chart);
  }
  chart.write_shared();
  for (Finding& finding : found) {
    if (finding.severity >= Severity::warning) wrong(check, finding.message);
    findings.add(std::move(finding));
  }
  conclude(check, concat(counted(looked_at, "tensor", "tensors"), ", ", grouped(bytes), " bytes: no NaN, no infinity, no matrix of zeros"));
  return check;
}

}  // namespace

Result<std::vector<Check>> check_contents(const Checkpoint& checkpoint, const Pass& pass, bool values, Findings& findings) {
  std::vector<Check> checks;
  checks.push_back(check_crc(checkpoint, pass, findings));
  if (values) {
    ASSAY_TRY(Check check, check_values(checkpoint, pass, findings));
    checks.push_back(std::move(check));
  } else {
    checks.push_back(skip(kValues, "not asked for; --values reads them"));
  }
  return checks;
}

}  // namespace assay::analysis
