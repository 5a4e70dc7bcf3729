// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "base/text.hpp"
#include "bytes/sigbus_native.hpp"
#include "cli/parallel.hpp"
#include "cli/run.hpp"
#include "report/scan_report.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using report::ScannedFile;

constexpr std::size_t kMostFindings = 10;  // of one file in text, without -v
constexpr std::size_t kMostFolders = 100'000;

ScannedFile not_scanned(std::string path, Code code, std::string what) {
  ScannedFile file{.path = std::move(path), .report = {}, .error = Error(code, std::move(what))};
  return file;
}

/// The files to scan, those below folders in name order. What cannot be looked at is in the list with its reason.
class Collector {
 public:
  explicit Collector(std::vector<std::string> excluded) : excluded_(std::move(excluded)) {}
  void take(const std::string& word) {
    std::error_code failure;
    const fs::file_status status = fs::status(word, failure);
    if (fs::is_directory(status)) return walk(word);
    files_.push_back({.path = word, .report = {}, .error = {}});
  }
  std::vector<ScannedFile> files() { return std::move(files_); }
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
        if (is_excluded(top, entry->path())) ++excluded_count_;
        else take_entry(*entry, below);
      }
      if (failure)
        files_.push_back(not_scanned(folder.string(), Code::io_error, concat("cannot list the whole folder: ", failure.message())));
      std::ranges::sort(below, std::greater<>());
      folders.insert(folders.end(), below.begin(), below.end());
    }
    std::ranges::stable_sort(files_, [](const ScannedFile& a, const ScannedFile& b) { return natural_less(a.path, b.path); });
  }

  /// By its own name, or by its path below the folder that was named.
  bool is_excluded(const fs::path& top, const fs::path& path) const {
    if (excluded_.empty()) return false;
    const std::string name = path.filename().string(), below = path.lexically_relative(top).generic_string();
    return std::ranges::any_of(excluded_, [&](const std::string& glob) { return glob_match(glob, name) || glob_match(glob, below); });
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
      files_.push_back({.path = path, .report = {}, .error = {}});
    } else if (!fs::exists(status)) {
      files_.push_back(not_scanned(path, Code::dangling_link, "a link to nothing"));
    } else {
      files_.push_back(not_scanned(path, Code::not_seekable, "neither a file nor a folder"));
    }
  }

  std::vector<ScannedFile> files_;
  std::vector<std::string> left_out_;
  std::vector<std::string> excluded_;
  std::uint64_t excluded_count_ = 0;
};

void scan_one(ScannedFile& file, MapMode mode, const scan::Options& options) {
  if (file.error) return;
  auto source = open_file(file.path, mode);
  if (!source) {
    file.error = std::move(source).error();
    return;
  }
  auto report = scan::scan_file(**source, file.path, options);
  if (!report) {
    file.error = std::move(report).error();
    return;
  }
  file.report = *std::move(report);
  if (auto same = (*source)->check_unchanged(); !same) file.error = std::move(same).error();
}

void scan_all(Context& context, std::vector<ScannedFile>& files, const scan::Options& options) {
  const MapMode mode = context.options.has("--no-mmap") ? MapMode::never : MapMode::automatic;
  std::atomic<std::size_t> next = 0, done = 0;
  const auto work = [&](Progress* progress) {
    for (std::size_t i; (i = next++) < files.size() && !interrupted();) {
      scan_one(files[i], mode, options);
      ++done;
      if (progress != nullptr) progress->show([&] { return concat("scanning ", done.load(), '/', files.size(), " files"); });
    }
  };
  Progress progress(!context.quiet);
  const std::size_t most = thread_count(static_cast<std::size_t>(context.options.number("--threads", 0)));
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min(most, files.size()); ++i) threads.emplace_back([&] { work(nullptr); });
  work(&progress);
  threads.clear();
  for (std::size_t i = 0; interrupted() && i < files.size(); ++i)
    if (!files[i].error && files[i].report.members.empty()) files[i].error = Error(Code::io_error, "not scanned: interrupted");
  for (ScannedFile& file : files)
    if (file.error) file.report.status = scan::Status::incomplete;
}

void write_text(Context& context, const std::vector<ScannedFile>& files, const std::vector<std::string>& left_out, std::uint64_t excluded) {
  if (files.size() == 1 && left_out.empty() && excluded == 0)
    return report::write_scan_screen(context.out, context.style, files[0], context.verbose ? ~std::size_t{0} : kMostFindings);
  report::write_scan_list(context.out, context.style, files, context.verbose);
  for (const std::string& folder : left_out) context.out.put(concat("not looked into: ", escape(folder), '\n'));
  if (excluded > 0) context.out.put(concat("left out by --exclude: ", excluded, '\n'));
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

}  // namespace

int run_scan(Context& context) {
  Answer answer(context);
  Collector collector(context.options.texts("--exclude"));
  for (const std::string& word : context.options.words()) collector.take(word);
  std::vector<ScannedFile> files = collector.files();
  if (files.empty())
    return answer.fail(Error(Code::no_such_file, concat("there are no files in '", escape(context.options.word(0)), '\'')));
  std::error_code failure;
  const bool several = context.options.words().size() != 1 || files.size() != 1 || fs::is_directory(context.options.word(0), failure);
  const scan::Options options{.limits = {}, .allowed = context.options.texts("--allow")};
  scan_all(context, files, options);
  const report::ScanSummary summary = report::summarize(files);

  for (const std::string& folder : collector.left_out()) {
    Finding note(Code::unsupported, "git's own folder, which is not looked into; name it to have it scanned", {.file = folder});
    note.severity = Severity::note;
    answer.findings().add(std::move(note));
  }
  if (collector.excluded() > 0) {
    Finding note(Code::unsupported,
                 concat(counted(collector.excluded(), "file or folder was", "files and folders were"), " left out by --exclude"));
    note.severity = Severity::note;
    answer.findings().add(std::move(note));
  }
  answer.findings_are_shown();
  gather(answer.findings(), files, several);
  if (summary.status != scan::Status::complete) answer.is_incomplete();
  if (context.options.has("--sarif")) {
    report::write_sarif(context.out, files);
  } else if (report::JsonWriter* json = answer.json()) {
    if (!several && files[0].error) return answer.fail(*files[0].error);
    if (!several) {
      report::write_scan_keys(*json, files[0].report);
    } else {
      json->key("verdict").text(scan::verdict_name(summary.verdict));
      json->key("status").text(scan::status_name(summary.status));
      json->key("files").begin_array();
      for (const ScannedFile& file : files) report::write_scanned_file(*json, file);
      json->end_array();
    }
  } else if (context.mode == Mode::ndjson) {
    for (const ScannedFile& file : files) {
      report::JsonWriter line(context.out);
      report::write_scanned_file(line, file);
    }
  } else {
    if (!several && files[0].error) return answer.fail(*files[0].error);
    write_text(context, files, collector.left_out(), collector.excluded());
  }
  const int code = answer.done();
  if (code == kInterrupted || summary.verdict == scan::Verdict::clean) return code;
  return kNo;
}

}  // namespace assay::cli
