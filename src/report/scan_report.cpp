// SPDX-License-Identifier: Apache-2.0
#include "report/scan_report.hpp"

#include <algorithm>

#include "assay/version.hpp"
#include "base/text.hpp"
#include "report/documents.hpp"
#include "report/units.hpp"

namespace assay::report {

using scan::Report;
using scan::Status;
using scan::Verdict;
using scan::WeightsOnly;

namespace {

std::string_view class_name(Verdict verdict) { return verdict == Verdict::clean ? "benign" : scan::verdict_name(verdict); }

void write_place(JsonWriter& json, const scan::Place& place) {
  json.key("member").text(place.member);
  json.key("offset");
  if (place.offset) json.integer(*place.offset);
  else json.null();
  json.key("position").integer(place.position);
  json.key("stream").integer(place.stream);
}

void write_import(JsonWriter& json, const scan::Import& import) {
  json.begin_object();
  json.key("name").text(import.name);
  json.key("class").text(class_name(import.verdict));
  if (!import.why.empty()) json.key("why").text(import.why);
  if (!import.written.empty()) json.key("written").text(import.written);
  write_place(json, import.place);
  json.key("times").integer(import.times);
  json.end_object();
}

void write_call(JsonWriter& json, const scan::Call& call) {
  json.begin_object();
  json.key("callable").text(call.callable);
  json.key("arguments").text(call.arguments);
  json.key("class").text(class_name(call.verdict));
  json.key("words").text(call.words);
  if (!call.why.empty()) json.key("why").text(call.why);
  write_place(json, call.place);
  json.end_object();
}

void write_weights_only(JsonWriter& json, const WeightsOnly& answer) {
  json.begin_object();
  json.key("accepts");
  if (answer.answer == WeightsOnly::Answer::does_not_apply) json.null();
  else json.boolean(answer.answer == WeightsOnly::Answer::accepts);
  json.key("reason").text(answer.answer == WeightsOnly::Answer::does_not_apply && answer.reason.empty()
                              ? "not a file of pickles that torch.load reads"
                              : answer.reason);
  json.end_object();
}

}  // namespace

void ScanSummary::add(const ScannedFile& file) {
  verdict = std::max(verdict, file.report.verdict);
  status = std::max(status, file.error ? Status::incomplete : file.report.status);
  unread |= file.error.has_value();
}

void write_verdict(JsonWriter& json, Verdict verdict, bool unread) {
  json.key("verdict");
  if (unread && verdict == Verdict::clean) json.null();
  else json.text(scan::verdict_name(verdict));
}

namespace {

void write_keys(JsonWriter& json, const Report& report, bool unread) {
  write_verdict(json, report.verdict, unread);
  json.key("status").text(scan::status_name(report.status));
  json.key("imports").begin_array();
  for (const scan::Import& import : report.imports) write_import(json, import);
  json.end_array();
  if (report.imports_left_out > 0) json.key("imports_left_out").integer(report.imports_left_out);
  json.key("calls").begin_array();
  for (const scan::Call& call : report.calls) write_call(json, call);
  json.end_array();
  json.key("call_count").integer(report.call_count);
  json.key("weights_only");
  write_weights_only(json, report.weights_only);
  json.key("members").begin_array();
  for (const scan::Member& member : report.members) {
    json.begin_object();
    json.key("name").text(member.name);
    json.key("kind").text(member.kind);
    json.key("verdict").text(scan::verdict_name(member.verdict));
    json.key("status").text(scan::status_name(member.status));
    json.key("size").integer(member.size);
    json.key("streams").integer(member.streams);
    json.end_object();
  }
  json.end_array();
  json.key("storages").integer(report.storages);
  json.key("pickle_bytes").integer(report.pickle_bytes);
}

}  // namespace

void write_scan_keys(JsonWriter& json, const Report& report) { write_keys(json, report, false); }

void write_scanned_file(JsonWriter& json, const ScannedFile& file) {
  json.begin_object();
  json.key("path").text(file.path);
  write_keys(json, file.report, file.error.has_value());
  json.key("findings").begin_array();
  for (const Finding& finding : file.report.findings.list()) write_finding(json, finding);
  json.end_array();
  if (file.error) {
    json.key("error");
    write_error(json, *file.error);
  }
  json.end_object();
}

// --- SARIF ------------------------------------------------------------------------------------------------------------------

namespace {

/// By severity. What could not be looked at, or is broken, is not told as loudly as what would run.
constexpr std::string_view kLevels[] = {"note", "warning", "warning", "error"};

/// A path as the reference part of a URI.
std::string uri_of(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/!$&'()*+,;=@").find(c) != std::string_view::npos;
    if (plain) out += c;
    else out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

void write_location(JsonWriter& json, const std::string& path, const Where& where) {
  json.key("locations").begin_array();
  json.begin_object();
  json.key("physicalLocation").begin_object();
  json.key("artifactLocation").begin_object();
  json.key("uri").text(uri_of(path));
  json.end_object();
  json.key("region").begin_object();
  json.key("startLine").integer(1);  // viewers of source code show nothing without a line
  if (where.offset) {
    json.key("byteOffset").integer(*where.offset);
    json.key("byteLength").integer(where.length.value_or(1));
  }
  json.end_object();
  json.end_object();
  if (!where.member.empty()) {
    json.key("logicalLocations").begin_array();
    json.begin_object();
    json.key("fullyQualifiedName").text(where.member);
    json.key("kind").text("member");
    json.end_object();
    json.end_array();
  }
  json.end_object();
  json.end_array();
}

void write_result(JsonWriter& json, const std::string& path, std::string_view rule, std::string_view level, std::string_view message,
                  const Where& where) {
  json.begin_object();
  json.key("ruleId").text(rule);
  json.key("level").text(level);
  json.key("message").begin_object();
  json.key("text").text(message);
  json.end_object();
  write_location(json, path, where);
  json.end_object();
}

/// "dangerous import" for dangerous-import.
std::string words_of(Code code) {
  std::string words(code_name(code));
  std::ranges::replace(words, '-', ' ');
  return words;
}

void write_rule(JsonWriter& json, Code code) {
  const auto text = [&](std::string_view key, std::string_view value) {
    json.key(key).begin_object();
    json.key("text").text(value);
    json.end_object();
  };
  const std::string words = words_of(code);
  const std::string_view hint = code_hint(code);
  json.begin_object();
  json.key("id").text(code_name(code));
  json.key("name").text(words);
  text("shortDescription", words);
  text("fullDescription", concat(words, ": ", hint.empty() ? "what the result's own message says" : hint));
  text("help", hint.empty() ? std::string_view("see what the file holds there; do not load it before that is clear") : hint);
  json.key("defaultConfiguration").begin_object();
  json.key("level").text(kLevels[static_cast<std::size_t>(code_severity(code))]);
  json.end_object();
  json.end_object();
}

}  // namespace

void write_sarif(Writer& out, std::span<const ScannedFile> files) {
  std::vector<Code> rules;
  for (const ScannedFile& file : files) {
    for (const Finding& finding : file.report.findings.list())
      if (std::ranges::find(rules, finding.code) == rules.end()) rules.push_back(finding.code);
    if (file.error && std::ranges::find(rules, file.error->code()) == rules.end()) rules.push_back(file.error->code());
  }
  JsonWriter json(out, 2);
  json.begin_object();
  json.key("$schema").text("https://json.schemastore.org/sarif-2.1.0.json");
  json.key("version").text("2.1.0");
  json.key("runs").begin_array();
  json.begin_object();
  json.key("tool").begin_object();
  json.key("driver").begin_object();
  json.key("name").text("assay");
  json.key("version").text(version());
  json.key("rules").begin_array();
  for (const Code code : rules) write_rule(json, code);
  json.end_array();
  json.end_object();
  json.end_object();
  const bool all_read = std::ranges::none_of(files, [](const ScannedFile& file) { return file.error.has_value(); });
  json.key("invocations").begin_array();
  json.begin_object();
  json.key("executionSuccessful").boolean(all_read);
  json.end_object();
  json.end_array();
  json.key("columnKind").text("utf16CodeUnits");
  json.key("results").begin_array();
  for (const ScannedFile& file : files) {
    for (const Finding& finding : file.report.findings.list())
      write_result(json, file.path, code_name(finding.code), kLevels[static_cast<std::size_t>(finding.severity)], finding.message,
                   finding.where);
    if (file.error) write_result(json, file.path, code_name(file.error->code()), "warning", file.error->what(), file.error->where());
  }
  json.end_array();
  json.end_object();
  json.end_array();
  json.end_object();
}

}  // namespace assay::report
