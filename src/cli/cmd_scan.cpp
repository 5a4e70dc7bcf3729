// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>

#include "base/parallel.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/sigbus_native.hpp"
#include "cli/parallel.hpp"
#include "cli/run.hpp"
#include "cli/scan_flags.hpp"
#include "report/scan_report.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using report::ScannedFile;

constexpr std::size_t kMostFindings = 10;  // of one file in text, without -v
constexpr std::size_t kMostFolders = 100'000;

/// A file to scan, or why it is not. There may be millions: the reason stands apart.
struct Found {
  std::string path;
  std::unique_ptr<Error> reason = {};
};

Found not_scanned(std::string path, Code code, std::string what) {
  return {std::move(path), std::make_unique<Error>(code, std::move(what))};
}

/// The files to scan, those below folders in name order. What cannot be looked at is in the list with its reason.
class Collector {
 public:
  explicit Collector(Exclusions& exclusions) : exclusions_(exclusions) {}
  void take(const std::string& word) {
    std::error_code failure;
    const fs::file_status status = fs::status(word, failure);
    if (fs::is_directory(status)) return walk(word);
    files_.push_back({word});
  }
  std::vector<Found> files() { return std::move(files_); }
  /// Folders of git's own, which nothing is loaded from.
  const std::vector<std::string>& left_out() const { return left_out_; }
  /// How many files and folders --exclude left out.
  std::uint64_t excluded() const { return excluded_count_; }

 private:
  void walk(const fs::path& top) {
    std::vector<fs::path> folders{top};
    for (std::size_t n = 0; !folders.empty(); ++n) {
      const fs::path folder = std::move(folders.back());
      folders.pop_back();
      if (n == kMostFolders)
        return files_.push_back(not_scanned(folder.string(), Code::limit_exceeded, concat("more than ", kMostFolders, " folders")));
      std::error_code failure;
      fs::directory_iterator entry(folder, failure);
      if (failure) {
        files_.push_back(not_scanned(folder.string(), Code::io_error, concat("cannot list the folder: ", failure.message())));
        continue;
      }
      std::vector<fs::path> below;
      for (; entry != fs::directory_iterator(); entry.increment(failure)) {
        if (failure) break;
        std::error_code unknown;
        if (exclusions_.leave_out(top, entry->path(), entry->is_directory(unknown))) ++excluded_count_;
        else take_entry(*entry, below);
      }
      if (failure)
        files_.push_back(not_scanned(folder.string(), Code::io_error, concat("cannot list the whole folder: ", failure.message())));
      std::ranges::sort(below, std::greater<>());
      folders.insert(folders.end(), below.begin(), below.end());
    }
    std::ranges::stable_sort(files_, [](const Found& a, const Found& b) { return natural_less(a.path, b.path); });
  }

  void take_entry(const fs::directory_entry& entry, std::vector<fs::path>& below) {
    std::error_code failure;
    const fs::file_status status = entry.status(failure);  // of what a link points to
    const std::string path = entry.path().string();
    if (fs::is_directory(status)) {
      // Links to folders may lead anywhere and around.
      if (entry.is_symlink(failure)) files_.push_back(not_scanned(path, Code::unsupported, "a link to a folder, which is not followed"));
      else if (entry.path().filename() == ".git") left_out_.push_back(path);
      else below.push_back(entry.path());
    } else if (fs::is_regular_file(status)) {
      files_.push_back({path});
    } else if (!fs::exists(status)) {
      files_.push_back(not_scanned(path, Code::dangling_link, "a link to nothing"));
    } else {
      files_.push_back(not_scanned(path, Code::not_seekable, "neither a file nor a folder"));
    }
  }

  std::vector<Found> files_;
  std::vector<std::string> left_out_;
  Exclusions& exclusions_;
  std::uint64_t excluded_count_ = 0;
};

ScannedFile scan_one(Found found, MapMode mode, const scan::Options& options) {
  ScannedFile file{.path = std::move(found.path), .report = {}, .error = {}};
  const auto scan = [&]() -> Result<void> {
    if (found.reason) return fail(std::move(*found.reason));
    if (interrupted()) return fail(Code::io_error, "not scanned: interrupted");
    ASSAY_TRY(const auto source, open_file(file.path, mode));
    ASSAY_TRY(file.report, scan::scan_file(*source, file.path, options));
    return source->check_unchanged();
  };
  if (auto done = scan(); !done) {
    file.error = std::move(done).error();
    file.report.status = scan::Status::incomplete;
  }
  return file;
}

/// Scans several at once and hands them over one after the other, in their order: what is not kept then takes no memory.
void scan_all(Context& context, std::vector<Found>& files, const std::function<void(ScannedFile&&)>& take) {
  const MapMode mode = context.options.has("--no-mmap") ? MapMode::never : MapMode::automatic;
  const scan::Options options{.limits = {}, .allowed = context.options.texts("--allow")};
  Progress progress(!context.quiet);
  std::vector<std::unique_ptr<ScannedFile>> scanned(files.size());
  in_order(
      files.size(), thread_count(static_cast<std::size_t>(context.options.number("--threads", 0))),
      [&](std::size_t i) { scanned[i] = std::make_unique<ScannedFile>(scan_one(std::move(files[i]), mode, options)); },
      [&](std::size_t i) {
        take(std::move(*std::exchange(scanned[i], nullptr)));
        progress.show([&] { return concat("scanning ", i + 1, '/', files.size(), " files"); });
        return true;
      },
      [] {});
}

