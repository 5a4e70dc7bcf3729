// SPDX-License-Identifier: Apache-2.0
#include "cli/parse.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <deque>

#include "base/text.hpp"

namespace assay::cli {
namespace {

using Words = std::vector<std::string>;

/// Any command's flag of this name: enough to know whether a value follows it.
const Flag* any_flag(std::string_view name) {
  for (const Command& command : commands())
    if (const Flag* flag = find_flag(command, name)) return flag;
  for (const Flag& flag : program_flags())
    if (flag.name == name) return &flag;
  return nullptr;
}

/// Takes the command's name out of the words: the first that is neither a flag nor a flag's value. info where it names no command.
const Command* take_command(Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") break;
    if (words[i].size() > 1 && words[i][0] == '-') {
      const Flag* flag = any_flag(words[i]);
      if (flag != nullptr && flag->kind != Value::none) ++i;
      continue;
    }
    const Command* command = find_command(words[i]);
    if (command == nullptr) break;
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
    return command;
  }
  return find_command("info");
}

Error usage(std::string what, std::string hint) { return std::move(Error(Code::usage, std::move(what))).advise(std::move(hint)); }

std::string help_hint(const Command& command) { return concat("assay ", command.name, " --help shows how it is used"); }

/// "did you mean --limit?", or which commands have the flag.
Error unknown_flag(const Command& command, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  std::vector<std::string_view> names;
  for (const Flag& flag : command.flags) names.push_back(flag.name);
  for (const Flag& flag : common_flags()) names.push_back(flag.name);
  if (command.lists) names.push_back(ndjson_flag().name);
  std::string owners;
  for (const Command& other : commands())
    if (find_flag(other, name) != nullptr) owners += concat(owners.empty() ? "" : ", ", other.name);
  // An abbreviation is closer than any slip of the finger.
  std::vector<std::string_view> close;
  for (const std::string_view known : names)
    if (name.size() > 3 && known.starts_with(name)) close.push_back(known);
  if (close.empty() && name.size() > 2) close = nearest(name.starts_with("--") ? name : concat("-", name), names, 1);
  std::string hint = help_hint(command);
  if (!close.empty()) hint = concat("did you mean ", close[0], "?");
  else if (!owners.empty()) hint = concat("it is a flag of: ", owners);
  return usage(concat("unknown flag ", quote(name), " for ", command.name), std::move(hint));
}

/// Fails when the value is not of the flag's kind.
std::optional<Error> check_value(std::string_view name, Value kind, std::string_view choices, std::string_view value) {
  if (kind == Value::number) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (value.empty() || error != std::errc() || end != value.data() + value.size())
      return usage(concat(name, " needs a whole number, not ", quote(value)), "numbers have no sign and no unit here");
  }
  if (kind == Value::choice) {
    std::vector<std::string_view> words;
    for (std::string_view rest = choices; !rest.empty();) {
      const std::size_t bar = rest.find('|');
      words.push_back(rest.substr(0, bar));
      rest.remove_prefix(bar == std::string_view::npos ? rest.size() : bar + 1);
    }
    if (std::ranges::find(words, value) == words.end()) {
      const auto close = nearest(value, words, 1);
      return usage(concat(name, " does not take ", quote(value)),
                   close.empty() ? concat("it takes one of ", choices) : concat("did you mean ", close[0], "? it takes one of ", choices));
    }
  }
  return std::nullopt;
}

/// CLI11 takes "[0, 1]" for a list of words; a mark in front keeps it whole.
constexpr char kWhole = '\x1f';
void unmark(std::string& word) {
  if (word.starts_with(kWhole)) word.erase(0, 1);
}

struct Bound {
  const Flag* flag;
  bool given = false;
  Words values;
  CLI::Option* option = nullptr;
};

/// Feeds the table's flags to CLI11 and takes back what it found.
class Parser {
 public:
  Parser(const Command& command, bool top) : command_(command) {
    app_.set_help_flag();
    app_.allow_extras();
    app_.add_option("words", words_);
    for (const Flag& flag : command.flags) bind(flag);
    for (const Flag& flag : common_flags()) bind(flag);
    if (command.lists) bind(ndjson_flag());
    if (top)
      for (const Flag& flag : program_flags()) bind(flag);
  }

