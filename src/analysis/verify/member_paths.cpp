// SPDX-License-Identifier: Apache-2.0
#include "analysis/verify/member_paths.hpp"

#include "analysis/scan/paths.hpp"
#include "analysis/verify/pass.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/window.hpp"
#include "containers/tar.hpp"
#include "containers/zip.hpp"

namespace assay::analysis {

namespace {

/// Takes what leaves the folder into the findings, each as a warning.
class Teller {
 public:
  Teller(std::string_view file, std::uint64_t begin, Findings& findings) : file_(file), begin_(begin), findings_(findings) {}
  void tell(std::string_view member, std::uint64_t header, const std::string& fault) {
    if (fault.empty()) return;
    Finding finding(Code::path_escapes, concat("member ", quote(member), ' ', fault),
                    {.file = std::string(file_), .member = std::string(member), .offset = begin_ + header});
    finding.severity = Severity::warning;
    findings_.add(std::move(finding));
  }

 private:
  std::string_view file_;
  std::uint64_t begin_;
  Findings& findings_;
};

}  // namespace

Result<void> find_escaping_members(const Checkpoint& checkpoint, Findings& findings, const Limits& limits) {
  for (std::uint32_t file = 0; file < checkpoint.files.size(); ++file) {
    const ByteSource& whole = *checkpoint.files[file].source;
    const std::string_view name = checkpoint.files.size() > 1 ? std::string_view(checkpoint.files[file].name) : std::string_view();
    if (checkpoint.container == "tar") {
      auto archive = tar::read_archive(whole, limits);
      if (!archive && archive.error().code() == Code::need_range) return fail(std::move(archive).error());
      Teller teller(name, 0, findings);
      if (archive)
        for (const tar::Member& member : archive->members) teller.tell(member.name, member.header_offset, scan::path_fault(member));
      continue;
    }
    ASSAY_TRY(const std::vector<Archive> archives, archives_in(checkpoint, file, limits));
    for (const Archive& archive : archives) {
      const WindowSource source(whole, archive.begin, archive.size);
      auto directory = zip::read_directory(source, limits);
      if (!directory && directory.error().code() == Code::need_range) return fail(std::move(directory).error());
      if (!directory) continue;
      Teller teller(name, archive.begin, findings);
      for (const zip::Member& member : directory->members) {
        ASSAY_TRY(const std::string fault, scan::path_fault(source, member));
        teller.tell(member.name, member.header_offset, fault);
      }
    }
  }
  return {};
}

}  // namespace assay::analysis
