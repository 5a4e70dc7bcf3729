// SPDX-License-Identifier: Apache-2.0
#include "containers/npy.hpp"

#include <algorithm>
#include <optional>

#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::npy {

namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::uint64_t kLongestHeader = std::uint64_t{1} << 20;
constexpr int kDeepestType = 16;

std::string read_type_size(std::string_view type, std::uint64_t& size) {
  std::string_view rest = type;
  if (!rest.empty() && std::string_view("<>|=").find(rest.front()) != std::string_view::npos) rest.remove_prefix(1);
  if (rest.empty()) return "is empty";
  const char kind = rest.front();
  rest.remove_prefix(1);
  const std::string_view unit = rest.substr(std::min(rest.find('['), rest.size()));  // of dates: [ns], [25s]
  rest.remove_suffix(unit.size());
  if (!unit.empty() && (unit.back() != ']' || (kind != 'M' && kind != 'm'))) return "is not a NumPy type";
  std::uint64_t count = 0;
  for (const char c : rest) {
    if (c < '0' || c > '9') return "is not a NumPy type";
    count = count * 10 + static_cast<std::uint64_t>(c - '0');
    if (count > 0x7fffffff) return "is too large for a NumPy type";
  }
  if (kind == 'O') {
    size = 8;
    return {};
  }
  if (kind == '?' && rest.empty()) {
    size = 1;
    return {};
  }
  if (rest.empty() || std::string_view("biufcmMSaUV").find(kind) == std::string_view::npos) return "is not a NumPy type";
  size = kind == 'U' ? count * 4 : count;
  return {};
}

/// One pass over the literal, with its position; the first thing that is wrong sticks.
class Parser {
 public:
  Parser(ByteView bytes, bool utf8) : bytes_(bytes), text_(bytes.text()), utf8_(utf8) {}

  Result<void> parse(Header& header) {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (ok() && !accept('}')) {
      const std::size_t at = i_;
      const std::string key = string();
      expect(':');
      bool& seen = key == "descr" ? descr : key == "fortran_order" ? order : shape;
      if (ok() && key != "descr" && key != "fortran_order" && key != "shape") fail(concat("has the key ", quote(key)), at);
      if (ok() && seen) fail(concat("has the key ", quote(key), " twice"), at);
      seen = true;
      if (!ok()) break;
      if (key == "descr") this->descr(header);
      else if (key == "fortran_order") header.fortran_order = boolean();
      else whole_shape(header.shape);
      if (!accept(',') && peek() != '}') fail("has no comma or brace", i_);
    }
    blanks();
    if (ok() && i_ != text_.size()) fail("goes on behind its end", i_);
    if (ok() && !(descr && order && shape)) fail("lacks one of descr, fortran_order and shape", i_);
    if (error_) return std::unexpected(std::move(*error_));
    return {};
  }

 private:
  bool ok() const { return !error_; }
  void fail(std::string what, std::size_t at, Code code = Code::bad_header) {
    if (!error_) error_ = Error(code, concat("the array header ", what)).at(bytes_.offset(std::min(at, bytes_.size())));
  }
  void blanks() {
    while (i_ < text_.size() && (text_[i_] == ' ' || text_[i_] == '\n' || text_[i_] == '\t' || text_[i_] == '\r')) ++i_;
  }
  char peek() {
    blanks();
    return i_ < text_.size() ? text_[i_] : '\0';
  }
  bool accept(char c) {
    if (!ok() || peek() != c) return false;
    ++i_;
    return true;
  }
  void expect(char c) {
    if (ok() && !accept(c)) fail(concat("has no '", c, "' where one must be"), i_);
  }
  bool word(std::string_view w) {
    blanks();
    if (!ok() || text_.substr(i_, w.size()) != w) return false;
    i_ += w.size();
    return true;
  }

  bool boolean() {
    if (word("True")) return true;
    if (!word("False")) fail("has neither True nor False where one must be", i_);
    return false;
  }

  /// One character of the header as UTF-8: those of majors 1 and 2 are Latin-1.
  void append(std::string& out, char c) {
    if (utf8_) out += c;
    else append_utf8(out, static_cast<unsigned char>(c));
  }

  std::string string() {
    blanks();
    if (ok() && i_ < text_.size() && text_[i_] == 'u') ++i_;  // Python 2
    const char quote_mark = i_ < text_.size() ? text_[i_] : '\0';
    std::string out;
    if (!ok() || (quote_mark != '\'' && quote_mark != '"')) {
      fail("has no text where one must be", i_);
      return out;
    }
    for (++i_; i_ < text_.size(); ++i_) {
      if (text_[i_] == quote_mark) {
        ++i_;
        return out;
      }
      if (text_[i_] != '\\') append(out, text_[i_]);
      else if (!escaped(out)) break;
    }
    fail("has a text that does not end, or an escape that is none", i_);
    return out;
  }