  std::optional<Error> run(Words arguments, Options& options) {
    std::ranges::reverse(arguments);  // as CLI11 takes them
    for (std::string& word : arguments)
      if (word.starts_with('[')) word.insert(0, 1, kWhole);
    std::optional<Error> error;
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::ParseError& problem) {
      const std::string what = problem.what();
      const std::size_t colon = what.find(':');
      error = usage(what.starts_with("-") && colon != std::string::npos ? concat(what.substr(0, colon), " needs a value") : what,
                    help_hint(command_));
    }
    for (const std::string& word : app_.remaining())
      if (!error && word.size() > 1 && word[0] == '-' && word != "--") error = unknown_flag(command_, word);
    for (Bound& bound : bounds_) {
      if (bound.option->count() == 0) continue;
      std::ranges::for_each(bound.values, unmark);
      const std::string value = bound.values.empty() ? std::string() : bound.values.back();
      if (bound.flag->kind != Value::none && bound.values.empty()) continue;
      if (auto wrong = check_value(bound.flag->name, bound.flag->kind, bound.flag->value, value); wrong && !error) {
        error = std::move(wrong);
        continue;
      }
      options.set(bound.flag->name, value);
      options.set_all(bound.flag->name, bound.values);
    }
    std::ranges::for_each(words_, unmark);
    options.mutable_words() = std::move(words_);
    return error;
  }

 private:
  void bind(const Flag& flag) {
    bounds_.push_back({.flag = &flag, .values = {}});
    Bound& bound = bounds_.back();
    std::string names = flag.letter != 0 ? concat("-", flag.letter, ",", flag.name) : std::string(flag.name);
    bound.option =
        flag.kind == Value::none ? app_.add_flag(names, bound.given) : app_.add_option(names, bound.values)->allow_extra_args(false);
    if (flag.kind == Value::none) bound.option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  const Command& command_;
  CLI::App app_;
  std::deque<Bound> bounds_;  // CLI11 keeps references
  Words words_;
};

/// Checks the arguments against the table's; `named` says that the command was not left out.
std::optional<Error> check_words(const Command& command, bool named, const Words& words) {
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const Argument& argument = command.arguments[i];
    if (i >= words.size()) {
      if (!argument.required) break;
      return usage(concat(command.name, " needs ", argument.name, ": ", argument.help), help_hint(command));
    }
    if (auto wrong = check_value(argument.name, argument.kind, "", words[i])) return wrong;
  }
  if (words.size() <= command.arguments.size() || (!command.arguments.empty() && command.arguments.back().many)) return std::nullopt;
  const std::string& extra = words[command.arguments.size()];
  const Command* meant = find_command(extra);
  if (const auto close = named ? "" : nearest_command(words[0]); !close.empty())
    return usage(concat("unknown command ", quote(words[0])), concat("did you mean assay ", close, "?"));
  // A word that is no path was meant for a command.
  if (!named && meant == nullptr && words[0].find_first_of("./") == std::string::npos)
    return usage(concat("unknown command ", quote(words[0])), "assay --help lists them");
  return usage(concat("unexpected argument ", quote(extra), " for ", command.name),
               meant != nullptr ? concat("the command stands first: assay ", meant->name, " ", escape(words[0])) : help_hint(command));
}

/// Names that flags had before, and still answer to.
constexpr std::pair<std::string_view, std::string_view> kFormerNames[] = {{"--jobs", "--threads"}};

void rename_flags(Words& words) {
  for (std::string& word : words) {
    if (word == "--") return;
    for (const auto& [former, name] : kFormerNames)
      if (word == former || word.starts_with(concat(former, "="))) word.replace(0, former.size(), name);
  }
}

}  // namespace

Parsed parse(const std::vector<std::string>& arguments) {
  Parsed parsed;
  Words words = arguments;
  rename_flags(words);
  parsed.command = take_command(words);
  const bool named = words.size() < arguments.size();
  parsed.error = Parser(*parsed.command, !named).run(words, parsed.options);
  if (parsed.options.has("--help")) {
    parsed.action = named ? Action::help : Action::program_help;
    parsed.error.reset();
    return parsed;
  }
  if (parsed.error) return parsed;
  if (parsed.options.has("--version")) parsed.action = Action::version;
  else if (parsed.options.has("--generate")) parsed.action = Action::generate;
  else parsed.error = check_words(*parsed.command, named, parsed.options.words());
  return parsed;
}

}  // namespace assay::cli
