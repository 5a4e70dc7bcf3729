// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "analysis/verify/verify.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cli/parallel.hpp"
#include "cli/run.hpp"
#include "cli/sha256.hpp"
#include "report/messages.hpp"
#include "report/units.hpp"
#include "report/verify_report.hpp"

namespace assay::cli {
namespace {

using analysis::Check;
using analysis::CheckVerdict;
using analysis::Expected;
using analysis::Pass;

constexpr std::uint64_t kLongestList = std::uint64_t{64} << 20;  // of digests

Result<std::string> read_text(const std::string& path) {
  ASSAY_TRY(const auto source, open_file(path, MapMode::never));
  if (source->size() > kLongestList) return fail(Code::limit_exceeded, concat("a list of digests of ", source->size(), " bytes"));
  ASSAY_TRY(const ByteBlock bytes, source->fetch(0, source->size()));
  return std::string(bytes.view().text());
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// The digest in a file's own name, or in that of what it links to: Hugging Face's cache calls its blobs so.
std::optional<Expected> from_name(std::uint32_t file, const std::string& path) {
  if (analysis::is_sha256(last_part(path))) return Expected{file, lowered(last_part(path)), "its name", {}};
  std::error_code failure;
  const std::string target = std::filesystem::read_symlink(path, failure).string();
  if (failure || !analysis::is_sha256(last_part(target))) return std::nullopt;
  return Expected{file, lowered(last_part(target)), "the blob that it links to", {}};
}

/// Digests that are asked for and those that file names hold. `missing` gets a check for each file that a list does not name.
class Wanted {
 public:
  Wanted(const Context& context, std::vector<std::string> names, const report::Naming& naming)
      : context_(context), names_(std::move(names)), naming_(naming) {}

  Result<void> collect() {
    for (std::uint32_t i = 0; i < names_.size(); ++i)
      if (auto named = from_name(i, naming_.path_of(names_[i]))) expected.push_back(*std::move(named));
    const Options& options = context_.options;
    if (options.has("--sha256") || options.has("--lfs")) {
      // Of a set, the file that was named.
      const auto named = std::ranges::find(names_, naming_.primary);
      if (names_.size() != 1 && named == names_.end())
        return fail(
            Error(Code::usage, concat("one digest, but ", names_.size(), " files")).advise("name one of them, or give a list with --sums"));
      ASSAY_CHECK(collect_one(names_.size() == 1 ? 0 : static_cast<std::uint32_t>(named - names_.begin())));
    }
    return options.has("--sums") ? collect_sums(options.text("--sums")) : Result<void>();
  }

  std::vector<Expected> expected;
  std::vector<Check> missing;

 private:
  Result<void> collect_one(std::uint32_t file) {
    const Options& options = context_.options;
    if (options.has("--sha256")) {
      const std::string digest = lowered(options.text("--sha256"));
      if (!analysis::is_sha256(digest))
        return fail(Error(Code::usage, concat("--sha256 needs 64 hexadecimal digits, not ", quote(digest, 80))));
      expected.push_back({file, digest, "--sha256", {}});
    }
    if (!options.has("--lfs")) return {};
    const std::string path = options.text("--lfs");
    ASSAY_TRY(const std::string text, read_text(path));
    auto pointer = analysis::read_lfs_pointer(text);
    if (!pointer) return fail(std::move(pointer).error().in_file(path));
    pointer->file = file;
    pointer->from = concat("the pointer ", quote(path));
    expected.push_back(*std::move(pointer));
    return {};
  }
  Result<void> collect_sums(const std::string& path) {
    ASSAY_TRY(const std::string text, read_text(path));
    const std::vector<analysis::Sum> sums = analysis::read_sums(text);
    if (sums.empty()) return fail(Error(Code::bad_header, "no line of it is a SHA-256 digest and a name").in_file(path));
    for (std::uint32_t i = 0; i < names_.size(); ++i) {
      auto found = std::ranges::find(sums, names_[i], &analysis::Sum::name);
      if (found == sums.end())
        found = std::ranges::find_if(sums, [&](const analysis::Sum& sum) { return last_part(sum.name) == last_part(names_[i]); });
      if (found != sums.end()) expected.push_back({i, found->sha256, path, {}});
      else missing.push_back({.name = "sha256", .verdict = CheckVerdict::skip, .detail = concat(quote(names_[i]), " is not in ", path)});
    }
    return {};
  }

  const Context& context_;
  std::vector<std::string> names_;
  const report::Naming& naming_;
};

/// Runs a pass on several threads. In each round a few blocks of a few files are read, then checked, and hashed beside in their order.
class Runner {
 public:
  Runner(const Context& context, Pass& pass, const std::vector<bool>& hashed)
      : pass_(pass), threads_(thread_count(static_cast<std::size_t>(context.options.number("--threads", 0)))), progress_(!context.quiet),
        hashes_(hashed.size()) {
    for (std::size_t i = 0; i < hashed.size(); ++i)
      if (hashed[i]) hashes_[i].emplace();
  }

  Result<void> run() {
    make_lanes();
    while (!lanes_.empty() && !interrupted()) ASSAY_CHECK(round());
    in_parallel_until_interrupted(
        pass_.jobs(), threads_, [&](std::size_t job) { static_cast<void>(pass_.run_job(job)); }, [&](std::size_t) { show(); });
    return {};
  }
  std::string digest(std::size_t file) { return hashes_[file]->finish(); }

 private:
  static constexpr std::size_t kBlocksPerThread = 8;
  struct Lane {  // the blocks of one file that are left
    std::size_t next, end;
  };
  struct Item {
    std::size_t block;
    Result<ByteBlock> bytes = ByteBlock();
    Pass::Partials partials = {};
  };

  void make_lanes() {
    const auto& blocks = pass_.blocks();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (i == 0 || blocks[i].file != blocks[i - 1].file) lanes_.push_back({i, i});
      lanes_.back().end = i + 1;
    }
  }
  void show() {
    progress_.show(
        [&] { return concat("verifying ", report::bytes_text({}, done_bytes_), " of ", report::bytes_text({}, pass_.bytes())); });
  }

  Result<void> round() {
    const std::size_t active = std::min(lanes_.size(), threads_), each = std::max<std::size_t>(1, threads_ * kBlocksPerThread / active);
    std::vector<Item> items;
    std::vector<std::pair<std::size_t, std::size_t>> of_lane;
    for (std::size_t l = 0; l < active; ++l) {
      const std::size_t first = items.size();
      while (lanes_[l].next < lanes_[l].end && items.size() - first < each) items.push_back({lanes_[l].next++});
      of_lane.emplace_back(first, items.size());
    }
    in_parallel_until_interrupted(
        items.size(), threads_, [&](std::size_t i) { items[i].bytes = pass_.read(items[i].block); }, [](std::size_t) {});
    for (Item& item : items)
      if (!item.bytes) return fail(std::move(item.bytes).error());
    // Hashing is what takes longest, so it begins first.
    const auto work = [&](std::size_t i) {
      if (i < active) return hash(items, of_lane[i].first, of_lane[i].second);
      Item& item = items[i - active];
      item.partials = pass_.check(item.block, item.bytes->view());
    };
    in_parallel_until_interrupted(active + items.size(), threads_, work, [&](std::size_t) { show(); });
    if (interrupted()) return {};
    for (const Item& item : items) {
      pass_.fold(item.partials);
      done_bytes_ += pass_.blocks()[item.block].length;
    }
    std::erase_if(lanes_, [](const Lane& lane) { return lane.next == lane.end; });
    return {};
  }
  void hash(const std::vector<Item>& items, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      const Pass::Block& block = pass_.blocks()[items[i].block];
      if (hashes_[block.file]) hashes_[block.file]->add(items[i].bytes->view().slice(0, static_cast<std::size_t>(block.length)).span());
    }
  }

