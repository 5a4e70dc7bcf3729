// SPDX-License-Identifier: Apache-2.0
// What would run if a file were loaded. Nothing of it is run here: pickles are parsed as data wherever they are found, in archives of
// any depth, and every name they import is held against a list of names known to be harmless.
//
// Two answers that do not mix: the verdict says what was found, the status whether everything was looked at. Only a complete scan without
// an unknown name is clean in the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/scan/names.hpp"
#include "assay/finding.hpp"
#include "assay/limits.hpp"
#include "assay/source.hpp"

namespace assay::scan {

enum class Status : std::uint8_t {
  complete,
  malformed,   ///< some part breaks its format's rules; what stands before the break was looked at
  incomplete,  ///< some part could not be looked at: encrypted, packed in an unknown way, a limit
};
std::string_view status_name(Status status);

/// Where in the file. Members of members are joined by '/': "inner.zip/archive/data.pkl".
struct Place {
  std::string member;                   ///< "" in the file itself
  std::uint64_t position = 0;           ///< of the opcode, from the member's start
  std::optional<std::uint64_t> offset;  ///< of the opcode in the file; absent in what had to be unpacked
  std::uint32_t stream = 1;             ///< pickles follow each other: 1 is the first
};

struct Import {
  std::string name;     ///< "module.name", as a loader would look it up; not escaped
  std::string written;  ///< as the file writes it, where that differs (Python 2 names)
  Verdict verdict = Verdict::unknown;
  std::string why;
  Place place;              ///< the first time
  std::uint64_t times = 1;  ///< in this member
};

/// A call that is not known to be harmless.
struct Call {
  std::string callable;   ///< "os.system"; "?" where only loading could tell
  std::string arguments;  ///< "('true',)", cut, escaped
  std::string words;      ///< "would call os.system('true')"
  Verdict verdict = Verdict::unknown;
  std::string why;
  Place place;
};

/// A file or an archive's member that was looked at. Storages that are as they should be are only counted.
struct Member {
  std::string name;       ///< "" for the file itself
  std::string_view kind;  ///< "pickle", "zip", "text", "storage", …
  Verdict verdict = Verdict::clean;
  Status status = Status::complete;
  std::uint64_t size = 0;
  std::uint32_t streams = 0;  ///< pickles found in it
};

/// What torch.load(weights_only=True) would say.
struct WeightsOnly {
  enum class Answer : std::uint8_t { does_not_apply, accepts, refuses };
  Answer answer = Answer::does_not_apply;
  std::string reason;  ///< of a refusal, in torch's words; or why it does not apply
};

struct Report {
  Verdict verdict = Verdict::clean;
  Status status = Status::complete;
  std::vector<Import> imports;         ///< one per name and member; at most kMostImports that are not dangerous, twice as many that are
  std::uint64_t imports_left_out = 0;  ///< imports of further names
  std::vector<Call> calls;             ///< at most kMostCalls; call_count has all
  std::uint64_t call_count = 0;
  std::vector<Member> members;     ///< the file itself first
  std::uint64_t storages = 0;      ///< members that hold tensor bytes
  std::uint64_t pickle_bytes = 0;  ///< bytes of pickle that were parsed
  WeightsOnly weights_only;
  std::string torch_member;  ///< of an archive: what torch.load reads first; "" where there is none
  Findings findings;

  static constexpr std::size_t kMostCalls = 1000, kMostImports = 10'000;
  /// Complete, and nothing unknown.
  bool clean() const { return verdict == Verdict::clean && status == Status::complete; }
};

struct Options {
  Limits limits;
  std::vector<std::string> allowed;  ///< further names to take for harmless: "my.module.Class"; never names known as dangerous
};

/// Scans one file. `name` is the file's, for its extension and for messages. Reads directories, pickles and the first bytes of
/// everything else; never the bytes of storages. Fails only with `need-range` and what reading fails with: all that is wrong with the
/// file itself is in the report.
Result<Report> scan_file(const ByteSource& source, std::string_view name, const Options& options);

}  // namespace assay::scan
