// SPDX-License-Identifier: Apache-2.0
// What an imported name is taken for. The list of benign names decides: exact names, never by prefix. The list of dangerous ones only
// says how loudly, and in what words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "assay/pickle.hpp"

namespace assay::scan {

enum class Verdict : std::uint8_t { clean, unknown, dangerous };
std::string_view verdict_name(Verdict verdict);

/// What a benign name may be given.
enum class Rule : std::uint8_t {
  none,         ///< not a benign name
  value,        ///< may be referred to, not called
  call,         ///< may be called with anything
  instance,     ///< a class: may be instantiated without running its constructor on arguments (NEWOBJ), or from one plain value (an enum)
  rebuild,      ///< may be called with anything, and named as what from_type calls
  from_type,    ///< calls its first argument, which must be a rebuild function
  encode,       ///< (text, encoding): the encoding must be a plain one
  coded,        ///< (value, encoding, …): where an encoding is given, it must be a plain one
  reconstruct,  ///< (class, base, state): constructs the base from the state, so it must be a class that may be called with anything
  type_of,      ///< (value): the type of None and the like
  subscript,    ///< (typing's name, types): List[int]
  factory,      ///< (type): a callable without arguments, which must be a plain type or None
  attribute,    ///< (object, name): both constant, and what they lead to benign
  load_bytes,   ///< (bytes): a whole legacy torch stream, which is scanned as a file of its own
};
/// True for rules that hold only while the name is called under our eyes: as data it could be called later with anything.
bool is_restricted(Rule rule);

struct Judgement {
  Verdict verdict = Verdict::unknown;
  Rule rule = Rule::none;
  bool weights_only = false;  ///< torch.load(weights_only=True) allows it by default
  std::string_view why;       ///< "runs commands"; static text
};

/// Judges a dotted name that loading would reach: the whole of it must be on the benign list; any part of it that is on the dangerous
/// one is enough. `module` and `name` as written; Python 2 names are looked up as both Pythons would.
Judgement judge_name(pickle::GlobalName written, pickle::GlobalName mapped, std::span<const std::string> allowed);
/// The same for a name put together from constants, of which nobody knows where the module ends.
Judgement judge_path(std::string_view path);
/// The same for an imported name, module.name, whose last part is taken for the name.
Judgement judge_dotted(std::string_view path);
/// What the dangerous list alone says; clean where it says nothing.
Judgement judge_danger(std::string_view module, std::string_view name);
/// A benign name whose module and name are apart.
Judgement find_benign(std::string_view module, std::string_view name);

/// True for an attribute that leads from any object to the interpreter: __globals__.
bool reaches_interpreter(std::string_view attribute);

/// True when Python can import no module of this name: blanks, brackets or quotes in it.
bool cannot_be_module(std::string_view name);

}  // namespace assay::scan
