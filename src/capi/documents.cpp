// SPDX-License-Identifier: Apache-2.0
// The JSON documents that the program prints, for hosts that have no program: made by the same writers, so that they cannot differ.
#include <cstring>
#include <numeric>
#include <span>

#include "analysis/cut.hpp"
#include "analysis/doctor/doctor.hpp"
#include "analysis/model_config.hpp"
#include "analysis/moe.hpp"
#include "analysis/scan/told_imports.hpp"
#include "analysis/select.hpp"
#include "analysis/stats_run.hpp"
#include "analysis/summary.hpp"
#include "analysis/tree.hpp"
#include "analysis/verify/verify.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "capi/job.hpp"
#include "formats/write.hpp"
#include "model/byte_map.hpp"
#include "model/synthetic.hpp"
#include "report/doctor_report.hpp"
#include "report/documents.hpp"
#include "report/map_report.hpp"
#include "report/moe_report.hpp"
#include "report/scan_report.hpp"
#include "report/screens.hpp"
#include "report/verify_report.hpp"

using namespace assay;
using namespace assay::capi;

namespace {

using report::JsonWriter;

/// What a document is made from; a writer adds its own keys to `json` and what it finds to `findings`.
struct Job {
  const State& state;
  const Checkpoint& checkpoint;
  std::string_view filter;
  bool sample;
  Watch& watch;
  JsonWriter& json;
  Findings findings;
  bool complete;

