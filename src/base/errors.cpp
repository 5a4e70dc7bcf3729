// SPDX-License-Identifier: Apache-2.0
// The tables of errors.def, Error's trail, and Findings.
#include "assay/finding.hpp"
#include "assay/result.hpp"

namespace assay {

namespace {

struct CodeRow {
  std::string_view name;
  Severity severity;
  std::string_view hint;
};

constexpr CodeRow kCodes[] = {
#define ASSAY_CODE(id, text, severity, hint) {text, Severity::severity, hint},
#include "assay/errors.def"
#undef ASSAY_CODE
};

constexpr std::string_view kSeverities[] = {"note", "warning", "damage", "danger"};

const CodeRow& row(Code code) { return kCodes[static_cast<std::size_t>(code)]; }

}  // namespace

std::string_view code_name(Code code) { return row(code).name; }
Severity code_severity(Code code) { return row(code).severity; }
std::string_view code_hint(Code code) { return row(code).hint; }
std::string_view severity_name(Severity severity) { return kSeverities[static_cast<std::size_t>(severity)]; }

std::optional<Code> code_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kCodes); ++i)
    if (kCodes[i].name == name) return static_cast<Code>(i);
  return std::nullopt;
}

Error::Error(Code code, std::string what) : body_(new Body{code, std::move(what), {}, {}, {}}) {}

void Error::drop(Body* body) noexcept { delete body; }

std::string_view Error::hint() const { return body_->hint.empty() ? code_hint(body_->code) : std::string_view(body_->hint); }

Error&& Error::at(std::uint64_t offset) && {
  if (!body_->where.offset) body_->where.offset = offset;
  return std::move(*this);
}

Error&& Error::span(std::uint64_t offset, std::uint64_t length) && {
  if (!body_->where.offset) body_->where.offset = offset, body_->where.length = length;
  return std::move(*this);
}

Error&& Error::in_file(std::string_view file) && {
  if (body_->where.file.empty()) body_->where.file = file;
  return std::move(*this);
}

Error&& Error::in_member(std::string_view member) && {
  if (body_->where.member.empty()) body_->where.member = member;
  return std::move(*this);
}

Error&& Error::of_tensor(std::string_view tensor) && {
  if (body_->where.tensor.empty()) body_->where.tensor = tensor;
  return std::move(*this);
}

Error&& Error::advise(std::string hint) && {
  if (body_->hint.empty()) body_->hint = std::move(hint);
  return std::move(*this);
}

Error&& Error::fact(std::string_view key, decltype(Fact::value) value) && {
  body_->facts.push_back({std::string(key), std::move(value)});
  return std::move(*this);
}

Error&& Error::expected_found(std::uint64_t expected, std::uint64_t found) && {
  body_->facts.push_back({"expected", expected});
  body_->facts.push_back({"found", found});
  return std::move(*this);
}

Finding::Finding(Code code, std::string message, Where where, std::vector<Fact> facts)
    : code(code), severity(code_severity(code)), message(std::move(message)), where(std::move(where)), facts(std::move(facts)) {}

Finding Finding::from(const Error& error) { return Finding(error.code(), error.what(), error.where(), error.facts()); }

void Findings::add(Finding finding) {
  worst_ = std::max(worst_, finding.severity);
  if (++counts_[finding.code] <= kPerCode) list_.push_back(std::move(finding));
}

void Findings::add_first(Finding finding) {
  worst_ = std::max(worst_, finding.severity);
  ++counts_[finding.code];
  list_.insert(list_.begin(), std::move(finding));
  // What is kept of a code stays at most kPerCode, so that suppressed() counts right.
  const Code code = list_.front().code;
  if (counts_[code] <= kPerCode) return;
  for (std::size_t i = list_.size(); i-- > 1;) {
    if (list_[i].code != code) continue;
    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

std::size_t Findings::suppressed(Code code) const {
  const auto found = counts_.find(code);
  return found == counts_.end() || found->second <= kPerCode ? 0 : found->second - kPerCode;
}

bool Findings::has(Code code) const { return counts_.contains(code); }

bool Findings::any_at_least(Severity severity) const { return !counts_.empty() && worst_ >= severity; }

}  // namespace assay
