// SPDX-License-Identifier: Apache-2.0
// Finding and reading the central directory. The records are laid out in zip_layout.hpp.
//
// Sizes and offsets in the records are claims: the directory is where its first entry's signature stands, and it ends where the (ZIP64)
// end record starts. A directory found later than claimed means bytes in front of the archive, and every offset moves with it.
#include "containers/zip.hpp"

#include <algorithm>
#include <cstring>

#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/download.hpp"
#include "containers/zip_layout.hpp"

namespace assay::zip {

namespace {

constexpr std::uint64_t kLongestComment = 65535;
constexpr std::uint64_t kLongestLocalHeader = kLocalHeaderSize + 2 * 65535;
/// The first look back is what a probe has read already; the second is for longer comments and for archives with more behind them.
constexpr std::uint64_t kTails[] = {std::uint64_t{64} << 10, std::uint64_t{1} << 20};
/// How many signatures that look like end records are followed.
constexpr int kMostEndRecords = 16;

/// The file's last bytes, held, and the rest of it, read.
class Tail {
 public:
  static Result<Tail> read(const ByteSource& source, std::uint64_t n) {
    ASSAY_TRY(ByteBlock block, source.fetch(source.size() - n, n));
    return Tail(source, std::move(block));
  }
  const ByteView& view() const { return block_.view(); }
  /// [offset, offset + n) must lie in the file.
  Result<ByteBlock> at(std::uint64_t offset, std::uint64_t n) const {
    if (offset < view().offset()) return source_->fetch(offset, n);
    return ByteBlock(view().slice(static_cast<std::size_t>(offset - view().offset()), static_cast<std::size_t>(n)));
  }
  Result<bool> signature_at(std::uint64_t offset, std::uint32_t signature) const {
    if (!within(offset, 4, source_->size())) return false;
    ASSAY_TRY(const ByteBlock bytes, at(offset, 4));
    return load_le<std::uint32_t>(bytes.view().data()) == signature;
  }
  std::uint64_t file_size() const { return source_->size(); }

 private:
  Tail(const ByteSource& source, ByteBlock block) : source_(&source), block_(std::move(block)) {}
  const ByteSource* source_;
  ByteBlock block_;
};

/// One end record and the directory it leads to.
struct EndRecord {
  enum class Leads : std::uint8_t { nowhere, to_nothing, to_directory };