  Pass& pass_;
  std::size_t threads_;
  Progress progress_;
  std::uint64_t done_bytes_ = 0;
  std::vector<Lane> lanes_;
  std::vector<std::optional<Sha256>> hashes_;
};

void append(std::vector<Check>& checks, std::vector<Check> more) { std::ranges::move(more, std::back_inserter(checks)); }

/// Hands the pass over when it has run to its end.
Result<void> verify(Context& context, Answer& answer, Checkpoint& checkpoint, std::vector<Check>& checks, std::optional<Pass>& finished) {
  std::vector<std::string> names;
  for (const CheckpointFile& file : checkpoint.files) names.push_back(file.name);
  Wanted wanted(context, std::move(names), answer.naming());
  ASSAY_CHECK(wanted.collect());

  ASSAY_TRY(const auto maps, model::map_bytes(answer.files(), checkpoint));
  ASSAY_TRY(const auto config, analysis::read_model_config(answer.files(), checkpoint, checkpoint.findings));
  Findings found;
  ASSAY_TRY(auto headers, analysis::check_headers(checkpoint, maps, config, found));
  append(checks, std::move(headers));

  const bool values = context.options.has("--values");
  analysis::PassOptions options{.values = values};
  options.whole.resize(checkpoint.files.size(), false);
  for (const Expected& expected : wanted.expected) options.whole[expected.file] = true;
  const std::vector<bool> hashed = options.whole;
  ASSAY_TRY(Pass pass, Pass::plan(checkpoint, std::move(options)));
  Runner runner(context, pass, hashed);
  ASSAY_CHECK(runner.run());
  if (interrupted()) return {};
  for (const CheckpointFile& file : checkpoint.files) ASSAY_CHECK(file.source->check_unchanged());
  ASSAY_TRY(auto contents, analysis::check_contents(checkpoint, pass, values, found));
  append(checks, std::move(contents));

  std::vector<std::string> digests(checkpoint.files.size());
  for (const Expected& expected : wanted.expected) {
    std::string& digest = digests[expected.file];
    if (digest.empty()) digest = runner.digest(expected.file);
    checks.push_back(
        analysis::check_digest(expected, checkpoint.files[expected.file].name, checkpoint.files[expected.file].source->size(), digest));
  }
  if (!wanted.missing.empty()) answer.is_incomplete();  // asked for, and not answered
  if (wanted.expected.empty() && wanted.missing.empty()) checks.push_back(analysis::no_digest());
  append(checks, std::move(wanted.missing));
  for (const Finding& finding : found.list()) checkpoint.add(finding);
  finished = std::move(pass);
  return {};
}

/// A file that is no checkpoint, or is beyond reading, may still be compared with a digest.
Result<void> verify_unopened(Context& context, Answer& answer, const Error& why, std::vector<Check>& checks) {
  checks.push_back({.name = "structure", .verdict = CheckVerdict::fail, .detail = why.what(), .wrong = {why.what()}});
  const std::string& name = answer.files().primary();
  if (name.empty()) return {};
  Wanted wanted(context, {name}, answer.naming());
  ASSAY_CHECK(wanted.collect());
  append(checks, std::move(wanted.missing));
  if (wanted.expected.empty()) return {};
  Checkpoint bytes;
  ASSAY_TRY(auto source, answer.files().open(name));
  bytes.files.push_back({name, source->size(), source});
  ASSAY_TRY(Pass pass, Pass::plan(bytes, {.whole = {true}}));
  Runner runner(context, pass, {true});
  ASSAY_CHECK(runner.run());
  const std::string digest = runner.digest(0);
  for (const Expected& expected : wanted.expected) checks.push_back(analysis::check_digest(expected, name, source->size(), digest));
  return {};
}

}  // namespace

