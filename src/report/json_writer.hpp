// SPDX-License-Identifier: Apache-2.0
// JSON written as it comes: no tree in memory, no recursion, always valid.
//
// Texts are UTF-8 and stay as they are. A byte that is not part of valid UTF-8 is written as the four characters \x and two hex
// digits (in JSON: "\\xff"), as escape() shows it in text; a backslash in a text that has such bytes is doubled, so that two of
// them never look the same.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "report/writer.hpp"

namespace assay::report {

class JsonWriter {
 public:
  /// `spaces` > 0 puts members of the outer two levels on lines of their own, so that a document can be read and compared by line.
  explicit JsonWriter(Writer& out, int spaces = 0) : out_(out), spaces_(spaces) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  /// The next value's key.
  JsonWriter& key(std::string_view key);

  void text(std::string_view value);
  void boolean(bool value) { raw(value ? "true" : "false"); }
  void null() { raw("null"); }
  template <std::integral T>
  void integer(T value) {
    comma();
    out_.number(value);
  }
  /// The shortest text that reads back to the same number; "NaN", "Infinity", "-Infinity" as strings.
  void number(double value);
  void number(float value);
  void numbers(std::span<const std::uint64_t> values);
  /// A value that is JSON already.
  void raw(std::string_view json) {
    comma();
    out_.put(json);
  }
  Writer& out() { return out_; }
  /// Around a value that the caller writes to out() itself.
  void begin_value() { comma(); }
  void end_value() {
    if (filled_.empty()) out_.put('\n');
  }

 private:
  void open(char c);
  void close(char c);
  void comma();
  void line(std::size_t depth);

  Writer& out_;
  int spaces_;
  bool after_key_ = false;
  std::vector<bool> filled_;  // per open bracket: has it a member yet
};

/// [2, 3]
void write_numbers(Writer& out, std::span<const std::uint64_t> values);
/// The text as a JSON string with its quotes.
void write_json_text(Writer& out, std::string_view text);
/// Shortest text that reads back to the same number; not finite: NaN, Infinity, -Infinity without quotes. Negative zero is "-0.0",
/// which no reader takes for an integer.
void write_number(Writer& out, float value);
void write_number(Writer& out, double value);

}  // namespace assay::report
