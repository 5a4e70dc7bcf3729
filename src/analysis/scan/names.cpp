// SPDX-License-Identifier: Apache-2.0
#include "analysis/scan/names.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "containers/pickle/python2_names.hpp"

namespace assay::scan {

namespace {

struct BenignRow {
  std::string_view module, name;
  Rule rule;
  bool weights_only;
};
constexpr BenignRow kBenign[] = {
#define ASSAY_BENIGN(module, name, rule, weights_only) {module, name, Rule::rule, weights_only},
#include "analysis/scan/globals_benign.def"
#undef ASSAY_BENIGN
};

struct DangerousRow {
  std::string_view path, why;
};
constexpr DangerousRow kDangerous[] = {
#define ASSAY_DANGEROUS(path, why) {path, why},
#include "analysis/scan/globals_dangerous.def"
#undef ASSAY_DANGEROUS
};

constexpr auto key_of(const BenignRow& row) { return std::pair(row.module, row.name); }
static_assert(std::ranges::is_sorted(kBenign, {}, key_of));
static_assert(std::ranges::is_sorted(kDangerous, {}, &DangerousRow::path));

/// Attributes that lead from any object to the interpreter.
constexpr std::string_view kReaching[] = {
    "__base__",    "__bases__",  "__builtins__",     "__call__",    "__class__",   "__closure__", "__code__",          "__dict__",
    "__func__",    "__get__",    "__getattribute__", "__globals__", "__import__",  "__init__",    "__init_subclass__", "__loader__",
    "__mro__",     "__reduce__", "__reduce_ex__",    "__self__",    "__setattr__", "__spec__",    "__subclasses__",    "__subclasshook__",
    "__wrapped__", "f_globals",  "func_globals",     "gi_frame",    "mro",         "tb_frame"};
static_assert(std::ranges::is_sorted(kReaching));

/// Modules that, wherever they stand in a path, are themselves: six.moves.builtins, torch.serialization.os.
constexpr std::string_view kAnywhere[] = {
    "__builtin__", "__builtins__", "_os", "_posixsubprocess", "_subprocess", "_sys", "builtins", "ctypes",
    "importlib",   "nt",           "os",  "pickle",           "posix",       "pty",  "runpy",    "shutil",
    "socket",      "subprocess",   "sys"};
static_assert(std::ranges::is_sorted(kAnywhere));

/// Private modules that honest pickles name.
constexpr std::string_view kHonestPrivate[] = {"__future__", "__main__", "__mp_main__", "__torch__", "_codecs", "_io"};

const DangerousRow* find_dangerous(std::string_view path) {
  // The longest row that is the path or its front up to a dot.
  for (std::size_t end = path.size(); end != 0;) {
    const std::string_view front = path.substr(0, end);
    const auto* row = std::ranges::lower_bound(kDangerous, front, {}, &DangerousRow::path);
    if (row != std::end(kDangerous) && row->path == front) return row;
    const std::size_t dot = front.rfind('.');
    end = dot == std::string_view::npos ? 0 : dot;
  }
  return nullptr;
}

bool is_plain_front(std::string_view component, std::string_view path) {
  return path.starts_with(component) && (path.size() == component.size() || path[component.size()] == '.');
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"clean", "unknown", "dangerous"};
  return kNames[static_cast<std::size_t>(verdict)];
}

bool is_restricted(Rule rule) {
  return rule == Rule::from_type || rule == Rule::encode || rule == Rule::attribute || rule == Rule::load_bytes || rule == Rule::type_of ||
         rule == Rule::subscript;
}

Judgement find_benign(std::string_view module, std::string_view name) {
  const std::pair key(module, name);
  const auto* row = std::ranges::lower_bound(kBenign, key, {}, key_of);
  if (row == std::end(kBenign) || key_of(*row) != key) return {};
  return {Verdict::clean, row->rule, row->weights_only, {}};
}

Judgement judge_danger(std::string_view module, std::string_view name) {
  const std::string path = concat(module, '.', name);
  // Every place at which the path can be entered: its start, each part of the name, and strong words anywhere.
  for (std::size_t at = 0; at <= path.size();) {
    const std::string_view rest = std::string_view(path).substr(at);
    const std::string_view component = rest.substr(0, rest.find('.'));
    const bool strong = std::ranges::binary_search(kAnywhere, component);
    if (reaches_interpreter(component)) return {Verdict::dangerous, Rule::none, false, "reaches into the interpreter"};
    if (at == 0 || at > module.size() || strong) {
      std::string_view entry = rest;
      if (strong && component.front() == '_' && component != "_posixsubprocess" && !component.starts_with("__")) entry.remove_prefix(1);
      const DangerousRow* row = find_dangerous(entry);
      if (row == nullptr && (is_plain_front("__builtin__", entry) || is_plain_front("__builtins__", entry)))
        row = find_dangerous(concat("builtins", entry.substr(component.size())));
      // A last part of its own (`test`, `select`) may be anything.
      if (row != nullptr && (at == 0 || strong || rest.find('.') != std::string_view::npos))
        return {Verdict::dangerous, Rule::none, false, row->why};
    }
    const std::size_t dot = rest.find('.');
    if (dot == std::string_view::npos) break;
    at += dot + 1;
  }
  const std::string_view top = std::string_view(path).substr(0, path.find('.'));
  if (top.starts_with('_') && std::ranges::find(kHonestPrivate, top) == std::end(kHonestPrivate))
    return {Verdict::dangerous, Rule::none, false, "is a private module, which no honest pickle names"};
  return {Verdict::clean, Rule::none, false, {}};
}

Judgement judge_name(pickle::GlobalName written, pickle::GlobalName mapped, std::span<const std::string> allowed) {
  const pickle::GlobalName as_python3 = pickle::python3_name(written);
  const pickle::GlobalName readings[] = {mapped, written, as_python3};
  for (const auto& reading : {mapped, as_python3}) {
    const Judgement benign = find_benign(reading.module, reading.name);
    if (benign.rule != Rule::none) return benign;
  }
  Judgement worst{Verdict::unknown, Rule::none, false, "is not on the list of known names"};
  for (const auto& reading : readings) {
    const Judgement danger = judge_danger(reading.module, reading.name);
    if (danger.verdict == Verdict::dangerous) return danger;
  }
  for (const std::string& name : allowed) {
    const std::string_view text = name;
    if (text.size() == mapped.module.size() + 1 + mapped.name.size() && text.starts_with(mapped.module) &&
        text[mapped.module.size()] == '.' && text.ends_with(mapped.name))
      return {Verdict::clean, Rule::call, false, {}};
  }
  return worst;
}

Judgement judge_path(std::string_view path) {
  for (std::size_t dot = path.rfind('.'); dot != std::string_view::npos && dot != 0; dot = path.rfind('.', dot - 1)) {
    const Judgement benign = find_benign(path.substr(0, dot), path.substr(dot + 1));
    if (benign.rule != Rule::none) return benign;
  }
  // Nobody knows where the module ends: every component may begin a name.
  const std::size_t dot = path.find('.');
  const Judgement danger = dot == std::string_view::npos ? judge_danger(path, "") : judge_danger(path.substr(0, dot), path.substr(dot + 1));
  if (danger.verdict == Verdict::dangerous) return danger;
  return {Verdict::unknown, Rule::none, false, "is not on the list of known names"};
}

Judgement judge_dotted(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return judge_path(path);
  const pickle::GlobalName name{path.substr(0, dot), path.substr(dot + 1)};
  return judge_name(name, name, {});
}

bool reaches_interpreter(std::string_view attribute) { return std::ranges::binary_search(kReaching, attribute); }

bool cannot_be_module(std::string_view name) {
  return name.empty() || name.find_first_of(" \t\"'()[]{}=:;,<>!?*&|^%$#@`~") != std::string_view::npos;
}

}  // namespace assay::scan