  std::uint64_t at = 0;                             // of the classic record
  std::uint64_t comment = 0;                        // bytes claimed
  std::uint64_t first = 0;                          // where the end records start: the ZIP64 one where there is one
  std::uint64_t entries = 0, size = 0, offset = 0;  // claimed
  std::uint64_t directory = 0;                      // where it is
  std::uint64_t prefix = 0;
  std::optional<std::uint64_t> wide_claimed;  // where the ZIP64 locator says that record is
  Leads leads = Leads::nowhere;
  bool follows_another = false;  // archive, which ends where this one starts
  bool begins_again = false;     // with the file's first bytes
  Findings findings;
};

void take_classic(EndRecord& record, const std::byte* p) {
  const std::uint16_t disk = load_le<std::uint16_t>(p + 4), directory_disk = load_le<std::uint16_t>(p + 6);
  record.entries = load_le<std::uint16_t>(p + 10);
  record.size = load_le<std::uint32_t>(p + 12);
  record.offset = load_le<std::uint32_t>(p + 16);
  record.comment = load_le<std::uint16_t>(p + 20);
  const bool split = (disk != 0 && disk != 0xffff) || (directory_disk != 0 && directory_disk != 0xffff);
  if (split || (record.entries != 0xffff && load_le<std::uint16_t>(p + 8) != record.entries))
    record.findings.add(Finding(Code::bad_zip, concat("the end record tells of a split archive (disk ", disk, ")"), {.offset = record.at}));
  else if (disk != 0 || directory_disk != 0) {
    // Allowed where a ZIP64 end record has the number; torch looks at this one alone.
    Finding finding(Code::bad_zip, "the end record leaves the number of its disk to the ZIP64 end record; torch.load refuses that",
                    {.offset = record.at});
    finding.severity = Severity::warning;
    record.findings.add(std::move(finding));
  }
}

/// A ZIP64 end record or its locator that tells of other disks, where no writer of one file does: torch refuses it.
void check_one_disk(EndRecord& record, const std::byte* wide, const std::byte* locator) {
  const std::uint32_t disk = load_le<std::uint32_t>(wide + 16), directory_disk = load_le<std::uint32_t>(wide + 20);
  const std::uint64_t here = load_le<std::uint64_t>(wide + 24), entries = load_le<std::uint64_t>(wide + 32);
  if (disk != 0 || directory_disk != 0)
    record.findings.add(Finding(
        Code::bad_zip, concat("the ZIP64 end record tells of a split archive (disk ", disk, ", directory on disk ", directory_disk, ")"),
        {.offset = record.first}));
  if (here != entries)
    record.findings.add(Finding(Code::bad_zip, concat("the ZIP64 end record has ", here, " entries on this disk, ", entries, " in all"),
                                {.offset = record.first}));
  const std::uint32_t locator_disk = load_le<std::uint32_t>(locator + 4), disks = load_le<std::uint32_t>(locator + 16);
  if (locator_disk != 0 || disks != 1)
    record.findings.add(Finding(Code::bad_zip,
                                concat("the ZIP64 locator tells of a split archive (disk ", locator_disk, " of ", disks, ")"),
                                {.offset = record.at - kZip64LocatorSize}));
}

/// Where the ZIP64 end record is: just before its locator, or where the locator says.
Result<std::optional<std::uint64_t>> find_zip64(const Tail& tail, std::uint64_t locator, std::uint64_t claimed, Findings& findings) {
  std::optional<std::uint64_t> before, pointed;
  if (locator >= kZip64EndSize) {
    ASSAY_TRY(const ByteBlock bytes, tail.at(locator - kZip64EndSize, kZip64EndSize));
    const std::byte* p = bytes.view().data();
    if (load_le<std::uint32_t>(p) == kZip64End && load_le<std::uint64_t>(p + 4) == kZip64EndSize - 12) before = locator - kZip64EndSize;
  }
  if (within(claimed, kZip64EndSize, locator)) {
    ASSAY_TRY(const bool there, tail.signature_at(claimed, kZip64End));
    if (there) pointed = claimed;
  }
  if (before && pointed && *before != *pointed)
    findings.add(Finding(Code::ambiguous_archive,
                         concat("ZIP64 end records stand both at ", *pointed, ", where their locator points, and just before it at ",
                                *before, "; the second is taken, torch takes the first"),
                         {.offset = locator}));
  return before ? before : pointed;
}

/// Follows the ZIP64 locator in front of the end record. Its numbers count, as for torch, also where the classic ones would do.
Result<void> take_zip64(EndRecord& record, const Tail& tail) {
  record.first = record.at;
  if (record.at < kZip64LocatorSize) return {};
  const std::uint64_t locator = record.at - kZip64LocatorSize;
  ASSAY_TRY(const ByteBlock bytes, tail.at(locator, kZip64LocatorSize));
  if (load_le<std::uint32_t>(bytes.view().data()) != kZip64Locator) return {};
  const std::uint64_t claimed = load_le<std::uint64_t>(bytes.view().data() + 8);
  ASSAY_TRY(const auto found, find_zip64(tail, locator, claimed, record.findings));
  if (!found) {
    record.findings.add(
        Finding(Code::bad_zip, concat("the ZIP64 locator points at ", claimed, ", where no ZIP64 end record is"), {.offset = locator}));
    return {};
  }
  ASSAY_TRY(const ByteBlock wide, tail.at(*found, kZip64EndSize));
  const std::byte* p = wide.view().data();
  record.first = *found;
  record.wide_claimed = claimed;
  if (const std::uint64_t rest = load_le<std::uint64_t>(p + 4); rest < kZip64EndSize - 12)
    record.findings.add(Finding(Code::bad_zip,
                                concat("the ZIP64 end record claims ", rest, " bytes behind its first 12, where ", kZip64EndSize - 12,
                                       " are the least; torch.load refuses that"),
                                {.offset = *found}));
  check_one_disk(record, p, bytes.view().data());
  const auto take = [&](std::uint64_t& number, std::uint64_t value, std::uint64_t unset, std::string_view what) {
    if (number != value && number != unset)
      record.findings.add(Finding(Code::ambiguous_archive,
                                  concat("the end record says ", what, ' ', number, ", the ZIP64 end record, which counts, ", value),
                                  {.offset = record.at}));
    number = value;
  };
  take(record.entries, load_le<std::uint64_t>(p + 32), 0xffff, "entries");
  take(record.size, load_le<std::uint64_t>(p + 40), 0xffffffff, "directory size");
  take(record.offset, load_le<std::uint64_t>(p + 48), 0xffffffff, "directory offset");
  return {};
}

/// Whether the first member is where its entry says, so that only the directory's offset is wrong, and not `shift` bytes further.
Result<bool> first_member_stays(const EndRecord& record, const Tail& tail, std::uint64_t shift) {
  if (!within(record.directory, kEntrySize, record.first)) return false;
  ASSAY_TRY(const ByteBlock entry, tail.at(record.directory, kEntrySize));
  const std::uint64_t offset = load_le<std::uint32_t>(entry.view().data() + 42);
  ASSAY_TRY(const bool moved, tail.signature_at(offset + shift, kLocalHeader));
  if (moved) return false;
  return tail.signature_at(offset, kLocalHeader);
}

/// Finds the directory the record speaks of.
Result<void> place(EndRecord& record, const Tail& tail) {
  const auto claimed_end = checked_add(record.offset, record.size);
  if (!claimed_end || *claimed_end > record.first) {
    ASSAY_TRY(const bool there, tail.signature_at(record.offset, kEntry));
    if (!there || record.offset >= record.first) return {};
    record.findings.add(Finding(Code::bad_zip,
                                concat("the directory at ", record.offset, " claims ", record.size, " bytes, ",
                                       record.first - record.offset, " are there before the end record"),
                                {.offset = record.at}, {{"expected", record.size}, {"found", record.first - record.offset}}));
    record.directory = record.offset;
    record.leads = EndRecord::Leads::to_directory;
    return {};
  }
  const std::uint64_t shift = record.first - *claimed_end;
  if (record.entries == 0 && record.size == 0) {
    record.directory = record.first;
    record.prefix = shift;
    record.leads = EndRecord::Leads::to_nothing;
    return {};
  }
  ASSAY_TRY(const bool shifted, tail.signature_at(record.offset + shift, kEntry));
  ASSAY_TRY(const bool as_claimed, tail.signature_at(record.offset, kEntry));
  if (!shifted && !as_claimed) return {};
  record.leads = EndRecord::Leads::to_directory;
  record.directory = shifted ? record.offset + shift : record.offset;
  if (!shifted || shift == 0) return {};
  ASSAY_TRY(const bool members_stay, first_member_stays(record, tail, shift));
  if (members_stay) {
    record.findings.add(Finding(Code::bad_zip,
                                concat("the end record says the directory is at ", record.offset, ", it stands at ", record.directory),
                                {.offset = record.at}, {{"expected", record.offset}, {"found", record.directory}}));
    return {};
  }
  record.prefix = shift;
  if (as_claimed)
    record.findings.add(Finding(Code::ambiguous_archive,
                                concat("directories stand both at ", record.offset, ", as the end record says, and just before it at ",
                                       record.directory, "; the second is listed, torch reads the first"),
                                {.offset = record.at}));
  return {};
}

/// True when `reaches` says so of any 'P' among the `reach` bytes before the archive that is `left` bytes, at least `least`, away from it.
Result<bool> any_before(const EndRecord& record, const Tail& tail, std::uint64_t reach, std::size_t least,
                        bool (*reaches)(const std::byte*, std::size_t)) {
  const std::uint64_t n = std::min(record.prefix, reach);
  if (n < least) return false;
  ASSAY_TRY(const ByteBlock before, tail.at(record.prefix - n, n));
  const ByteView bytes = before.view();
  for (std::size_t left = least; left <= bytes.size(); ++left) {
    const std::byte* p = bytes.data() + bytes.size() - left;
    if (*p == std::byte{'P'} && reaches(p, left)) return true;
  }
  return false;
}

/// True when the bytes in front are this archive's own first ones: a download that started over.
Result<bool> is_begun_again(const EndRecord& record, const Tail& tail) {
  constexpr std::uint64_t kCompared = 4096;
  const std::uint64_t n = std::min({record.prefix, record.at - record.prefix, kCompared});
  ASSAY_TRY(const ByteBlock front, tail.at(0, n));
  ASSAY_TRY(const ByteBlock own, tail.at(record.prefix, n));
  return front.view().text() == own.view().text();
}

/// True when the archive lies within another one that lost its end, as a member (it starts where the data of a local header does) or
/// deeper (the file starts as an archive, and no end record stands between that one and this). Sets follows_another and begins_again.
Result<bool> is_inside_another(EndRecord& record, const Tail& tail) {
  if (record.prefix == 0) return false;
  ASSAY_TRY(record.begins_again, is_begun_again(record, tail));
  if (record.begins_again) return false;
  ASSAY_TRY(const bool member, any_before(record, tail, kLongestLocalHeader, kLocalHeaderSize, [](const std::byte* p, std::size_t left) {
              const LocalHeader local = parse_local_header(p);
              return local.signature == kLocalHeader && left == kLocalHeaderSize + local.name_size + local.extra_size;
            }));
  if (member) return true;
  ASSAY_TRY(const bool starts, tail.signature_at(0, kLocalHeader));
  if (!starts) return false;
  ASSAY_TRY(record.follows_another,
            any_before(record, tail, kLongestComment + kEndRecordSize, kEndRecordSize, [](const std::byte* p, std::size_t left) {
              return load_le<std::uint32_t>(p) == kEndRecord && kEndRecordSize + load_le<std::uint16_t>(p + 20) >= left;
            }));
  return !record.follows_another;
}

Result<EndRecord> read_end_record(const Tail& tail, std::size_t i) {
  EndRecord record;
  record.at = tail.view().offset(i);
  take_classic(record, tail.view().data() + i);
  ASSAY_CHECK(take_zip64(record, tail));
  ASSAY_CHECK(place(record, tail));
  const std::uint64_t wide = record.wide_claimed.value_or(record.first);
  if (wide != record.first && checked_add(wide, record.prefix) != record.first && !record.findings.has(Code::ambiguous_archive))
    record.findings.add(Finding(Code::bad_zip,
                                concat("the ZIP64 locator points at ", wide, ", the ZIP64 end record stands at ", record.first),
                                {.offset = record.at - kZip64LocatorSize}));
  return record;
}

/// End records from the file's end to its front, without those of archives that are members of another.
Result<std::vector<EndRecord>> find_end_records(const Tail& tail) {
  std::vector<EndRecord> records;
  const ByteView bytes = tail.view();
  std::uint64_t before = tail.file_size();  // only records that start below it are looked at
  int followed = 0;
  for (std::size_t i = bytes.size(); i >= kEndRecordSize && followed < kMostEndRecords; --i) {
    const std::size_t at = i - kEndRecordSize;
    if (bytes[at] != std::byte{'P'} || load_le<std::uint32_t>(bytes.data() + at) != kEndRecord || bytes.offset(at) >= before) continue;
    ++followed;
    ASSAY_TRY(EndRecord record, read_end_record(tail, at));
    if (record.leads == EndRecord::Leads::to_directory) {
      before = record.prefix;
      ASSAY_TRY(const bool inner, is_inside_another(record, tail));
      if (inner) continue;
    }
    records.push_back(std::move(record));
  }
  return records;
}

/// The record to believe, or null: the last that leads to entries, else the last that says there are none.
EndRecord* choose(std::vector<EndRecord>& records) {
  for (const auto wanted : {EndRecord::Leads::to_directory, EndRecord::Leads::to_nothing})
    for (EndRecord& record : records)
      if (record.leads == wanted) return &record;
  return nullptr;
}

void tell_surroundings(Directory& directory, const EndRecord& record, const std::vector<EndRecord>& records, std::uint64_t file_size) {
  Findings& findings = directory.findings;
  bool told = false;
  for (const EndRecord& other : records) {
    if (&other == &record || other.leads == EndRecord::Leads::nowhere) continue;
    told = true;
    findings.add(Finding(Code::ambiguous_archive,
                         concat("two archives end in this file, at ", std::min(other.at, record.at), " and ", std::max(other.at, record.at),
                                "; the one that ends at ", record.at, " is listed"),
                         {.offset = other.at}));
  }
  if (record.follows_another && !told)
    findings.add(Finding(Code::ambiguous_archive,
                         concat("another archive ends where this one starts, at ", record.prefix, "; this one is listed"),
                         {.offset = 0, .length = record.prefix}));
  const std::uint64_t end = record.at + kEndRecordSize;
  if (record.comment > file_size - end)
    findings.add(Finding(Code::truncated, concat("the archive's comment claims ", record.comment, " bytes, ", file_size - end, " are left"),
                         {.offset = end}, {{"expected", record.comment}, {"found", file_size - end}}));
  directory.end_offset = end + std::min(record.comment, file_size - end);
  if (const std::uint64_t behind = file_size - directory.end_offset; behind != 0)
    findings.add(Finding(Code::trailing_bytes, concat(counted(behind, "byte follows", "bytes follow"), " the archive's end record"),
                         {.offset = directory.end_offset, .length = behind}));
}

/// Bytes in front: those the offsets were moved by, or those no member reaches down to.
void tell_prefix(Directory& directory, std::uint64_t shift, bool begins_again) {
  std::uint64_t first = directory.members.empty() ? directory.prefix : directory.directory_offset;
  for (const Member& member : directory.members) first = std::min(first, member.header_offset);
  directory.prefix = std::max(shift, first);
  directory.moved = shift != 0;
  if (directory.prefix == 0) return;
  std::string what = begins_again ? words_of_restart(directory.prefix)
                                  : concat(counted(directory.prefix, "byte stands", "bytes stand"), " before the archive",
                                           shift != 0 ? "; its offsets are moved by as many, which torch would not do" : "");
  directory.findings.add(Finding(Code::leading_bytes, std::move(what), {.offset = 0, .length = directory.prefix}));
}

/// Moves `i` from what is no entry to the next that looks like one, so that a damaged entry does not hide those behind it.
bool skip_to_entry(const ByteView& bytes, std::size_t& i, Findings& findings) {
  if (bytes.size() - i < kEntrySize) return false;
  const std::size_t next = bytes.text().find(std::string_view("PK\1\2", 4), i + 1);
  if (next == std::string_view::npos) return false;
  add_finding(findings, Code::bad_zip, [&] {
    return Finding(Code::bad_zip,
                   concat("no directory entry can be read at ", bytes.offset(i), "; the next one starts at ", bytes.offset(next)),
                   {.offset = bytes.offset(i), .length = next - i});
  });
  i = next;
  return true;
}

/// Members that cannot be where they claim.
void check_ranges(Directory& directory) {
  for (const Member& member : directory.members) {
    if (within(member.header_offset, kLocalHeaderSize, directory.directory_offset) &&
        within(member.header_offset + kLocalHeaderSize, member.packed_size, directory.directory_offset))
      continue;
    add_finding(directory.findings, Code::bad_zip, [&] {
      return Finding(Code::bad_zip,
                     concat("member ", quote(member.name), " claims ", member.packed_size, " bytes from ", member.header_offset,
                            ", the directory starts at ", directory.directory_offset),
                     {.member = std::string(member.name), .offset = member.entry_offset});
    });
  }
}

Result<void> read_entries(Directory& directory, const EndRecord& record, const ByteSource& source, const Limits& limits) {
  const std::uint64_t size = record.first - record.directory;
  if (size > limits.header_bytes)
    return fail(Error(Code::limit_exceeded, concat("the archive's directory has ", size, " bytes, the limit is ", limits.header_bytes))
                    .at(record.directory)
                    .expected_found(limits.header_bytes, size));
  ASSAY_TRY(ByteBlock block, source.fetch(record.directory, size));
  const auto held = std::make_shared<const ByteBlock>(std::move(block));
  const ByteView bytes = held->view();
  DirectoryReader::keep_names(directory, held);
  directory.members.reserve(
      static_cast<std::size_t>(std::min<std::uint64_t>({record.entries, bytes.size() / kEntrySize, limits.zip_members})));
  std::size_t i = 0;
  while (true) {
    const auto member = read_entry(bytes, i, record.prefix, directory.findings);
    if (!member) {
      if (directory.members.size() >= record.entries || !skip_to_entry(bytes, i, directory.findings)) break;
      continue;
    }
    if (directory.members.size() == limits.zip_members)
      return fail(Error(Code::limit_exceeded, concat("the archive has more than ", limits.zip_members, " members"))
                      .at(member->entry_offset)
                      .expected_found(limits.zip_members, record.entries));
    directory.members.push_back(*member);
  }
  directory.entries_end = bytes.offset(i);
  const std::uint64_t count = directory.members.size();
  if (count != record.entries)
    directory.findings.add(Finding(Code::bad_zip, concat("the end record counts ", record.entries, " members, the directory holds ", count),
                                   {.offset = bytes.offset(i)}, {{"expected", record.entries}, {"found", count}}));
  else if (i > record.size && record.prefix == 0 && record.directory == record.offset)
    directory.findings.add(Finding(
        Code::bad_zip, concat("the end record says the directory has ", record.size, " bytes, it has ", i, "; torch.load refuses that"),
        {.offset = record.at}, {{"expected", record.size}, {"found", std::uint64_t{i}}}));
  else if (i != bytes.size())
    directory.findings.add(Finding(
        Code::odd_header, concat(counted(bytes.size() - i, "byte stands", "bytes stand"), " between the directory and its end record"),
        {.offset = bytes.offset(i), .length = bytes.size() - i}));
  return {};
}

Result<Directory> read_from(const EndRecord& record, const std::vector<EndRecord>& records, const ByteSource& source,
                            const Limits& limits) {
  Directory directory;
  directory.directory_offset = record.directory;
  directory.records_offset = record.first;
  directory.end_record = record.at;
  for (const Finding& finding : record.findings.list()) directory.findings.add(finding);
  tell_surroundings(directory, record, records, source.size());
  ASSAY_CHECK(read_entries(directory, record, source, limits));
  tell_prefix(directory, record.prefix, record.begins_again);
  check_ranges(directory);
  DirectoryReader::index(directory);
  return directory;
}

Finding tell_salvage(const Directory& directory, const EndRecord* record, std::uint64_t file_size) {
  const std::uint64_t whole = directory.members.size();
  std::string text = record ? concat("the end record at ", record->at, " says the directory is at ", record->offset, ", where none is; ")
                            : std::string("the archive has no end record; ");
  text += concat(counted(whole, "member", "members"), " found whole");
  Where where{.offset = record ? record->at : file_size};
  std::vector<Fact> facts{{"members", whole}};
  if (directory.cut) {
    constexpr std::size_t kNamed = 100;  // what stands for a name in a broken header may be long
    text += concat(", and ", counted(directory.cut->packed_size, "byte", "bytes"), " of ", quote(directory.cut->name, kNamed));
    where.member = directory.cut->name;
    facts.push_back({"cut_bytes", directory.cut->packed_size});
  }
  return Finding(record && !directory.cut ? Code::bad_zip : Code::truncated, std::move(text), std::move(where), std::move(facts));
}

Result<Directory> salvage_without(const EndRecord* record, const ByteSource& source, const Limits& limits) {
  ASSAY_TRY(Directory directory, salvage(source, limits));
  if (directory.members.empty() && !directory.cut) {
    if (record)
      return fail(
          Error(Code::bad_zip, concat("the end record says the directory is at ", record->offset, ", where none is")).at(record->at));
    // A first header that is cut, within itself or its name and extra field.
    ASSAY_TRY(const Tail file, Tail::read(source, 0));
    ASSAY_TRY(const bool starts, file.signature_at(0, kLocalHeader));
    if (starts && source.size() <= kLongestLocalHeader)
      return fail(Error(Code::truncated,
                        concat("a zip archive that ends within its first member's header, after ", counted(source.size(), "byte", "bytes")))
                      .at(source.size()));
    return fail(Error(Code::bad_zip, "neither an end record nor a local header is found").at(0));
  }
  directory.findings.add(tell_salvage(directory, record, source.size()));
  DirectoryReader::index(directory);
  return directory;
}

}  // namespace

Result<Directory> read_directory(const ByteSource& source, const Limits& limits) {
  std::vector<EndRecord> records;
  for (const std::uint64_t reach : kTails) {
    ASSAY_TRY(const Tail tail, Tail::read(source, std::min(reach, source.size())));
    ASSAY_TRY(records, find_end_records(tail));
    if (const EndRecord* record = choose(records)) return read_from(*record, records, source, limits);
    if (reach >= source.size()) break;
  }
  return salvage_without(records.empty() ? nullptr : &records.front(), source, limits);
}

}  // namespace assay::zip
