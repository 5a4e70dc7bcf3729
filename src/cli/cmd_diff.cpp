// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <charconv>
#include <cmath>
#include <map>
#include <numeric>

#include "analysis/diff.hpp"
#include "analysis/match.hpp"
#include "analysis/moved.hpp"
#include "analysis/scales_beside.hpp"
#include "analysis/select.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cli/choose.hpp"
#include "cli/draw_heatmap.hpp"
#include "cli/parallel.hpp"
#include "cli/run.hpp"
#include "report/diff_report.hpp"
#include "report/units.hpp"

namespace assay::cli {
namespace {

/// One of the two files, and how messages call it.
struct Side {
  std::unique_ptr<FileSet> files;
  report::Naming naming;
  Checkpoint checkpoint;
};

/// Fails with an error that names the file as the user did.
Result<Side> open_side(const Context& context, const std::string& path) {
  auto files = open_path(path, context.options.has("--no-mmap") ? MapMode::never : MapMode::automatic);
  if (!files) return fail(std::move(files).error().in_file(path));
  const report::Naming naming{(*files)->label(), (*files)->primary()};
  auto checkpoint = assay::open(**files, limits_of(context.options));
  if (!checkpoint) return fail(std::move(checkpoint).error().in_file(path));
  return Side{*std::move(files), naming, *std::move(checkpoint)};
}

Finding named(const Side& side, Finding finding) {
  finding.where.file = finding.where.file.empty() ? side.naming.label : side.naming.path_of(finding.where.file);
  return finding;
}

/// For every file of A the file of B that is the same one on disk.
std::vector<std::uint32_t> same_files(const Side& a, const Side& b) {
  std::map<std::pair<dev_t, ino_t>, std::uint32_t> known;
  struct stat status = {};
  for (std::uint32_t i = 0; i < b.checkpoint.files.size(); ++i)
    if (stat(b.naming.path_of(b.checkpoint.files[i].name).c_str(), &status) == 0) known.try_emplace({status.st_dev, status.st_ino}, i);
  std::vector<std::uint32_t> same(a.checkpoint.files.size(), kNone);
  for (std::uint32_t i = 0; i < same.size(); ++i) {
    if (stat(a.naming.path_of(a.checkpoint.files[i].name).c_str(), &status) != 0) continue;
    if (const auto found = known.find({status.st_dev, status.st_ino}); found != known.end()) same[i] = found->second;
  }
  return same;
}

std::optional<double> tolerance_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

Result<analysis::DiffOptions> diff_options(const Options& given) {
  analysis::DiffOptions options;
  options.values = !given.has("--names");
  options.reshape = given.has("--reshape");
  if (given.has("--rank")) options.rank = analysis::DiffOptions::Rank::all_matrices;
  options.stop = interrupted;
  if (!given.has("--tolerance")) return options;
  const std::string text = given.text("--tolerance");
  const std::size_t comma = text.find(',');
  const auto absolute = tolerance_of(std::string_view(text).substr(0, comma));
  const auto relative = comma == std::string::npos ? std::optional(0.0) : tolerance_of(std::string_view(text).substr(comma + 1));
  if (!absolute || !relative)
    return fail(std::move(Error(Code::usage, concat("--tolerance needs a number, or two with a comma, not ", quote(text))))
                    .advise("as in --tolerance 1e-6 or --tolerance 1e-6,0.01"));
  options.tolerant = true;
  options.absolute = *absolute;
  options.relative = *relative;
  return options;
}

/// Which tensors the patterns and the filter choose; all of them where there is neither.
Result<std::vector<bool>> chosen_of(const Checkpoint& checkpoint, const analysis::Filter& filter, const std::vector<std::string>& patterns,
                                    std::vector<bool>& pattern_used) {
  std::vector<std::uint32_t> all(checkpoint.tensors.size());
  std::iota(all.begin(), all.end(), 0u);
  const analysis::Selection selection = analysis::select(checkpoint, all, patterns, filter);
  std::vector<bool> chosen(all.size());
  for (const std::uint32_t t : selection.tensors) chosen[t] = true;
  for (std::size_t i = 0; i < patterns.size(); ++i)
    if (std::ranges::find(selection.unmatched, patterns[i]) == selection.unmatched.end()) pattern_used[i] = true;
  return chosen;
}

/// Keeps the pairs of which either side is chosen, and the chosen ones of the rest.
Result<void> narrow(const Context& context, const Side& a, const Side& b, analysis::Matching& matching) {
  ASSAY_TRY(const analysis::Filter filter, analysis::Filter::parse(context.options.text("--where")));
  const std::vector<std::string> patterns = context.options.words_from(2);
  std::vector<bool> used(patterns.size());
  ASSAY_TRY(const std::vector<bool> in_a, chosen_of(a.checkpoint, filter, patterns, used));
  ASSAY_TRY(const std::vector<bool> in_b, chosen_of(b.checkpoint, filter, patterns, used));
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i]) return fail(analysis::no_such_tensor(a.checkpoint, patterns[i]));
  if (context.options.has("--where") && std::ranges::count(in_a, true) + std::ranges::count(in_b, true) == 0)
    return fail(nothing_matches(a.checkpoint, context.options.text("--where"), !patterns.empty()));
  std::erase_if(matching.pairs, [&](const analysis::TensorPair& pair) { return !in_a[pair.a] && !in_b[pair.b]; });
  std::erase_if(matching.only_a, [&](std::uint32_t t) { return !in_a[t]; });
  std::erase_if(matching.only_b, [&](std::uint32_t t) { return !in_b[t]; });
  return {};
}

