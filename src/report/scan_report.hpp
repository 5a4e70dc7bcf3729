// SPDX-License-Identifier: Apache-2.0
// How a scan looks: the keys of its JSON, one line a file for people, and SARIF 2.1.0 for tools that collect findings.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/scan/scan.hpp"
#include "report/json_writer.hpp"
#include "report/style.hpp"
#include "report/table.hpp"
#include "report/writer.hpp"

namespace assay::report {

/// One file of a scan. Where it could not be read at all, `error` says why and the report is empty.
struct ScannedFile {
  std::string path;
  scan::Report report;
  std::optional<Error> error;
};

/// The worst of all files. A file that could not be read makes the scan incomplete.
struct ScanSummary {
  scan::Verdict verdict = scan::Verdict::clean;
  scan::Status status = scan::Status::complete;
  bool unread = false;  ///< some file could not be read
  void add(const ScannedFile& file);
};

/// The key "verdict": null in place of clean where there are `unread` files: nobody may take them for clean.
void write_verdict(JsonWriter& json, scan::Verdict verdict, bool unread);
/// The own keys of `scan` for one file: verdict, status, imports[], calls[], weights_only{}, members[], …
void write_scan_keys(JsonWriter& json, const scan::Report& report);
/// One file as an object, with its path, findings and error.
void write_scanned_file(JsonWriter& json, const ScannedFile& file);

/// One file: "DANGER  model.pt  would call os.system('true') at byte 24 of archive/data.pkl", then every call, import and finding by its
/// place, at most `most` of them, and what torch would do with the file (scan_screen.cpp).
void write_scan_screen(Writer& out, const Style& style, const ScannedFile& file, std::size_t most);
/// Several files: a line for each that is not clean, for all where `all` is set; then "3 files: 2 ok, 1 dangerous". Of a file only its line
/// is kept.
class ScanList {
 public:
  ScanList(const Style& style, bool all);
  void add(const ScannedFile& file);
  void write(Writer& out) const;

 private:
  const Style& style_;
  bool all_;
  Table table_;
  std::vector<std::uint64_t> counts_;  // by tag
};

/// A SARIF log of all findings. Nothing else of the files is looked at. Files that could not be read are warnings, and the run no success.
void write_sarif(Writer& out, std::span<const ScannedFile> files);

}  // namespace assay::report