int run_verify(Context& context) {
  Answer answer(context);
  std::vector<Check> checks;
  std::optional<Pass> pass;
  const auto opened = answer.open();
  if (!opened && !answer.has_files()) return answer.fail(opened.error());
  if (opened) answer.warn_of_imports();
  const auto verified = opened ? verify(context, answer, **opened, checks, pass) : verify_unopened(context, answer, opened.error(), checks);

  if (report::JsonWriter* json = answer.json()) {
    report::write_check_keys(*json, checks);
    if (pass) report::write_member_keys(*json, **opened, pass->members(), true);
  } else if (opened ? verified.has_value() : checks.size() > 1) {  // else the error says it all
    report::write_check_screen(context.out, context.style, checks);
    if (const std::string advice = opened ? report::advice_on_cuts(answer.naming(), **opened) : std::string(); !advice.empty())
      context.out.put(concat(advice, "\n"));
    // No check asks for it, and what is whole is not therefore safe.
    for (const Finding& finding : answer.findings().list())
      if (finding.code == Code::dangerous_import) report::write_finding_line(context.out, context.style, answer.naming(), finding);
    if (opened) answer.findings_are_shown();
  }
  if (!verified) return answer.fail(verified.error());
  if (!opened) return answer.fail(opened.error());
  const bool wrong = std::ranges::any_of(checks, [](const Check& check) { return check.verdict == CheckVerdict::fail; });
  const int code = answer.done();
  return code != kInterrupted && wrong ? kNo : code;
}

}  // namespace assay::cli
