// SPDX-License-Identifier: Apache-2.0
#include "report/verify_report.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "report/units.hpp"

namespace assay::report {

namespace {

using analysis::Check;
using analysis::CheckVerdict;

struct Look {
  std::string_view sign, plain_sign;
  Tone tone;
};
constexpr Look kLooks[] = {{"✔", "+", Tone::good}, {"✖", "x", Tone::bad}, {"–", "-", Tone::faint}};

std::string_view state_of(const analysis::MemberCheck& member, bool ran) {
  if (member.unread) return "unread";
  if (!member.known()) return "unknown";
  if (!ran) return "unchecked";
  return member.matches() ? "matches" : "differs";
}

void write_method(JsonWriter& json, std::uint16_t method) {
  if (method == static_cast<std::uint16_t>(zip::Method::stored)) json.text("stored");
  else if (method == static_cast<std::uint16_t>(zip::Method::deflated)) json.text("deflated");
  else json.text(concat("method ", method));
}

}  // namespace

void write_check_keys(JsonWriter& json, std::span<const Check> checks) {
  json.key("checks").begin_array();
  for (const Check& check : checks) {
    json.begin_object();
    json.key("name").text(check.name);
    json.key("verdict").text(analysis::check_verdict_name(check.verdict));
    json.key("detail").text(check.detail);
    if (!check.wrong.empty()) {
      json.key("wrong").begin_array();
      for (const std::string& what : check.wrong) json.text(what);
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
}

void write_member_keys(JsonWriter& json, const Checkpoint& checkpoint, std::span<const analysis::MemberCheck> members, bool ran) {
  if (members.empty()) return;
  json.key("members").begin_array();
  for (const analysis::MemberCheck& check : members) {
    const zip::Member& member = check.member;
    json.begin_object();
    json.key("file").text(checkpoint.files[check.file].name);
    json.key("name").text(member.name);
    json.key("header_offset").integer(check.archive.begin + member.header_offset);
    json.key("offset").integer(check.offset);
    json.key("packed").integer(member.packed_size);
    json.key("size").integer(member.size);
    json.key("method");
    write_method(json, member.method);
    json.key("crc_32").integer(member.crc);
    json.key("state").text(state_of(check, ran));
    if (ran && !check.unread) json.key("computed").integer(check.crc);
    if (check.unread) json.key("error").text(check.unread->what());
    json.end_object();
  }
  json.end_array();
}

void write_check_screen(Writer& out, const Style& style, std::span<const Check> checks) {
  constexpr std::size_t kShown = 8, kIndent = 2;
  std::size_t widest = 0, counts[3] = {};
  for (const Check& check : checks) widest = std::max(widest, check.name.size());
  for (const Check& check : checks) {
    const Look& look = kLooks[static_cast<std::size_t>(check.verdict)];
    ++counts[static_cast<std::size_t>(check.verdict)];
    out.put(toned(style, look.tone, concat(style.unicode ? look.sign : look.plain_sign, ' ', check.name)));
    out.repeat(' ', widest - check.name.size() + kIndent);
    if (check.wrong.size() < 2) {
      out.put(concat(check.detail, "\n"));
      continue;
    }
    for (std::size_t i = 0; i < std::min(kShown, check.wrong.size()); ++i) {
      if (i > 0) out.repeat(' ', widest + kIndent + 2);
      out.put(concat(check.wrong[i], "\n"));
    }
    if (check.wrong.size() <= kShown) continue;
    out.repeat(' ', widest + kIndent + 2);
    out.put(concat("and more; --json lists up to ", Check::kMostWrong, "\n"));
  }
  const std::size_t failed = counts[static_cast<std::size_t>(CheckVerdict::fail)];
  out.put(toned(style, failed == 0 ? Tone::good : Tone::bad,
                concat(counts[0], " ok", failed == 0 ? std::string() : concat(", ", failed, " wrong"),
                       counts[2] == 0 ? std::string() : concat(", ", counts[2], " skipped"))));
  out.put('\n');
}

}  // namespace assay::report