  void add(Finding finding) {
    if (finding.severity >= Severity::damage) complete = false;
    findings.add(std::move(finding));
  }
};

std::vector<std::uint32_t> file_order(const Checkpoint& checkpoint) {
  std::vector<std::uint32_t> order(checkpoint.tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

Result<std::vector<std::uint32_t>> chosen(const Checkpoint& checkpoint, std::string_view text, std::span<const std::uint32_t> order) {
  ASSAY_TRY(const analysis::Filter filter, analysis::Filter::parse(text));
  return analysis::select(checkpoint, order, {}, filter).tensors;
}

void warn_of_imports(Job& job) {
  const report::Naming naming{job.state.files->label(), job.state.files->primary()};
  const auto path_of = [&](std::string_view file) { return report::shell_path(naming, file); };
  if (auto warning = scan::warn_of_imports(job.checkpoint, path_of)) job.add(*std::move(warning));
}

Result<void> write_info(Job& job) {
  // The list of names is in what a page loads later: it is not asked for where opening noted no foreign name.
  if (job.findings.has(Code::opaque_object)) warn_of_imports(job);
  std::vector<Finding> tails;
  // A host that would have to fetch the ends of the files gets the answer without them.
  if (analysis::suspect_zero_tails(job.checkpoint, tails))
    for (Finding& finding : tails) job.add(std::move(finding));
  report::write_info_keys(job.json, job.checkpoint, analysis::summarize(job.checkpoint));
  return {};
}

Result<void> write_tensors(Job& job) {
  ASSAY_TRY(const auto rows, chosen(job.checkpoint, job.filter, file_order(job.checkpoint)));
  job.json.key("tensors").begin_array();
  for (const std::uint32_t row : rows) report::write_tensor(job.json, job.checkpoint, job.checkpoint.tensors[row]);
  job.json.end_array();
  return {};
}

void write_outline_of(JsonWriter& json, const Checkpoint& checkpoint) {
  const analysis::Summary summary = analysis::summarize(checkpoint);
  const analysis::NameTree tree(checkpoint.tensors);
  json.key("tree");
  report::write_outline(json, checkpoint, analysis::outline(checkpoint, summary, tree), ~std::size_t{0});
}

Result<void> write_tree(Job& job) {
  ASSAY_TRY(const auto rows, chosen(job.checkpoint, job.filter, file_order(job.checkpoint)));
  if (rows.size() == job.checkpoint.tensors.size()) {
    write_outline_of(job.json, job.checkpoint);
    return {};
  }
  // The chosen tensors on the same storages; their texts live in the whole one.
  Checkpoint part;
  part.files = job.checkpoint.files;
  part.storages = job.checkpoint.storages;
  for (const std::uint32_t row : rows) part.tensors.push_back(job.checkpoint.tensors[row]);
  write_outline_of(job.json, part);
  return {};
}

Work<void> write_stats(Job& job) {
  ASSAY_READ_INTO(const auto rows, chosen(job.checkpoint, job.filter, file_order(job.checkpoint)));
  std::uint64_t all = 0, done = 0;
  for (const std::uint32_t row : rows) all += job.checkpoint.tensors[row].nbytes();
  job.json.key("tensors").begin_array();
  for (const std::uint32_t row : rows) {
    const Tensor& tensor = job.checkpoint.tensors[row];
    analysis::StatsRun run(job.checkpoint, {&tensor}, 1, {.sample = job.sample});
    for (bool more = job.watch.goes_on(done, all); more;) {
      ASSAY_READ_INTO(more, run.advance());
      if (more && run.bytes_done() < run.bytes() && !job.watch.goes_on(std::min(done + run.bytes_done(), all), all)) break;
    }
    if (job.watch.stopped) break;
    auto stats = run.result(0);
    if (!stats && tensor.readable) job.add(Finding::from(std::move(stats).error().of_tensor(tensor.name)));
    report::write_stats(job.json, tensor, stats ? &*stats : nullptr);
    done += tensor.nbytes();
  }
  job.json.end_array();
  co_return {};
}

/// config.json, or what stands for it; adds nothing to the job before it is all there.
Result<analysis::ModelConfig> config_of(Job& job) {
  Findings findings = job.findings;
  auto config = analysis::read_model_config(*job.state.files, job.checkpoint, findings);
  if (config) job.findings = std::move(findings);
  return config;
}

Work<void> write_doctor(Job& job) {
  warn_of_imports(job);
  ASSAY_READ_INTO(const auto config, config_of(job));
  analysis::DoctorOptions options;
  options.sample = job.sample;
  options.watch = [&](std::uint64_t done, std::uint64_t of) { return job.watch.goes_on(done, of); };
  std::vector<Finding> found;
  ASSAY_AWAIT(const analysis::Checkup checkup, analysis::examine_work(job.checkpoint, config, options, found));
  for (Finding& finding : found) job.add(std::move(finding));
  report::write_doctor_keys(job.json, checkup, job.findings);
  co_return {};
}

Result<analysis::Moe> experts_of(Job& job, std::vector<Finding>& found) {
  ASSAY_TRY(const auto config, config_of(job));
  return analysis::find_experts(job.checkpoint, config, found);
}
void tell_experts(Job& job, const analysis::Moe& moe, std::vector<Finding>& found) {
  for (Finding& finding : found) job.add(std::move(finding));
  report::write_moe_keys(job.json, job.checkpoint, moe, nullptr);
}
Work<void> write_moe(Job& job) {
  std::vector<Finding> found;
  ASSAY_READ_INTO(analysis::Moe moe, experts_of(job, found));
  analysis::MoeOptions options;
  options.sample = job.sample;
  options.watch = [&](std::size_t done, std::size_t of) { return job.watch.goes_on(done, of); };
  ASSAY_AWAIT_CHECK(analysis::measure_experts_work(job.checkpoint, moe, options, found));
  tell_experts(job, moe, found);
  co_return {};
}
Result<void> write_moe_structure(Job& job) {
  std::vector<Finding> found;
  ASSAY_TRY(const analysis::Moe moe, experts_of(job, found));
  tell_experts(job, moe, found);
  return {};
}

Result<void> write_map(Job& job) {
  ASSAY_TRY(const auto maps, model::map_bytes(*job.state.files, job.checkpoint));
  report::write_map_keys(job.json, maps);
  return {};
}

/// Looks at every block and member in turn; false when the caller wants no more.
Work<bool> run_pass(analysis::Pass& pass, Watch& watch) {
  std::uint64_t done = 0;
  for (std::size_t i = 0; i < pass.blocks().size(); ++i) {
    if (!watch.goes_on(done, pass.bytes())) co_return false;
    ASSAY_READ_INTO(const ByteBlock bytes, pass.read(i));
    pass.fold(pass.check(i, bytes.view()));
    done += pass.blocks()[i].length;
  }
  for (std::size_t i = 0; i < pass.jobs(); ++i) {
    if (!watch.goes_on(done, pass.bytes())) co_return false;
    ASSAY_READ(pass.run_job(i));
    done += pass.job_bytes(i);
  }
  co_return true;
}

/// What headers say, and what there is to look at; adds nothing to the job before it is all there.
struct Verification {
  std::vector<analysis::Check> checks;
  Findings found;
  analysis::Pass pass;
};
Result<Verification> verify_headers(const Job& job) {
  Findings found;
  ASSAY_TRY(const auto maps, model::map_bytes(*job.state.files, job.checkpoint));
  ASSAY_TRY(const auto config, analysis::read_model_config(*job.state.files, job.checkpoint, found));
  ASSAY_TRY(auto checks, analysis::check_headers(job.checkpoint, maps, config, found));
  ASSAY_TRY(analysis::Pass pass, analysis::Pass::plan(job.checkpoint, {}));
  return Verification{std::move(checks), std::move(found), std::move(pass)};
}
void tell_verification(Job& job, const Verification& made, bool contents) {
  warn_of_imports(job);
  for (const Finding& finding : made.found.list()) job.add(finding);
  report::write_check_keys(job.json, made.checks);
  report::write_member_keys(job.json, job.checkpoint, made.pass.members(), contents);
}
/// Nothing of it reads: no values were asked for.
Result<void> add_contents(Job& job, Verification& made) {
  ASSAY_TRY(auto more, analysis::check_contents(job.checkpoint, made.pass, false, made.found));
  std::ranges::move(more, std::back_inserter(made.checks));
  made.checks.push_back(analysis::no_digest());
  return {};
}

Work<void> write_verify(Job& job) {
  ASSAY_READ_INTO(Verification made, verify_headers(job));
  ASSAY_AWAIT(const bool contents, run_pass(made.pass, job.watch));
  if (contents) {
    ASSAY_READ(add_contents(job, made));
  }
  tell_verification(job, made, contents);
  co_return {};
}
Result<void> write_verify_headers(Job& job) {
  ASSAY_TRY(const Verification made, verify_headers(job));
  tell_verification(job, made, false);
  return {};
}

}  // namespace

namespace assay::capi {

struct Document {
  std::string_view command;
  std::string_view schema;        ///< the command whose document it is
  Result<void> (*at_once)(Job&);  ///< from headers, before anything is written
  Work<void> (*write)(Job&) = nullptr;
};

namespace {

constexpr Document kDocuments[] = {
    {"info", "info", write_info},
    {"tensors", "tensors", write_tensors},
    {"tree", "tree", write_tree},
    {"map", "map", write_map},
    {"stats", "stats", nullptr, write_stats},
    {"doctor", "doctor", nullptr, write_doctor},
    {"moe", "moe", nullptr, write_moe},
    {"moe-structure", "moe", write_moe_structure},
    {"verify", "verify", nullptr, write_verify},
    {"verify-headers", "verify", write_verify_headers},
};

}  // namespace

const Document* find_document(std::string_view command) {
  const auto* found = std::ranges::find(kDocuments, command, &Document::command);
  return found == std::end(kDocuments) ? nullptr : found;
}

Work<std::string> document_work(const Document& document, std::shared_ptr<const State> state, std::string filter, bool sample,
                                Watch& watch) {
  report::Writer text;
  JsonWriter json(text, 2);
  report::begin_document(json, document.schema, state->files->label());
  Job job{*state, state->checkpoint, filter, sample, watch, json, state->checkpoint.findings, state->checkpoint.complete};
  if (document.at_once != nullptr) {
    ASSAY_READ(document.at_once(job));
  } else {
    ASSAY_AWAIT_CHECK(document.write(job));
  }
  report::end_document(json, job.complete && !watch.stopped, job.findings, nullptr);
  co_return std::string(text.text());
}

Result<std::uint64_t> document_bytes(const Document& document, const State& state, bool sample) {
  const Checkpoint& checkpoint = state.checkpoint;
  if (document.write == write_doctor) return analysis::bytes_to_examine(checkpoint, sample);
  if (document.write == write_moe) {
    std::vector<Finding> ignored;
    return analysis::bytes_to_measure(checkpoint, analysis::find_experts(checkpoint, {}, ignored), sample);
  }
  return 0;
}

}  // namespace assay::capi

namespace {

void hand_numbers(std::span<const std::uint32_t> numbers, assay_buffer** out) {
  auto buffer = std::make_unique<assay_buffer>();
  buffer->bytes.resize(numbers.size_bytes());
  if (!numbers.empty()) std::memcpy(buffer->bytes.data(), numbers.data(), numbers.size_bytes());
  *out = buffer.release();
}

}  // namespace

extern "C" {

const void* assay_buffer_data(const assay_buffer* buffer, size_t* length) {
  if (length != nullptr) *length = buffer != nullptr ? buffer->bytes.size() : 0;
  return buffer != nullptr ? buffer->bytes.data() : "";
}
void assay_buffer_free(assay_buffer* buffer) { delete buffer; }

assay_status assay_report(const assay_checkpoint* checkpoint, const char* command, const char* filter, assay_watch_fn watch, void* context,
                          assay_buffer** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (checkpoint == nullptr || command == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    const Document* document = find_document(command);
    if (document == nullptr) return fail(Code::usage, concat("there is no document ", quote(command)));
    Watch watching{watch, context};
    ASSAY_TRY(const std::string text,
              document_work(*document, checkpoint->state, filter != nullptr ? filter : "", false, watching).go_on());
    hand_text(text, out);
    return {};
  });
}

assay_status assay_report_stats(const assay_checkpoint* checkpoint, size_t tensor, assay_buffer** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (checkpoint == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    const Checkpoint& opened = checkpoint->state->checkpoint;
    if (tensor >= opened.tensors.size()) return fail(Code::no_such_tensor, concat("tensor ", tensor, " of ", opened.tensors.size()));
    ASSAY_TRY(const analysis::Stats stats, analysis::tensor_stats(opened, opened.tensors[tensor]));
    report::Writer text;
    JsonWriter json(text);
    report::write_stats(json, opened.tensors[tensor], &stats);
    hand_text(text.text(), out);
    return {};
  });
}

assay_status assay_report_scan(const assay_files* files, const char* name, assay_buffer** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (files == nullptr || name == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    const assay_files::File* file = files->find(name);
    if (file == nullptr) return fail(Code::no_such_file, concat("the set has no file ", quote(name)));
    ASSAY_TRY(const scan::Report found, scan::scan_file(*file->source, name, {}));
    report::Writer text;
    JsonWriter json(text, 2);
    report::begin_document(json, "scan", name);
    report::write_scan_keys(json, found);
    report::end_document(json, found.status == scan::Status::complete, found.findings, nullptr);
    hand_text(text.text(), out);
    return {};
  });
}