  /// At a backslash; ends at the escape's last character.
  bool escaped(std::string& out) {
    constexpr std::string_view kLetters = "\\'\"abfnrtv", kValues = "\\'\"\a\b\f\n\r\t\v";
    if (++i_ >= text_.size()) return false;
    const char c = text_[i_];
    if (const std::size_t known = kLetters.find(c); known != std::string_view::npos) {
      out += kValues[known];
      return true;
    }
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0 || text_.size() - i_ <= digits) return false;
    std::uint32_t value = 0;
    for (std::size_t d = 0; d < digits; ++d) {
      const char h = lower(text_[++i_]);
      const std::size_t digit = std::string_view("0123456789abcdef").find(h);
      if (digit == std::string_view::npos || value > 0x10ffff) return false;
      value = value << 4 | static_cast<std::uint32_t>(digit);
    }
    if (value > 0x10ffff) return false;
    append_utf8(out, value);
    return true;
  }

  std::uint64_t number() {
    blanks();
    const std::size_t from = i_;
    std::uint64_t value = 0;
    for (; i_ < text_.size() && text_[i_] >= '0' && text_[i_] <= '9'; ++i_) {
      const auto next = checked_mul(value, 10);
      const auto sum = next ? checked_add(*next, static_cast<std::uint64_t>(text_[i_] - '0')) : std::nullopt;
      if (!sum) {
        fail("has a dimension beyond 64 bits", from, Code::bad_shape);
        return 0;
      }
      value = *sum;
    }
    if (i_ == from) fail("has no number where a dimension must be", from, Code::bad_shape);
    if (i_ < text_.size() && (text_[i_] == 'L' || text_[i_] == 'l')) ++i_;  // Python 2
    return value;
  }

  /// (), (3,), (3, 4)
  void dimensions(std::vector<std::uint64_t>& shape) {
    expect('(');
    while (ok() && !accept(')')) {
      shape.push_back(number());
      if (shape.size() > kMostDimensions) fail(concat("has more than ", kMostDimensions, " dimensions"), i_, Code::bad_shape);
      if (!accept(',') && peek() != ')') fail("has no comma between dimensions", i_);
    }
  }

  /// The array's own shape: (3) is a number to Python, which NumPy takes for a type's shape only.
  void whole_shape(std::vector<std::uint64_t>& shape) {
    const std::size_t at = i_;
    dimensions(shape);
    if (ok() && shape.size() == 1 && text_.substr(at, i_ - at).find(',') == std::string_view::npos)
      fail("has a number where a shape must be; NumPy refuses that", at, Code::bad_shape);
  }

  void descr(Header& header) {
    header.structured = peek() == '[';
    type(header, "", 0);
  }

  void add(Header& header, const std::string& name, std::string text, std::size_t at) {
    Field field{.name = name, .type = std::move(text), .shape = {}, .offset = header.item_size, .nbytes = 0};
    if (std::string why = read_type_size(field.type, field.nbytes); !why.empty())
      return fail(concat("has the type ", quote(field.type), ", which ", why), at, Code::bad_dtype);
    const auto total = checked_add(header.item_size, field.nbytes);
    if (!total) return fail("has an item of more than 2^64 bytes", at, Code::shape_overflow);
    header.item_size = *total;
    header.has_objects |= field.type.find('O') != std::string::npos;
    header.fields.push_back(std::move(field));
  }

  /// Adds the fields of one type to the item. Depth is bounded here, breadth by the header's size.
  void type(Header& header, const std::string& name, int depth) {
    const std::size_t at = i_;
    if (depth > kDeepestType) return fail("nests types too deeply", at, Code::bad_dtype);
    if (accept('[')) {
      while (ok() && !accept(']')) {
        member(header, name, depth);
        if (!accept(',') && peek() != ']') fail("has no comma between fields", i_);
      }
    } else if (accept('(')) {
      const Start start = here(header);
      type(header, name, depth + 1);
      expect(',');
      sub_shape(header, start);
      expect(')');
    } else {
      std::string text = string();
      if (ok()) add(header, name, std::move(text), at);
    }
  }

  /// ('name', D) or ('name', D, shape); the name may be ('title', 'name').
  void member(Header& header, const std::string& outer, int depth) {
    expect('(');
    std::string name;
    if (accept('(')) {
      string();
      expect(',');
      name = string();
      accept(',');
      expect(')');
    } else {
      name = string();
    }
    expect(',');
    if (!ok()) return;
    if (!outer.empty()) name = concat(outer, '.', name);
    const Start start = here(header);
    type(header, name, depth + 1);
    if (accept(',') && peek() != ')') sub_shape(header, start);
    expect(')');
  }

  /// Where the fields of a type begin.
  struct Start {
    std::size_t field;
    std::uint64_t offset;
  };
  static Start here(const Header& header) { return {header.fields.size(), header.item_size}; }

  /// Reads the shape of a sub-array, a number or a tuple, and applies it to the fields from `start` on. Those of a structure are listed
  /// once, at its first place.
  void sub_shape(Header& header, Start start) {
    const std::size_t at = i_;
    std::vector<std::uint64_t> shape;
    if (peek() == '(') dimensions(shape);
    else shape.push_back(number());
    accept(',');
    std::optional<std::uint64_t> total = header.item_size - start.offset;
    for (const std::uint64_t d : shape)
      if (total) total = checked_mul(*total, d);
    const auto end = total ? checked_add(start.offset, *total) : std::nullopt;
    if (!end) return fail("has an item of more than 2^64 bytes", at, Code::shape_overflow);
    header.item_size = *end;
    if (header.fields.size() == start.field + 1) header.fields.back().nbytes = *total;
    for (std::size_t f = start.field; f < header.fields.size(); ++f) {
      auto& own = header.fields[f].shape;
      own.insert(own.begin(), shape.begin(), shape.end());
      if (own.size() > kMostDimensions) return fail(concat("has more than ", kMostDimensions, " dimensions"), at, Code::bad_shape);
    }
  }

  static constexpr std::size_t kMostDimensions = 64;
  ByteView bytes_;
  std::string_view text_;
  bool utf8_;
  std::size_t i_ = 0;
  std::optional<Error> error_;
};

}  // namespace

