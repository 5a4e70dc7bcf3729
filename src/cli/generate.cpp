// SPDX-License-Identifier: Apache-2.0
// The manual page, the shells' completions and docs/commands.md, from the table of commands.
#include <fmt/core.h>

#include <string>
#include <vector>

#include "assay/version.hpp"
#include "base/text.hpp"
#include "cli/help.hpp"

namespace assay::cli {
namespace {

using report::Writer;

std::vector<const Flag*> own_flags(const Command& command) {
  std::vector<const Flag*> flags;
  for (const Flag& flag : command.flags) flags.push_back(&flag);
  if (command.lists) flags.push_back(&ndjson_flag());
  return flags;
}

std::vector<const Flag*> all_flags(const Command& command) {
  std::vector<const Flag*> flags = own_flags(command);
  for (const Flag& flag : common_flags()) flags.push_back(&flag);
  return flags;
}

std::string replaced(std::string_view text, char what, std::string_view with) {
  std::string out;
  for (const char c : text) c == what ? out += with : out += c;
  return out;
}

// --- man ---

std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-' || c == '\\') out += '\\';
    if (c == '\\') {
      out += 'e';
      continue;
    }
    if (c == '\'') {
      out += "\\(aq";
      continue;
    }
    out += c;
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

void put_man_flag(Writer& out, const Flag& flag) {
  out.put(".TP\n");
  std::string names = flag.letter != 0 ? fmt::format("\\fB\\-{}\\fR, ", flag.letter) : "";
  names += fmt::format("\\fB{}\\fR", roff(flag.name));
  if (flag.kind != Value::none) names += fmt::format(" \\fI{}\\fR", roff(flag.value));
  out.put(fmt::format("{}\n{}\n", names, roff(flag.help)));
}

void put_man(Writer& out) {
  out.put(fmt::format(".TH ASSAY 1 \"\" \"assay {}\" \"User Commands\"\n", version()));
  out.put(".SH NAME\nassay \\- look inside model checkpoints without running them\n");
  out.put(".SH SYNOPSIS\n.B assay\n.I FILE\n.br\n.B assay\n.I COMMAND\n.RI [ arguments ]\n.RI [ flags ]\n");
  out.put(
      ".SH DESCRIPTION\nSays what is in a checkpoint, whether it is whole, and what its values are. It never runs a line of the file and reads "
      "no tensor it was not asked for. A first argument that names no command is a file.\n");
  out.put(".SH COMMANDS\n");
  for (const Command& command : commands()) {
    out.put(fmt::format(".SS {}\n{}.\n", roff(usage_line(command)), roff(command.summary)));
    if (!command.alias.empty()) out.put(fmt::format("Also called\n.BR {} .\n", roff(command.alias)));
    if (!command.details.empty()) out.put(fmt::format(".PP\n{}\n", roff(command.details)));
    for (const Argument& argument : command.arguments) out.put(fmt::format(".TP\n.I {}\n{}\n", roff(argument.name), roff(argument.help)));
    for (const Flag* flag : own_flags(command)) put_man_flag(out, *flag);
  }
  out.put(".SH OPTIONS\nEvery command takes these.\n");
  for (const Flag& flag : common_flags()) put_man_flag(out, flag);
  for (const Flag& flag : program_flags()) put_man_flag(out, flag);
  out.put(".SH EXIT STATUS\n.TP\n0\nanswered, and fine\n.TP\n1\nanswered, and the answer is no\n.TP\n2\n"
          "could not answer fully: usage, input or output, not a checkpoint, malformed, incomplete\n.TP\n130\ninterrupted\n");
  out.put(
      ".SH ENVIRONMENT\n.TP\nNO_COLOR\nno colour where it is set and not empty\n.TP\nCLICOLOR_FORCE, FORCE_COLOR\ncolour also where standard "
      "output is no terminal\n");
  out.put(".SH EXAMPLES\n");
  for (const Command& command : commands())
    for (const Example& example : command.examples) out.put(fmt::format(".TP\n.B {}\n{}\n", roff(example.line), roff(example.what)));
}

// --- completions ---

std::string flag_words(const std::vector<const Flag*>& flags) {
  std::string out;
  for (const Flag* flag : flags) {
    out += fmt::format("{}{}", out.empty() ? "" : " ", flag->name);
    if (flag->letter != 0) out += fmt::format(" -{}", flag->letter);
  }
  return out;
}

std::string command_words() {
  std::string out;
  for (const Command& command : commands()) {
    out += fmt::format("{}{}", out.empty() ? "" : " ", command.name);
    if (!command.alias.empty()) out += fmt::format(" {}", command.alias);
  }
  return out;
}

std::string case_names(const Command& command) {
  return command.alias.empty() ? std::string(command.name) : fmt::format("{}|{}", command.name, command.alias);
}

/// Its argument is a command, not a file.
bool takes_command(const Command& command) { return !command.arguments.empty() && command.arguments[0].name == "COMMAND"; }

/// What `case $command:$prev` compares with: each name of the command with each of the flag.
std::string case_flags(const Command& command, const Flag& flag) {
  std::string out;
  for (const std::string_view name : {command.name, command.alias}) {
    if (name.empty()) continue;
    out += fmt::format("{}{}:{}", out.empty() ? "" : "|", name, flag.name);
    if (flag.letter != 0) out += fmt::format("|{}:-{}", name, flag.letter);
  }
  return out;
}

void put_bash(Writer& out) {
  out.put("# bash completion for assay\n_assay() {\n"
          "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=info flags words=() i\n"
          "  for ((i = 1; i < COMP_CWORD; ++i)); do\n    case ${COMP_WORDS[i]} in\n");
  out.put(fmt::format("      {}) command=${{COMP_WORDS[i]}}; break ;;\n    esac\n  done\n", replaced(command_words(), ' ', "|")));
  out.put("  case $command:$prev in\n");
  for (const Command& command : commands())
    for (const Flag* flag : own_flags(command))
      if (flag->kind == Value::choice)
        out.put(fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;;\n", case_flags(command, *flag),
                            replaced(flag->value, '|', " ")));
  for (const auto& flags : {common_flags(), program_flags()})
    for (const Flag& flag : flags)
      if (flag.kind == Value::choice)
        out.put(
            fmt::format("    *:{}) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;;\n", flag.name, replaced(flag.value, '|', " ")));
  out.put("  esac\n  case $command in\n");
  for (const Command& command : commands())
    out.put(fmt::format("    {}) flags='{}' ;;\n", case_names(command), flag_words(all_flags(command))));
  out.put(
      "  esac\n  if [[ $cur == -* ]]; then\n    COMPREPLY=($(compgen -W \"$flags --version --generate\" -- \"$cur\"))\n    return\n  fi\n");
  for (const Command& command : commands())
    if (takes_command(command))
      out.put(fmt::format(
          "  if [[ $command == {} && $COMP_CWORD -gt 1 ]]; then\n    COMPREPLY=($(compgen -W '{}' -- \"$cur\"))\n    return\n  fi\n",
          command.name, command_words()));
  out.put(fmt::format("  [[ $COMP_CWORD == 1 ]] && words=($(compgen -W '{}' -- \"$cur\"))\n", command_words()));
  out.put(
      "  compopt -o filenames 2>/dev/null\n  local IFS=$'\\n'\n  COMPREPLY=(\"${words[@]}\" $(compgen -f -- \"$cur\"))\n}\ncomplete -F _assay assay\n");
}

/// For a zsh _arguments specification in single quotes.
std::string zsh(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') out += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\', out += c;
    else out += c;
  }
  return out;
}

