// SPDX-License-Identifier: Apache-2.0
// What the program can do, as data. Parsing, --help, the man page, the completions and docs/commands.md all come from this table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace assay::cli {

struct Context;

enum class Value : std::uint8_t {
  none,  ///< a flag without a value
  text,
  number,  ///< an unsigned integer
  choice,  ///< one of the words that `value` lists: "auto|always|never"
  path,
};

struct Flag {
  std::string_view name;  ///< "--limit"
  char letter = 0;        ///< 'n' for -n; 0 without
  Value kind = Value::none;
  std::string_view value = {};  ///< what the value is called: "N"; or the choices
  std::string_view help = {};
};

struct Argument {
  std::string_view name;  ///< "FILE"
  Value kind = Value::text;
  bool required = true;
  bool many = false;  ///< takes all that follow; the last argument only
  std::string_view help = {};
};

struct Example {
  std::string_view line;  ///< "assay tensors model.safetensors"
  std::string_view what;
};

struct Command {
  std::string_view name;
  std::string_view alias;    ///< "" without
  std::string_view summary;  ///< one line, for lists
  std::string_view details;  ///< a paragraph, for --help; "" where the summary says it all
  std::span<const Argument> arguments;
  std::span<const Flag> flags;  ///< its own, besides the common ones
  std::span<const Example> examples;
  bool lists;            ///< prints rows: takes --ndjson
  int (*run)(Context&);  ///< answers and gives the exit code
};

/// THE table of commands, in commands.cpp.
std::span<const Command> commands();
/// Flags that every command takes.
std::span<const Flag> common_flags();
/// --ndjson, which commands that list take besides.
const Flag& ndjson_flag();
/// Flags of the program itself: --help, --version, --generate.
std::span<const Flag> program_flags();

/// By name or alias; null when there is none.
const Command* find_command(std::string_view name);
/// The command that a word was probably meant to be; "" where none is near.
std::string_view nearest_command(std::string_view word);
/// One of the command's own or common flags by its long name or letter ("--limit", "-n"); null when it has none such.
const Flag* find_flag(const Command& command, std::string_view name);

}  // namespace assay::cli