bool is_npy(ByteView head) { return head.text().starts_with(kMagic); }

Result<std::uint64_t> header_size(ByteView head) {
  if (!is_npy(head)) return fail(Error(Code::bad_header, "no NumPy magic").at(head.offset()));
  if (head.size() < 10)
    return fail(Error(Code::truncated, concat("the array file has ", head.size(), " bytes, its header starts at 10")).at(head.offset()));
  const unsigned major = std::to_integer<unsigned>(head[6]);
  if (major < 1 || major > 3)
    return fail(Error(Code::bad_version, concat("array file version ", major, " is not 1, 2 or 3")).at(head.offset(6)));
  if (head[7] != std::byte{0})
    return fail(Error(Code::bad_version, concat("array file version ", major, '.', std::to_integer<unsigned>(head[7]), " is not ", major,
                                                ".0, which is the only one that NumPy reads"))
                    .at(head.offset(7)));
  std::uint64_t n = 10, size = load_le<std::uint16_t>(head.data() + 8);
  if (major > 1) {
    if (head.size() < 12)
      return fail(Error(Code::truncated, concat("the array file has ", head.size(), " bytes, its header starts at 12")).at(head.offset()));
    n = 12;
    size = load_le<std::uint32_t>(head.data() + 8);
  }
  if (size > kLongestHeader)
    return fail(Error(Code::limit_exceeded, concat("the array header claims ", size, " bytes, the limit is ", kLongestHeader))
                    .at(head.offset(8))
                    .expected_found(kLongestHeader, size));
  return n + size;
}

Result<Header> parse_header(ByteView bytes, const Limits& limits) {
  ASSAY_TRY(const std::uint64_t size, header_size(bytes));
  if (size > bytes.size())
    return fail(Error(Code::truncated, concat("the array header needs ", size, " bytes, ", bytes.size(), " are there"))
                    .at(bytes.offset())
                    .expected_found(size, bytes.size()));
  Header header;
  header.major = std::to_integer<std::uint8_t>(bytes[6]);
  header.minor = std::to_integer<std::uint8_t>(bytes[7]);
  header.data_offset = size;
  const std::size_t begin = header.major > 1 ? 12 : 10;
  Parser parser(bytes.slice(begin, static_cast<std::size_t>(size) - begin), header.major >= 3);
  ASSAY_CHECK(parser.parse(header));
  if (header.shape.size() > limits.rank)
    return fail(Error(Code::bad_shape, concat("the array has ", header.shape.size(), " dimensions, the limit is ", limits.rank))
                    .at(bytes.offset()));
  return header;
}

Result<Header> read_header(const ByteSource& source, const Limits& limits) {
  ASSAY_TRY(const ByteBlock head, source.fetch(0, std::min<std::uint64_t>(12, source.size())));
  ASSAY_TRY(const std::uint64_t size, header_size(head.view()));
  if (size > source.size())
    return fail(Error(Code::truncated, concat("the array header needs ", size, " bytes, the file has ", source.size()))
                    .at(0)
                    .expected_found(size, source.size()));
  ASSAY_TRY(const ByteBlock whole, source.fetch(0, size));
  return parse_header(whole.view(), limits);
}

Result<std::uint64_t> type_size(std::string_view type) {
  std::uint64_t size = 0;
  if (std::string why = read_type_size(type, size); !why.empty()) return fail(Code::bad_dtype, concat("type ", quote(type), ' ', why));
  return size;
}

Result<std::uint64_t> data_size(const Header& header) {
  std::optional<std::uint64_t> total = header.item_size;
  for (const std::uint64_t d : header.shape)
    if (total) total = checked_mul(*total, d);
  // A dimension of 0 makes it 0 even where the others overflow.
  if (std::ranges::find(header.shape, std::uint64_t{0}) != header.shape.end()) total = 0;
  if (!total)
    return fail(Code::shape_overflow, concat("shape ", bracketed(header.shape), " of ", header.item_size, " byte items overflows"));
  return *total;
}

}  // namespace assay::npy