void put_zsh_flag(Writer& out, const Flag& flag) {
  std::string action;
  if (flag.kind == Value::choice) action = fmt::format(":{}:({})", "word", replaced(flag.value, '|', " "));
  else if (flag.kind == Value::path) action = ":file:_files";
  else if (flag.kind != Value::none) action = fmt::format(":{}:", zsh(flag.value));
  if (flag.letter != 0) out.put(fmt::format("        '-{}[{}]{}' \\\n", flag.letter, zsh(flag.help), action));
  out.put(fmt::format("        '{}[{}]{}' \\\n", flag.name, zsh(flag.help), action));
}

void put_zsh(Writer& out) {
  out.put("#compdef assay\n_assay() {\n  local -a names\n  names=(\n");
  for (const Command& command : commands()) {
    out.put(fmt::format("    '{}:{}'\n", command.name, zsh(command.summary)));
    if (!command.alias.empty()) out.put(fmt::format("    '{}:{}'\n", command.alias, zsh(command.summary)));
  }
  out.put(
      "  )\n  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n    _describe command names\n    _files\n    return\n  fi\n  case $words[2] in\n");
  for (const Command& command : commands()) {
    if (command.name == "info") continue;
    out.put(fmt::format("    {})\n      _arguments \\\n", case_names(command)));
    for (const Flag* flag : all_flags(command)) put_zsh_flag(out, *flag);
    if (takes_command(command)) out.put(fmt::format("        '*:command:({})'\n      ;;\n", command_words()));
    else out.put("        '*:file:_files'\n      ;;\n");
  }
  out.put("    *)\n      _arguments \\\n");
  for (const Flag& flag : common_flags()) put_zsh_flag(out, flag);
  for (const Flag& flag : program_flags()) put_zsh_flag(out, flag);
  out.put("        '*:file:_files'\n      ;;\n  esac\n}\n_assay \"$@\"\n");
}

