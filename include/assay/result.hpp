// SPDX-License-Identifier: Apache-2.0
// How a call fails: Result<T> holds a value or an Error; an Error says what, where, and what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace assay {

/// Every error and finding, one row of errors.def each.
enum class Code : std::uint16_t {
#define ASSAY_CODE(id, text, severity, hint) id,
#include "assay/errors.def"
#undef ASSAY_CODE
};

/// How bad: a note informs, a warning asks for a look, damage means lost or wrong data, danger means code would run.
enum class Severity : std::uint8_t { note, warning, damage, danger };

/// The kebab-case name that every face prints, such as "out-of-storage".
std::string_view code_name(Code code);
/// The code with this kebab-case name.
std::optional<Code> code_from_name(std::string_view name);
/// The severity a finding of this code has unless its maker says otherwise.
Severity code_severity(Code code);
/// What to do about it, in one lower-case sentence; "" where nothing general can be said.
std::string_view code_hint(Code code);
std::string_view severity_name(Severity severity);

/// One named number or text that belongs to an error or a finding, such as {"expected", 16}.
struct Fact {
  std::string key;
  std::variant<std::uint64_t, std::int64_t, double, bool, std::string, std::vector<std::string>> value;
};

/// Where something is. Empty texts and absent numbers mean "does not apply".
struct Where {
  std::string file = {};    ///< name within the FileSet
  std::string member = {};  ///< archive member, such as "archive/data.pkl"
  std::string tensor = {};
  std::optional<std::uint64_t> offset = {};  ///< absolute in the file, bytes
  std::optional<std::uint64_t> length = {};  ///< bytes
};

/// The reason an operation ended without an answer. One owning pointer, so Result<T> stays small. Move-only.
class [[nodiscard]] Error {
 public:
  explicit Error(Code code, std::string what = {});
  // Inlined even where space is what counts: most errors that are destroyed have been moved from, and the compiler then sees that.
  [[gnu::always_inline]] Error(Error&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  [[gnu::always_inline]] Error& operator=(Error&& other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  [[gnu::always_inline]] ~Error() {
    if (body_ != nullptr) drop(body_);
  }

  Code code() const { return body_->code; }
  /// Lower case, no full stop, the bad value shown: "tensor count 18446744073709551615 exceeds the 812 bytes left".
  const std::string& what() const { return body_->what; }
  /// This error's own advice, or the code's.
  std::string_view hint() const;
  const Where& where() const { return body_->where; }
  const std::vector<Fact>& facts() const { return body_->facts; }

  // The trail: each layer adds what it knows while the error passes up. What is already said is kept.
  Error&& at(std::uint64_t offset) &&;
  Error&& span(std::uint64_t offset, std::uint64_t length) &&;
  Error&& in_file(std::string_view file) &&;
  Error&& in_member(std::string_view member) &&;
  Error&& of_tensor(std::string_view tensor) &&;
  Error&& advise(std::string hint) &&;
  Error&& fact(std::string_view key, decltype(Fact::value) value) &&;
  /// Adds the facts "expected" and "found".
  Error&& expected_found(std::uint64_t expected, std::uint64_t found) &&;

 private:
  struct Body {
    Code code;
    std::string what;
    std::string hint;
    Where where;
    std::vector<Fact> facts;
  };
  static void drop(Body* body) noexcept;
  Body* body_;  ///< owned; null when moved from
};

template <class T>
using Result = std::expected<T, Error>;

/// Shorthand: `return fail(Code::truncated, "…")` needs no further wrapping.
inline std::unexpected<Error> fail(Error&& error) { return std::unexpected<Error>(std::move(error)); }
inline std::unexpected<Error> fail(Code code, std::string what) { return fail(Error(code, std::move(what))); }

}  // namespace assay