/// Pairs what names left over by the bytes.
void match_content(Progress& progress, std::size_t threads, const Side& a, const Side& b, analysis::Matching& matching) {
  const analysis::ContentCandidates candidates = analysis::content_candidates(matching, a.checkpoint, b.checkpoint);
  const std::size_t n_a = candidates.a.size(), n = n_a + candidates.b.size();
  std::vector<std::optional<analysis::ContentHash>> hashes(n);
  in_parallel_until_interrupted(
      n, threads,
      [&](std::size_t i) {
        const Checkpoint& checkpoint = i < n_a ? a.checkpoint : b.checkpoint;
        auto hash = analysis::content_hash(checkpoint, checkpoint.tensors[i < n_a ? candidates.a[i] : candidates.b[i - n_a]]);
        if (hash) hashes[i] = *hash;  // what cannot be read stays unmatched
      },
      [&](std::size_t done) { progress.show([&] { return concat("looking for tensors of other names, ", done, " of ", n); }); });
  analysis::match_by_content(matching, candidates, std::span(hashes).first(n_a), std::span(hashes).subspan(n_a));
}

void compare_all(Answer& answer, Progress& progress, std::size_t threads, const Side& a, const Side& b, report::DiffReport& report) {
  auto& rows = report.rows;
  std::vector<std::optional<Error>> errors(rows.size());
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The largest first: the last to be done is then a small one.
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return a.checkpoint.tensors[rows[i].pair.a].nbytes(); });
  in_parallel_until_interrupted(
      order.size(), threads,
      [&](std::size_t i) {
        report::DiffRow& row = rows[order[i]];
        const Tensor& x = a.checkpoint.tensors[row.pair.a];
        const Tensor& y = b.checkpoint.tensors[row.pair.b];
        auto difference = analysis::compare_tensors(a.checkpoint, x, b.checkpoint, y, report.options);
        if (difference) {
          row.difference = *std::move(difference);
          return;
        }
        row.failed = true;
        errors[order[i]] = std::move(difference).error();
        auto structure = report.options;
        structure.values = false;
        if (auto shapes = analysis::compare_tensors(a.checkpoint, x, b.checkpoint, y, structure)) row.difference = *std::move(shapes);
      },
      [&](std::size_t done) { progress.show([&] { return concat("comparing ", done, " of ", rows.size(), " tensors"); }); });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!errors[i]) continue;
    answer.is_incomplete();
    const Tensor& x = a.checkpoint.tensors[rows[i].pair.a];
    const Tensor& y = b.checkpoint.tensors[rows[i].pair.b];
    // The finding that made a tensor unreadable is there already.
    if (!x.readable || !y.readable) continue;
    const bool of_b = x.name != y.name && errors[i]->where().tensor == y.name;
    answer.findings().add(named(of_b ? b : a, Finding::from(*errors[i])));
  }
}

/// Codes of one side that have scales beside them are compared as numbers.
void apply_scales(Side& a, Side& b, const analysis::Matching& matching) {
  const analysis::ScalesBeside scales_a(a.checkpoint), scales_b(b.checkpoint);
  std::vector<std::uint32_t> of_a, of_b;
  for (const analysis::TensorPair& pair : matching.pairs) {
    const bool in_a = scales_a.of(a.checkpoint.tensors[pair.a]) != nullptr;
    const bool in_b = scales_b.of(b.checkpoint.tensors[pair.b]) != nullptr;
    if (in_a && !in_b) of_a.push_back(pair.a);
    if (in_b && !in_a) of_b.push_back(pair.b);
  }
  analysis::apply_scales_beside(a.checkpoint, scales_a, of_a);
  analysis::apply_scales_beside(b.checkpoint, scales_b, of_b);
}

/// Where what took the place of a tensor came from.
void find_moved(const Side& a, const Side& b, report::DiffReport& report) {
  std::vector<analysis::TensorPair> pairs;
  std::vector<bool> lost;
  for (const report::DiffRow& row : report.rows) {
    pairs.push_back(row.pair);
    lost.push_back(row.difference.keeps_nothing());
  }
  const std::vector<std::uint32_t> like = analysis::find_moved(a.checkpoint, b.checkpoint, pairs, lost);
  for (std::size_t i = 0; i < like.size(); ++i) report.rows[i].like = like[i];
}

