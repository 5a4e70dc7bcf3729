// SPDX-License-Identifier: Apache-2.0
#include "cli/help.hpp"

#include <fmt/core.h>

#include <CLI/Version.hpp>
#include <algorithm>
#include <deque>
#include <string>

#include "assay/version.hpp"
#include "base/text.hpp"
#include "cli/run.hpp"
#include "report/json_writer.hpp"
#include "report/units.hpp"

namespace assay::cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::string_view kFiltersTopic = "filters";

using report::Style;
using report::Tone;
using report::Writer;

void put_title(Writer& out, const Style& style, std::string_view title) {
  out.put(toned(style, Tone::strong, title));
  out.put('\n');
}

struct Entry {
  std::string left;
  std::string_view right;
};

/// Two columns, the right one wrapped to the width.
void put_entries(Writer& out, const Style& style, const std::vector<Entry>& entries) {
  constexpr std::size_t kMostLeft = 34;
  std::size_t left = 0;
  for (const Entry& entry : entries)
    if (entry.left.size() <= kMostLeft) left = std::max(left, entry.left.size());
  const std::size_t column = kIndent + left + 2;
  const std::size_t width = std::max<std::size_t>(style.width == 0 ? 100 : style.width, column + 20);
  for (const Entry& entry : entries) {
    out.repeat(' ', kIndent);
    out.put(entry.left);
    std::size_t at = kIndent + entry.left.size();
    if (at + 2 > column) out.put('\n'), at = 0;
    std::string_view rest = entry.right;
    while (!rest.empty()) {
      out.repeat(' ', column - at);
      std::size_t n = rest.size();
      if (column + n > width) {
        n = rest.rfind(' ', width - column);
        if (n == std::string_view::npos || n == 0) n = std::min(rest.find(' '), rest.size());
      }
      out.put(rest.substr(0, n));
      rest.remove_prefix(std::min(rest.size(), n + 1));
      if (!rest.empty()) out.put('\n');
      at = 0;
    }
    out.put('\n');
  }
}

std::string flag_text(const Flag& flag) {
  std::string out = flag.letter != 0 ? fmt::format("-{}, {}", flag.letter, flag.name) : fmt::format("    {}", flag.name);
  // Long lists of choices are told by the help's text instead.
  if (flag.kind != Value::none) out += fmt::format(" {}", flag.kind == Value::choice && flag.value.size() > 20 ? "WORD" : flag.value);
  return out;
}

void put_flags(Writer& out, const Style& style, std::span<const Flag> flags, std::span<const Flag> more = {}) {
  std::vector<Entry> entries;
  std::deque<std::string> kept;
  const auto add = [&](const Flag& flag) {
    if (flag.kind == Value::choice && flag.value.size() > 20) {
      kept.push_back(fmt::format("{}: {}", flag.help, flag.value));
      std::ranges::replace(kept.back(), '|', ' ');
      entries.push_back({flag_text(flag), kept.back()});
    } else {
      entries.push_back({flag_text(flag), flag.help});
    }
  };
  for (const Flag& flag : flags) add(flag);
  for (const Flag& flag : more) add(flag);
  put_entries(out, style, entries);
}

void put_paragraph(Writer& out, const Style& style, std::string_view text) {
  const std::size_t width = style.width == 0 ? 100 : std::max<std::size_t>(style.width, 30);
  while (!text.empty()) {
    std::size_t n = text.size();
    if (n > width) {
      n = text.rfind(' ', width);
      if (n == std::string_view::npos) n = std::min(text.find(' '), text.size());
    }
    out.put(text.substr(0, n));
    out.put('\n');
    text.remove_prefix(std::min(text.size(), n + 1));
  }
}

// What analysis/select.hpp reads; docs/filters.md tells it at length.
constexpr std::pair<std::string_view, std::string_view> kFilterTerms[] = {
    {"q_proj", "a part of the name; without a capital letter in any case"},
    {"*.bias", "with * or ? a glob, for the whole name"},
    {"\"norm.Weight\"", "in quotes as it stands"},
    {"a b", "both"},
    {"a|b c", "either a or b, and c"},
    {"a b | c d", "a and b, or c and d"},
    {"-a", "not a"},
    {"layer:0-7,31", "layers by number, also layer>=30; expert:3 the same of experts"},
    {"role:attn.q,router", "parts of the model, whatever a family calls them; a wrong one lists them all"},
    {"dtype:bf16,f8*", "element types"},
    {"shape:4096x128", "shapes, * for any length: shape:*x128; dimensions: ndim>=2"},
    {"size>1M", "bytes in units of 1024: > >= < <= : and k M G T; numel<100 and params>=1B in units of 1000"},
    {"section:model", "model, optimizer, ema, scheduler, callbacks or other, in what training saved"},
    {"file:*00002*", "the file it is in; readable:no is what is damaged"},
};