assay_status assay_order(const assay_checkpoint* checkpoint, const char* order, assay_buffer** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (checkpoint == nullptr || order == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    const Checkpoint& opened = checkpoint->state->checkpoint;
    const std::string_view wanted(order);
    if (wanted != "file" && wanted != "name" && wanted != "size") return fail(Code::usage, concat("there is no order ", quote(wanted)));
    std::vector<std::uint32_t> tensors = wanted == "file" ? file_order(opened) : analysis::NameTree(opened.tensors).natural_order();
    if (wanted == "size")
      sort_stable(tensors, std::ranges::greater(), [&](std::uint32_t t) { return analysis::tensor_bytes(opened, opened.tensors[t]); });
    hand_numbers(tensors, out);
    return {};
  });
}

assay_status assay_select(const assay_checkpoint* checkpoint, const char* filter, const uint32_t* order, size_t n, assay_buffer** out,
                          assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (checkpoint == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    const Checkpoint& opened = checkpoint->state->checkpoint;
    const std::vector<std::uint32_t> all = order == nullptr ? file_order(opened) : std::vector<std::uint32_t>(order, order + n);
    for (const std::uint32_t tensor : all)
      if (tensor >= opened.tensors.size()) return fail(Code::no_such_tensor, concat("tensor ", tensor, " of ", opened.tensors.size()));
    ASSAY_TRY(const auto tensors, chosen(opened, filter != nullptr ? filter : "", all));
    hand_numbers(tensors, out);
    return {};
  });
}

assay_status assay_synthetic(uint64_t seed, assay_buffer** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    const auto model = model::synthetic_model(seed);
    std::vector<formats::TensorToWrite> tensors;
    for (const auto& tensor : model) tensors.push_back({tensor.name, DType::f32, tensor.shape, std::as_bytes(std::span(tensor.values))});
    ASSAY_TRY(const auto file, formats::write_safetensors(tensors, {{"format", "pt"}}));
    hand_text({reinterpret_cast<const char*>(file.data()), file.size()}, out);
    return {};
  });
}

}  // extern "C"
