// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "containers/pickle/trace.hpp"
#include "report/pickle_report.hpp"
#include "report/units.hpp"

namespace assay::report {

namespace {

using pickle::Argument;
using pickle::Graph;
using pickle::Kind;
using pickle::kNoNode;
using pickle::Node;
using pickle::Opcode;
using pickle::Traced;

constexpr std::size_t kShownResult = 60;  // columns of what an opcode leaves on the stack
constexpr std::size_t kShownArgument = 1000;
constexpr std::size_t kDeepestIndent = 16;
constexpr std::size_t kOpcodeColumns = 12;  // of an opcode's name; longer ones push what follows
constexpr std::size_t kHexBytes = 64;
constexpr std::uint64_t kStopEvery = 1024;

bool fetches(const Opcode& op) { return op.name == "GET" || op.name == "BINGET" || op.name == "LONG_BINGET"; }
bool closes_mark(const Opcode& op) { return op.effect.starts_with("M ") || op.effect.find(" M ") != std::string_view::npos; }
/// What is left on the stack says more than the argument did.
bool makes_something(const Opcode& op) {
  constexpr std::string_view kMakers[] = {"TUPLE",     "TUPLE1",       "TUPLE2",    "TUPLE3", "LIST", "DICT",  "FROZENSET",
                                          "REDUCE",    "NEWOBJ",       "NEWOBJ_EX", "INST",   "OBJ",  "BUILD", "PERSID",
                                          "BINPERSID", "STACK_GLOBAL", "DUP",       "EXT1",   "EXT2", "EXT4",  "STOP"};
  return std::ranges::find(kMakers, op.name) != std::end(kMakers);
}
/// Arguments that are text to read rather than bytes.
bool is_text_argument(const Opcode& op) {
  return op.name.find("UNICODE") != std::string_view::npos || op.name.find("STRING") != std::string_view::npos;
}
bool is_counted(Argument argument) {
  return argument == Argument::len1 || argument == Argument::len4 || argument == Argument::len4_signed || argument == Argument::len8;
}

std::string hex_bytes(ByteView bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < std::min(bytes.size(), kHexBytes); ++i) {
    const auto byte = std::to_integer<unsigned>(bytes[i]);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

/// What text and JSON share: where marks stand, and when to end.
class OpsTracer : public pickle::Tracer {
 public:
  OpsTracer(ByteView stream, const PickleExtent& extent) : stream_(stream), extent_(extent) {}
  bool step(const Traced& op) final {
    if (rows_ == extent_.rows || (++rows_ % kStopEvery == 0 && extent_.stop != nullptr && extent_.stop())) {
      omitted_.rows = true;
      return false;
    }
    std::optional<std::uint64_t> mark;
    while (marks_.size() > op.marks) mark = marks_.back(), marks_.pop_back();
    const std::size_t depth = marks_.size();
    if (op.marks > marks_.size()) marks_.push_back(stream_.offset(op.position));
    put(op, depth, mark);
    return true;
  }
  PickleOmitted omitted() const { return omitted_; }

 protected:
  virtual void put(const Traced& op, std::size_t depth, std::optional<std::uint64_t> mark) = 0;
  ByteView argument(const Traced& op) const { return stream_.slice(op.step.argument, op.step.argument_size); }

  ByteView stream_;
  const PickleExtent& extent_;
  std::vector<std::uint64_t> marks_;  // where they were set
  std::uint64_t rows_ = 0;
  PickleOmitted omitted_;
};

class OpsText final : public OpsTracer {
 public:
  OpsText(Writer& out, const Style& style, ByteView stream, std::uint64_t end, const PickleExtent& extent)
      : OpsTracer(stream, extent), out_(out), style_(style), column_(offset_width(end)) {}

  void put_title() {
    out_.repeat(' ', column_ - 6);
    out_.put(toned(style_, Tone::strong, "OFFSET  STACK  OPCODE AND ARGUMENT"));
    out_.put('\n');
  }

 private:
  void put(const Traced& op, std::size_t depth, std::optional<std::uint64_t> mark) override {
    const Opcode& row = *op.step.row;
    const std::string offset = hex(stream_.offset(op.position)), stack = decimal(std::uint64_t{op.stack});
    out_.repeat(' ', column_ - std::min(column_, offset.size()));
    out_.put(toned(style_, Tone::faint, offset));
    out_.repeat(' ', 2 + 5 - std::min<std::size_t>(5, stack.size()));
    out_.put(toned(style_, Tone::faint, stack));
    const std::size_t indent = 2 + 2 * std::min(depth, kDeepestIndent);
    out_.repeat(' ', indent);
    out_.put(toned(style_, row.argument == Argument::none ? Tone::plain : Tone::strong, row.name));
    std::string words = argument_text(op), result = result_text(op, mark);
    const std::size_t used = column_ + 7 + indent + std::max(kOpcodeColumns, row.name.size()) + 1;
    if (style_.width > 0) {
      const std::size_t room = std::max<std::size_t>(style_.width, used + 24) - used;
      words = clipped(style_, words, room);
      result = clipped(style_, result, room - std::min(room, display_width(words) + (words.empty() ? 0 : 2)));
    }
    if (!words.empty() || !result.empty()) out_.repeat(' ', kOpcodeColumns - std::min(kOpcodeColumns, row.name.size()) + 1);
    out_.put(words);
    if (!result.empty()) out_.put(words.empty() ? "" : "  "), out_.put(toned(style_, Tone::faint, result));
    out_.put('\n');
    if (op.next > op.step.next) put_raw(stream_.offset(op.step.next), op.next - op.step.next);
  }

  void put_raw(std::uint64_t at, std::size_t size) {
    const std::string offset = hex(at);
    out_.repeat(' ', column_ - std::min(column_, offset.size()));
    out_.put(toned(style_, Tone::faint, offset));
    out_.put(concat("         (", counted(size, "byte", "bytes"), " of an array)\n"));
  }

  std::string printable(std::string text) const {
    if (style_.unicode) return text;
    for (std::size_t at = text.find("…"); at != std::string::npos; at = text.find("…", at)) text.replace(at, 3, "...");
    return within_ascii(style_, std::move(text));
  }

  std::string argument_text(const Traced& op) const {
    const Opcode& row = *op.step.row;
    if (op.memo != pickle::kNoMemo) return concat("memo ", op.memo);
    const std::string_view text = row.argument == Argument::none ? std::string_view() : argument(op).text();
    switch (row.argument) {
      case Argument::none: return {};
      case Argument::u1:
      case Argument::u2:
      case Argument::u4:
      case Argument::u8: return decimal(op.step.number);
      case Argument::i4: return decimal(static_cast<std::int64_t>(op.step.number));
      case Argument::f8_be: return pickle::describe(op.graph, op.top);
      case Argument::line: return printable(escape(text, kShownArgument));
      case Argument::two_lines: {
        const std::size_t newline = text.find('\n');
        return printable(concat(escape(text.substr(0, newline), kShownArgument), ' ', escape(text.substr(newline + 1), kShownArgument)));
      }
      default: break;
    }
    if (is_text_argument(row)) return printable(concat('\'', escape(text, kShownArgument), '\''));
    std::string shown = pickle::describe(op.graph, op.top);
    if (row.name.find("BYTE") != std::string_view::npos && text.size() > 20) shown += concat("  ", counted(text.size(), "byte", "bytes"));
    return printable(std::move(shown));
  }

  std::string result_text(const Traced& op, std::optional<std::uint64_t> mark) const {
    const Opcode& row = *op.step.row;
    std::string text;
    if (closes_mark(row) && mark) text = concat("mark at ", hex(*mark));
    const bool shows = makes_something(row) || fetches(row);
    if (!shows || op.top == kNoNode) return text;
    text += concat(text.empty() ? "" : "  ",
                   fetches(row)     ? "= "
                   : style_.unicode ? "→ "
                                    : "-> ",
                   printable(pickle::describe(op.graph, op.top, kShownResult)));
    return text;
  }

  Writer& out_;
  const Style& style_;
  std::size_t column_;
};

class OpsJson final : public OpsTracer {
 public:
  OpsJson(JsonWriter* json, Writer* lines, ByteView stream, std::uint64_t number, const PickleExtent& extent)
      : OpsTracer(stream, extent), json_(json), lines_(lines), number_(number) {}

 private:
  void put(const Traced& op, std::size_t, std::optional<std::uint64_t> mark) override {
    if (json_ != nullptr) return write(*json_, op, mark);
    JsonWriter line(*lines_);
    write(line, op, mark);
  }
  void write(JsonWriter& json, const Traced& op, std::optional<std::uint64_t> mark) const {
    const Opcode& row = *op.step.row;
    json.begin_object();
    if (number_ != 0) json.key("pickle").integer(number_);
    json.key("offset").integer(stream_.offset(op.position));
    json.key("opcode").text(row.name);
    write_argument(json, op);
    json.key("stack").integer(op.stack);
    json.key("marks").integer(op.marks);
    if (op.memo != pickle::kNoMemo) json.key("memo").integer(op.memo);
    if (closes_mark(row) && mark) json.key("mark").integer(*mark);
    if (op.next > op.step.next) json.key("raw_bytes").integer(op.next - op.step.next);
    json.end_object();
  }
  void write_argument(JsonWriter& json, const Traced& op) const {
    const Opcode& row = *op.step.row;
    if (row.argument == Argument::none) return;
    if (row.argument == Argument::f8_be) return json.key("argument").number(op.graph.real(op.top));
    if (row.argument == Argument::i4) return json.key("argument").integer(static_cast<std::int64_t>(op.step.number));
    const ByteView bytes = argument(op);
    if (row.argument == Argument::line) return json.key("argument").text(bytes.text());
    if (row.argument == Argument::two_lines) {
      const std::size_t newline = bytes.text().find('\n');
      json.key("argument").begin_array();
      json.text(bytes.text().substr(0, newline));
      json.text(bytes.text().substr(newline + 1));
      return json.end_array();
    }
    if (!is_counted(row.argument)) return json.key("argument").integer(op.step.number);
    if (is_text_argument(row)) return json.key("argument").text(bytes.text());
    json.key("argument").text(hex_bytes(bytes));
    json.key("argument_size").integer(bytes.size());
  }

  JsonWriter* json_;
  Writer* lines_;
  std::uint64_t number_;  // 0 within a document, which says it once
};

}  // namespace

PickleOmitted write_pickle_ops(Writer& out, const Style& style, ByteView stream, const Graph& graph, pickle::RawReader* raw,
                               const Limits& limits, const PickleExtent& extent) {
  OpsText tracer(out, style, stream, graph.end_offset(), extent);
  tracer.put_title();
  pickle::trace(stream, limits, raw, tracer);
  return tracer.omitted();
}

PickleOmitted write_pickle_ops(JsonWriter& json, ByteView stream, pickle::RawReader* raw, const Limits& limits,
                               const PickleExtent& extent) {
  OpsJson tracer(&json, nullptr, stream, 0, extent);
  pickle::trace(stream, limits, raw, tracer);
  return tracer.omitted();
}

PickleOmitted write_pickle_op_lines(Writer& out, ByteView stream, std::uint64_t number, pickle::RawReader* raw, const Limits& limits,
                                    const PickleExtent& extent) {
  OpsJson tracer(nullptr, &out, stream, number, extent);
  pickle::trace(stream, limits, raw, tracer);
  return tracer.omitted();
}

}  // namespace assay::report