void put_filter_terms(Writer& out, const Style& style, std::string_view title) {
  put_title(out, style, title);
  std::vector<Entry> entries;
  for (const auto& [term, what] : kFilterTerms) entries.push_back({std::string(term), what});
  put_entries(out, style, entries);
}

}  // namespace

std::string usage_line(const Command& command) {
  std::string out = fmt::format("assay {}", command.name);
  for (const Argument& argument : command.arguments)
    out += fmt::format(" {}{}{}{}", argument.required ? "" : "[", argument.name, argument.many ? "..." : "", argument.required ? "" : "]");
  return out + " [flags]";
}

void write_program_help(Writer& out, const Style& style) {
  put_paragraph(out, style, "assay looks inside model checkpoints without running them or loading them.");
  out.put('\n');
  std::vector<Entry> entries;
  put_title(out, style, "Examples");
  for (const Command& command : commands())
    if (command.name != "help") entries.push_back({std::string(command.examples[0].line), command.examples[0].what});
  put_entries(out, style, entries);
  out.put('\n');
  put_title(out, style, "Commands");
  entries.clear();
  for (const Command& command : commands()) {
    std::string name(command.name);
    if (!command.alias.empty()) name += fmt::format(", {}", command.alias);
    entries.push_back({std::move(name), command.summary});
  }
  put_entries(out, style, entries);
  out.put('\n');
  put_title(out, style, "Flags of every command");
  put_flags(out, style, common_flags(), program_flags());
  out.put("\nExit status: 0 answered and fine, 1 answered and the answer is no, 2 could not answer fully, 130 interrupted.\n");
}

void write_command_help(Writer& out, const Style& style, const Command& command) {
  out.put(fmt::format("assay {}: {}\n\n", command.name, command.summary));
  put_title(out, style, "Examples");
  std::vector<Entry> entries;
  for (const Example& example : command.examples) entries.push_back({std::string(example.line), example.what});
  put_entries(out, style, entries);
  out.put('\n');
  put_title(out, style, "Usage");
  out.put(fmt::format("  {}\n", usage_line(command)));
  if (!command.alias.empty()) out.put(fmt::format("  assay {} is the same\n", command.alias));
  if (!command.details.empty()) {
    out.put('\n');
    put_paragraph(out, style, command.details);
  }
  if (!command.arguments.empty()) {
    out.put('\n');
    put_title(out, style, "Arguments");
    entries.clear();
    for (const Argument& argument : command.arguments) entries.push_back({std::string(argument.name), argument.help});
    put_entries(out, style, entries);
  }
  if (!command.flags.empty() || command.lists) {
    out.put('\n');
    put_title(out, style, "Flags");
    put_flags(out, style, command.flags, {&ndjson_flag(), command.lists ? 1u : 0u});
  }
  if (find_flag(command, "--where") != nullptr) {
    out.put('\n');
    put_filter_terms(out, style, "Filters, for --where");
  }
  out.put('\n');
  put_title(out, style, "Flags of every command");
  put_flags(out, style, common_flags());
}

void write_version(Writer& out, bool json, bool verbose) {
  // The library's own; assert() is not used.
#if defined(_GLIBCXX_ASSERTIONS) || defined(_LIBCPP_HARDENING_MODE)
  constexpr std::string_view kAssertions = "on";
#else
  constexpr std::string_view kAssertions = "off";
#endif
#ifdef __clang__
  const std::string compiler = fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  const std::string compiler = fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
  const std::string fmt_version = fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  const std::pair<std::string_view, std::string> facts[] = {{"compiler", compiler},
                                                            {"cplusplus", fmt::format("{}", __cplusplus)},
                                                            {"assertions", std::string(kAssertions)},
                                                            {"cli11", CLI11_VERSION},
                                                            {"fmt", fmt_version}};
  if (json) {
    report::JsonWriter document(out, 2);
    report::begin_document(document, "version", "");
    for (const auto& [key, value] : facts) document.key(key).text(value);
    return report::end_document(document, true, {}, nullptr);
  }
  out.put(fmt::format("assay {}\n", version()));
  if (!verbose) return;
  for (const auto& [key, value] : facts) out.put(fmt::format("{:<12}{}\n", key, value));
}

int run_help(Context& context) {
  if (context.options.words().empty()) {
    write_program_help(context.out, context.style);
    return kFine;
  }
  const std::string name = context.options.word(0);
  if (name == kFiltersTopic) {
    put_filter_terms(context.out, context.style, "Filters, for --where: one argument of the shell, in quotes");
    return kFine;
  }
  if (const Command* command = find_command(name)) {
    write_command_help(context.out, context.style, *command);
    return kFine;
  }
  std::vector<std::string_view> names;
  for (const Command& command : commands()) names.push_back(command.name);
  const auto close = nearest(name, names, 1);
  Error error(Code::usage, concat("no command is named ", quote(name)));
  return Answer(context).fail(std::move(error).advise(close.empty() ? "assay --help lists them" : concat("did you mean ", close[0], "?")));
}

}  // namespace assay::cli
