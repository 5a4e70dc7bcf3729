// SPDX-License-Identifier: Apache-2.0
// Values as short text. Every visit writes something or ends one, so that the bound on the text bounds the walk.
#include <algorithm>

#include "assay/pickle.hpp"
#include "base/real_text.hpp"
#include "base/text.hpp"

namespace assay::pickle {

namespace {

constexpr std::size_t kDeepest = 24;
constexpr std::size_t kLongestText = 80;
constexpr std::size_t kLongestInteger = 128;

std::string real_text(double value) {
  if (value != value) return "nan";
  if (value > 1.7976931348623157e308) return "inf";
  if (value < -1.7976931348623157e308) return "-inf";
  // As Python's repr: an exponent below 1e-4 and from 1e16 on.
  const double size = value < 0 ? -value : value;
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  char buffer[kRealText];
  char* const end = write_shortest(buffer, value, plain ? RealForm::fixed : RealForm::scientific);
  std::string text(buffer, end);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string bytes_text(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "b'";
  for (const char c : bytes.substr(0, kLongestText / 4)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == '\'') text += {'\\', c};
    else if (byte >= 0x20 && byte < 0x7f) text += c;
    else text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text + (bytes.size() > kLongestText / 4 ? "…'" : "'");
}

// Decimal digits of a two's complement number, by repeated division.
std::string big_integer_text(ByteView bytes) {
  if (bytes.size() > kLongestInteger) return concat("<integer of ", bytes.size(), " bytes>");
  const bool negative = !bytes.empty() && (bytes[bytes.size() - 1] & std::byte{0x80}) != std::byte{0};
  std::vector<std::uint32_t> magnitude;  // a byte each, highest first
  unsigned borrow = 1;
  for (const std::byte b : bytes.span()) {
    unsigned byte = std::to_integer<unsigned>(b);
    if (negative) {
      byte = (byte ^ 0xff) + borrow;
      borrow = byte >> 8;
    }
    magnitude.push_back(byte & 0xff);
  }
  if (negative && borrow) magnitude.push_back(1);
  std::ranges::reverse(magnitude);
  std::string digits;
  while (std::ranges::any_of(magnitude, [](std::uint32_t b) { return b != 0; })) {
    std::uint32_t rest = 0;
    for (std::uint32_t& b : magnitude) {
      const std::uint32_t all = rest << 8 | b;
      b = all / 10;
      rest = all % 10;
    }
    digits += static_cast<char>('0' + rest);
  }
  if (negative) digits += '-';
  std::ranges::reverse(digits);
  return digits;
}

// What stays to be written: a value, or the text between values.
struct Task {
  enum What : std::uint8_t { value, text, close } what;
  Node node = kNoNode;
  std::string_view words;
};

class Writer {
 public:
  Writer(const Graph& graph, std::size_t max_bytes) : graph_(graph), max_(max_bytes) {}

  std::string write(Node n) {
    tasks_.push_back({Task::value, n, {}});
    while (!tasks_.empty()) {
      const Task task = tasks_.back();
      tasks_.pop_back();
      if (task.what == Task::close) open_.pop_back();
      if (task.what == Task::value) write_value(task.node);
      out_ += task.words;
      if (out_.size() > max_ && !tasks_.empty()) return std::move(out_ += "…");
    }
    return std::move(out_);
  }

 private:
  void write_value(Node n) {
    switch (graph_.kind(n)) {
      case Kind::none: out_ += "None"; break;
      case Kind::boolean: out_ += graph_.boolean(n) ? "True" : "False"; break;
      case Kind::integer: out_ += decimal(graph_.integer(n)); break;
      case Kind::big_integer: out_ += big_integer_text(graph_.bytes(n)); break;
      case Kind::real: out_ += real_text(graph_.real(n)); break;
      case Kind::text: out_ += concat('\'', escape(graph_.text(n), kLongestText), '\''); break;
      case Kind::bytes: out_ += bytes_text(graph_.text(n)); break;
      case Kind::bytearray: out_ += concat("bytearray(", bytes_text(graph_.text(n)), ')'); break;
      case Kind::global: write_global(n); break;
      case Kind::extension: out_ += concat("extension(", graph_.integer(n), ')'); break;
      case Kind::buffer: out_ += "<buffer>"; break;
      default: write_nested(n);
    }
  }

  void write_global(Node n) {
    const GlobalName name = graph_.mapped_global(n);
    out_ += name.module.empty() ? "?" : escape(name.module, kLongestText);
    out_ += '.';
    out_ += name.name.empty() ? "?" : escape(name.name, kLongestText);
  }

  void write_nested(Node n) {
    if (open_.size() >= kDeepest || std::ranges::find(open_, n) != open_.end()) {
      out_ += "…";
      return;
    }
    open_.push_back(n);
    parts_.clear();
    switch (graph_.kind(n)) {
      case Kind::list: items(n, "[", "]"); break;
      case Kind::tuple: items(n, "(", graph_.length(n) == 1 ? ",)" : ")"); break;
      case Kind::set: graph_.length(n) ? items(n, "{", "}") : text("set()"); break;
      case Kind::frozenset: items(n, "frozenset({", "})"); break;
      case Kind::dict: pairs(n); break;
      case Kind::persistent: items(n, "persistent(", ")"); break;
      case Kind::call: call(n); break;
      default: text("?");
    }
    parts_.push_back({Task::close, kNoNode, {}});
    tasks_.insert(tasks_.end(), parts_.rbegin(), parts_.rend());
  }

  void text(std::string_view words) { parts_.push_back({Task::text, kNoNode, words}); }
  void value(Node n) { parts_.push_back({Task::value, n, {}}); }

  // No more children are listed than the bound lets through: each takes a byte at least.
  void items(Node n, std::string_view open, std::string_view close) {
    text(open);
    for (std::size_t i = 0; i < graph_.length(n) && i <= max_; ++i) {
      if (i) text(", ");
      value(graph_.item(n, i));
    }
    text(close);
  }

  void pairs(Node n) {
    text("{");
    for (std::size_t i = 0; i < graph_.pair_count(n) && i <= max_; ++i) {
      if (i) text(", ");
      value(graph_.key(n, i));
      text(": ");
      value(graph_.value(n, i));
    }
    text("}");
  }

  // callable(args, **kwargs)[items]{pairs}.build(state)
  void call(Node n) {
    value(graph_.callable(n));
    const Node args = graph_.args(n);
    if (graph_.kind(args) == Kind::tuple) {
      items(args, "(", "");
    } else {
      text("(*");
      value(args);
    }
    if (graph_.kwargs(n) != kNoNode) {
      text(graph_.length(args) ? ", **" : "**");
      value(graph_.kwargs(n));
    }
    text(")");
    if (graph_.length(n)) items(n, "[", "]");
    if (graph_.pair_count(n)) pairs(n);
    const auto states = graph_.states(n);
    for (std::size_t i = 0; i < states.size() && i <= max_; ++i) {
      text(".build(");
      value(states[i]);
      text(")");
    }
  }

  const Graph& graph_;
  std::size_t max_;
  std::string out_;
  std::vector<Task> tasks_, parts_;
  std::vector<Node> open_;
};

}  // namespace

std::string describe(const Graph& graph, Node n, std::size_t max_bytes) { return Writer(graph, max_bytes).write(n); }

}  // namespace assay::pickle