/// The pair that the name is one side of.
const analysis::TensorPair* pair_named(const Side& a, const Side& b, const analysis::Matching& matching, std::string_view name) {
  for (const analysis::TensorPair& pair : matching.pairs)
    if (a.checkpoint.tensors[pair.a].name == name || b.checkpoint.tensors[pair.b].name == name) return &pair;
  return nullptr;
}

/// --heatmap: B - A of one pair of tensors.
int draw_difference(Context& context, Answer& answer, const Side& a, const Side& b, const analysis::Matching& matching) {
  const std::string name = context.options.text("--heatmap");
  const analysis::TensorPair* pair = pair_named(a, b, matching, name);
  if (pair == nullptr) {
    const bool there = a.checkpoint.find(name) != nullptr || b.checkpoint.find(name) != nullptr;
    return answer.fail(there ? Error(Code::no_such_tensor, concat(quote(name), " is in one of the files only"))
                             : analysis::no_such_tensor(a.checkpoint, name));
  }
  const Tensor& x = a.checkpoint.tensors[pair->a];
  const Tensor& y = b.checkpoint.tensors[pair->b];
  const PictureTarget target = picture_target(context);
  const auto request = heatmap_request(context, target, y, "");
  if (!request) return answer.fail(request.error());
  auto job = analysis::HeatmapJob::make_difference(a.checkpoint, x, b.checkpoint, y, *request);
  if (!job) return answer.fail(job.error());
  report::JsonWriter* json = answer.json();
  if (json != nullptr) {
    json->key("name_a").text(x.name);
    json->key("name_b").text(y.name);
    json->key("heatmap").begin_object();
  }
  const std::string dtypes =
      x.dtype == y.dtype ? std::string(dtype_name(y.dtype)) : concat(dtype_name(x.dtype), " to ", dtype_name(y.dtype));
  const auto drawn = draw_heatmap(context, json, target, *job,
                                  {.title = report::shown_name(context.style, y.name),
                                   .about = concat("change from A to B, ", dtypes, " ", report::shape_text(context.style, y.shape)),
                                   .shell = "",
                                   .change = true});
  if (json != nullptr) json->end_object();
  if (!drawn) return answer.fail(drawn.error());
  const analysis::Heatmap map = job->finish();
  const int code = answer.done();
  return code == kFine && (map.absmax > 0 || map.nan + map.inf > 0) ? kNo : code;
}

}  // namespace

int run_diff(Context& context) {
  Answer answer(context);
  answer.files_are_named();
  auto options = diff_options(context.options);
  if (!options) return answer.fail(options.error());
  auto a = open_side(context, context.options.word(0));
  if (!a) return answer.fail(a.error());
  auto b = open_side(context, context.options.word(1));
  if (!b) return answer.fail(b.error());
  for (const Side* side : {&*a, &*b}) {
    if (side == &*b && context.options.word(0) == context.options.word(1)) continue;  // the same findings once more
    for (const Finding& finding : side->checkpoint.findings.list()) answer.findings().add(named(*side, finding));
    if (!side->checkpoint.complete) answer.is_incomplete();
  }

  const std::vector<std::uint32_t> same = same_files(*a, *b);
  options->same_file = same;
  const std::size_t threads = thread_count(static_cast<std::size_t>(context.options.number("--threads", 0)));
  Progress progress(!context.quiet);
  analysis::Matching matching = analysis::match_names(a->checkpoint, b->checkpoint);
  if (context.options.has("--heatmap")) return draw_difference(context, answer, *a, *b, matching);
  if (options->values) match_content(progress, threads, *a, *b, matching);
  if (auto narrowed = narrow(context, *a, *b, matching); !narrowed) return answer.fail(narrowed.error());

  report::DiffReport report{.a = &a->checkpoint,
                            .b = &b->checkpoint,
                            .path_a = context.options.word(0),
                            .path_b = context.options.word(1),
                            .options = *options,
                            .rows = {},
                            .only_a = matching.only_a,
                            .only_b = matching.only_b,
                            .changed = {},
                            .layers = {},
                            .by = {}};
  if (options->values) apply_scales(*a, *b, matching);
  for (const analysis::TensorPair& pair : matching.pairs) report.rows.push_back({pair, {}});
  compare_all(answer, progress, threads, *a, *b, report);
  find_moved(*a, *b, report);
  progress.clear();
  const std::string by = context.options.text("--by", "rel");
  report::finish_report(report, by);

  constexpr std::uint64_t kShown = 20;
  if (report::JsonWriter* json = answer.json()) {
    if (const std::uint64_t top = context.options.number("--top", 0); top > 0 && top < report.changed.size())
      report.changed.resize(static_cast<std::size_t>(top));
    report::write_diff_keys(*json, report);
  } else if (context.mode == Mode::ndjson) {
    for (const std::uint32_t i : report.changed) {
      report::JsonWriter line(context.out);
      report::write_changed_row(line, report, report.rows[i]);
    }
  } else {
    report::write_diff_screen(context.out, context.style, report, static_cast<std::size_t>(context.options.number("--top", kShown)));
  }
  const bool different = report.different();
  const int code = answer.done();
  return code == kFine && different ? kNo : code;
}

}  // namespace assay::cli