/// Findings of all files for the document's own list, each with its file.
void gather(Findings& all, const std::vector<ScannedFile>& files, bool several) {
  for (const ScannedFile& file : files) {
    for (Finding finding : file.report.findings.list()) {
      if (several) finding.where.file = file.path;
      all.add(std::move(finding));
    }
    if (!file.error || !several) continue;
    Finding finding = Finding::from(*file.error);
    finding.where.file = file.path;
    all.add(std::move(finding));
  }
}

/// Flags that did nothing are told at once, and in the document.
void tell_flags(Context& context, Answer& answer, const Exclusions& exclusions, const AllowedNames& allowed) {
  if (interrupted()) return;
  std::vector<Finding> warnings = exclusions.without_effect();
  std::ranges::move(allowed.without_effect(), std::back_inserter(warnings));
  context.out.flush();
  report::Writer talk;
  for (const Finding& warning : warnings) report::write_finding_line(talk, context.talk_style, answer.naming(), warning);
  if (!context.quiet) write_stderr(talk.text());
  for (Finding& warning : warnings) answer.findings().add(std::move(warning));
}

/// The report without all else.
scan::Report findings_of(scan::Report report) {
  scan::Report lean;
  lean.findings = std::move(report.findings);
  return lean;
}

void note_left_out(Findings& findings, const Collector& collector) {
  const auto note = [&](std::string what, std::string file) {
    Finding finding(Code::unsupported, std::move(what), {.file = std::move(file)});
    finding.severity = Severity::note;
    findings.add(std::move(finding));
  };
  for (const std::string& folder : collector.left_out())
    note("git's own folder, which is not looked into; name it to have it scanned", folder);
  if (collector.excluded() > 0)
    note(concat(counted(collector.excluded(), "file or folder was", "files and folders were"), " left out by --exclude"), "");
}

void write_document(report::JsonWriter& json, const report::ScanSummary& summary, const std::vector<ScannedFile>& files, bool several) {
  if (!several) return report::write_scan_keys(json, files[0].report);
  report::write_verdict(json, summary.verdict, summary.unread);
  json.key("status").text(scan::status_name(summary.status));
  json.key("files").begin_array();
  for (const ScannedFile& file : files) report::write_scanned_file(json, file);
  json.end_array();
}

void write_list(report::Writer& out, const report::ScanList& list, const Collector& collector) {
  list.write(out);
  for (const std::string& folder : collector.left_out()) out.put(concat("not looked into: ", escape(folder), '\n'));
  if (collector.excluded() > 0) out.put(concat("left out by --exclude: ", collector.excluded(), '\n'));
}

}  // namespace

int run_scan(Context& context) {
  Answer answer(context);
  if (context.options.has("--sarif") && context.mode != Mode::text)
    return answer.fail(Error(Code::usage, "--sarif is a document of its own: give it without --json and --ndjson"));
  Exclusions exclusions(context.options.texts("--exclude"));
  AllowedNames allowed(context.options.texts("--allow"));
  Collector collector(exclusions);
  for (const std::string& word : context.options.words()) collector.take(word);
  std::vector<Found> found = collector.files();
  if (found.empty())
    return answer.fail(Error(Code::no_such_file, concat("there are no files in '", escape(context.options.word(0)), '\'',
                                                        collector.excluded() > 0 ? " but what --exclude leaves out" : "")));
  std::error_code failure;
  const bool several = context.options.words().size() != 1 || found.size() != 1 || fs::is_directory(context.options.word(0), failure);
  const bool sarif = context.options.has("--sarif"), ndjson = context.mode == Mode::ndjson;
  const bool listed =
      context.mode == Mode::text && !sarif && (found.size() != 1 || !collector.left_out().empty() || collector.excluded() > 0);
  note_left_out(answer.findings(), collector);
  answer.findings_are_shown();

  report::ScanSummary summary;
  report::ScanList list(context.style, context.verbose);
  std::vector<ScannedFile> kept;  // where the answer begins with what only the end tells
  scan_all(context, found, [&](ScannedFile&& file) {
    summary.add(file);
    allowed.take(file.report);
    if (listed) return list.add(file);
    if (ndjson) {
      report::JsonWriter line(context.out);
      return report::write_scanned_file(line, file);
    }
    if (sarif) file.report = findings_of(std::move(file.report));
    kept.push_back(std::move(file));
  });
  gather(answer.findings(), kept, several);
  if (summary.status != scan::Status::complete) answer.is_incomplete();
  tell_flags(context, answer, exclusions, allowed);
  if (sarif) {
    report::write_sarif(context.out, kept);
  } else if (listed) {
    write_list(context.out, list, collector);
  } else if (!ndjson) {
    if (!several && kept[0].error) return answer.fail(*kept[0].error);
    if (report::JsonWriter* json = answer.json()) write_document(*json, summary, kept, several);
    else report::write_scan_screen(context.out, context.style, kept[0], context.verbose ? ~std::size_t{0} : kMostFindings);
  }
  const int code = answer.done();
  if (code == kInterrupted || summary.verdict == scan::Verdict::clean) return code;
  return kNo;
}

}  // namespace assay::cli