std::string fish(std::string_view text) { return replaced(replaced(text, '\\', "\\\\"), '\'', "\\'"); }

void put_fish_flag(Writer& out, std::string_view condition, const Flag& flag) {
  out.put("complete -c assay");
  if (!condition.empty()) out.put(fmt::format(" -n '__fish_seen_subcommand_from {}'", condition));
  out.put(fmt::format(" -l {}", flag.name.substr(2)));
  if (flag.letter != 0) out.put(fmt::format(" -s {}", flag.letter));
  if (flag.kind == Value::choice) out.put(fmt::format(" -x -a '{}'", replaced(flag.value, '|', " ")));
  else if (flag.kind == Value::path) out.put(" -r");
  else if (flag.kind != Value::none) out.put(" -x");
  out.put(fmt::format(" -d '{}'\n", fish(flag.help)));
}

void put_fish(Writer& out) {
  for (const Command& command : commands()) {
    std::string names(command.name);
    if (!command.alias.empty()) names += fmt::format(" {}", command.alias);
    out.put(fmt::format("complete -c assay -n __fish_use_subcommand -a '{}' -d '{}'\n", names, fish(command.summary)));
    if (takes_command(command))
      out.put(fmt::format("complete -c assay -n '__fish_seen_subcommand_from {}' -f -a '{}'\n", names, command_words()));
    for (const Flag* flag : own_flags(command)) put_fish_flag(out, names, *flag);
  }
  for (const Flag& flag : common_flags()) put_fish_flag(out, "", flag);
  for (const Flag& flag : program_flags()) put_fish_flag(out, "", flag);
}

// --- docs/commands.md ---

std::string cell(std::string_view text) { return replaced(text, '|', "\\|"); }

void put_markdown_flags(Writer& out, const std::vector<const Flag*>& flags) {
  out.put("| flag | what it does |\n|---|---|\n");
  for (const Flag* flag : flags) {
    std::string names = flag->letter != 0 ? fmt::format("`-{}`, `{}", flag->letter, flag->name) : fmt::format("`{}", flag->name);
    if (flag->kind != Value::none) names += fmt::format(" {}", cell(flag->value));
    out.put(fmt::format("| {}` | {} |\n", names, cell(flag->help)));
  }
}

void put_markdown(Writer& out) {
  out.put(
      "# Commands\n\nMade by `assay --generate markdown` from the table in `src/cli/commands.cpp`. What `--where` takes: [filters](filters.md).\n");
  for (const Command& command : commands()) {
    out.put(fmt::format("\n## {}\n\n{}", command.name, command.summary));
    if (!command.alias.empty()) out.put(fmt::format(" (also `{}`)", command.alias));
    out.put(".\n\n```\n");
    for (const Example& example : command.examples) out.put(fmt::format("{}    # {}\n", example.line, example.what));
    out.put(fmt::format("```\n\nUsage: `{}`\n", usage_line(command)));
    if (!command.details.empty()) out.put(fmt::format("\n{}\n", command.details));
    if (!command.arguments.empty()) {
      out.put("\n| argument | what it is |\n|---|---|\n");
      for (const Argument& argument : command.arguments) out.put(fmt::format("| `{}` | {} |\n", argument.name, cell(argument.help)));
    }
    if (const auto flags = own_flags(command); !flags.empty()) {
      out.put('\n');
      put_markdown_flags(out, flags);
    }
  }
  out.put("\n## Flags of every command\n\n");
  std::vector<const Flag*> flags;
  for (const auto& list : {common_flags(), program_flags()})
    for (const Flag& flag : list) flags.push_back(&flag);
  put_markdown_flags(out, flags);
  out.put("\n## Exit status\n\n| code | meaning |\n|---|---|\n| 0 | answered, and fine |\n| 1 | answered, and the answer is no |\n"
          "| 2 | could not answer fully: usage, input or output, not a checkpoint, malformed, incomplete |\n| 130 | interrupted |\n");
}

}  // namespace

void generate(Writer& out, std::string_view what) {
  constexpr std::pair<std::string_view, void (*)(Writer&)> kMakers[] = {
      {"man", put_man}, {"complete-bash", put_bash}, {"complete-zsh", put_zsh}, {"complete-fish", put_fish}, {"markdown", put_markdown}};
  for (const auto& [name, make] : kMakers)
    if (name == what) make(out);
}

}  // namespace assay::cli
