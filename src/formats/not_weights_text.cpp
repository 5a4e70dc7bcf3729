// SPDX-License-Identifier: Apache-2.0
// What is text: most often a pointer or a server's error message that was saved under the name of the weights.
#include "formats/not_weights_text.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "containers/json.hpp"

namespace assay::formats {

namespace {

constexpr std::size_t kShown = 120;  // bytes of a title or message

std::string_view without_blanks_in_front(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\f\v"), text.size()));
  return text;
}

std::size_t find_ignoring_case(std::string_view text, std::string_view what) {
  const auto found = std::ranges::search(text, what, [](char a, char b) { return lower(a) == lower(b); });
  return found.empty() ? std::string_view::npos : static_cast<std::size_t>(found.begin() - text.begin());
}

/// What stands between <tag …> and </tag, blanks joined; "" where there is none.
std::string element_text(std::string_view text, std::string_view tag) {
  const std::size_t open = find_ignoring_case(text, concat('<', tag));
  if (open == std::string_view::npos) return {};
  const std::size_t from = text.find('>', open);
  if (from == std::string_view::npos) return {};
  const std::string_view content = text.substr(from + 1, text.substr(from + 1).find('<'));
  std::string joined;
  for (const char c : content) {
    const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!blank) joined += c;
    else if (!joined.empty() && joined.back() != ' ') joined += ' ';
  }
  if (joined.ends_with(' ')) joined.pop_back();
  return joined;
}

/// The rest of the line that starts with `key` and a space.
std::string_view line_of(std::string_view text, std::string_view key) {
  const std::size_t found = text.find(concat('\n', key, ' '));
  if (found == std::string_view::npos) return {};
  std::string_view rest = text.substr(found + key.size() + 2);
  rest = rest.substr(0, rest.find('\n'));
  while (rest.ends_with('\r') || rest.ends_with(' ')) rest.remove_suffix(1);
  return rest;
}

std::optional<NotWeights> git_lfs(std::string_view text) {
  // The first line is a version: the address of the specification, which has moved once.
  const std::string_view version = text.substr(0, text.find('\n'));
  if (!version.starts_with("version https://") || version.find("/spec/v") == std::string_view::npos || line_of(text, "oid").empty())
    return std::nullopt;
  const auto size = json::to_u64(line_of(text, "size"));
  std::string_view oid = line_of(text, "oid");
  if (oid.starts_with("sha256:")) oid.remove_prefix(7);
  Error error(Code::git_lfs_pointer, concat("Git LFS pointer, the real file is ", size ? grouped(*size) : std::string("of unknown size"),
                                            size ? " bytes" : "", oid.empty() ? "" : ", sha256 ", escape(oid, 64)));
  if (size) error = std::move(error).fact("real_size", *size);
  if (!oid.empty()) error = std::move(error).fact("sha256", escape(oid, 64));
  return NotWeights{90, std::move(error)};
}

std::optional<NotWeights> xet(std::string_view text) {
  if (!text.starts_with("# xet version")) return std::nullopt;
  std::string_view number = line_of(text, "filesize");
  number.remove_prefix(std::min(number.find_first_of("0123456789"), number.size()));
  const auto size = json::to_u64(number);
  Error error(Code::git_lfs_pointer,
              size ? concat("Xet pointer, the real file is ", grouped(*size), " bytes") : std::string("Xet pointer"));
  if (size) error = std::move(error).fact("real_size", *size);
  return NotWeights{90, std::move(error).advise("get the file itself: hf download, or git lfs pull with git-xet")};
}

std::optional<NotWeights> html(std::string_view text) {
  const std::string_view start = text.substr(0, 512);
  const bool page = starts_with_ignoring_case(start, "<!doctype html") || starts_with_ignoring_case(start, "<html") ||
                    starts_with_ignoring_case(start, "<head") || starts_with_ignoring_case(start, "<body") ||
                    (start.starts_with("<") && find_ignoring_case(start, "<html") != std::string_view::npos);
  if (!page) return std::nullopt;
  const std::string title = element_text(text, "title");
  Error error(Code::html_page,
              title.empty() ? std::string("HTML page, not weights") : concat("HTML page titled ", quote(title, kShown), ", not weights"));
  if (!title.empty()) error = std::move(error).fact("title", title);
  return NotWeights{90, std::move(error)};
}

std::optional<NotWeights> xml(std::string_view text) {
  if (!text.starts_with("<?xml") && !starts_with_ignoring_case(text, "<error>")) return std::nullopt;
  const std::string code = element_text(text, "Code"), message = element_text(text, "Message");
  std::string what = code.empty() && message.empty() ? "XML document" : "XML error document";
  if (!code.empty()) what += concat(": ", escape(code, kShown));
  if (!message.empty()) what += concat(code.empty() ? ": " : ", ", quote(message, kShown));
  Error error(Code::xml_document, std::move(what));
  if (!code.empty()) error = std::move(error).fact("service_code", code);
  if (!message.empty()) error = std::move(error).fact("service_message", message);
  return NotWeights{90, std::move(error)};
}

/// Keeps what an error body says of itself, and the names of the first keys.
class ErrorBody final : public json::Handler {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number(std::string_view) override { return true; }
  bool string(std::string_view text) override {
    if (wanted_ && said.empty()) said = text;
    return true;
  }
  bool key(std::string_view text) override {
    wanted_ = text == "error" || text == "message" || text == "detail" || text == "error_description";
    if (depth_ == 1 && keys.size() < 3) keys.emplace_back(text);
    return true;
  }
  bool start_object() override { return ++depth_, true; }
  bool end_object() override { return --depth_, wanted_ = false, true; }
  bool start_array() override { return ++depth_, true; }
  bool end_array() override { return --depth_, wanted_ = false, true; }

  std::string said;
  std::vector<std::string> keys;

 private:
  bool wanted_ = false;
  int depth_ = 0;
};

std::optional<NotWeights> json_document(std::string_view text, ByteView view) {
  if (!text.starts_with('{') && !text.starts_with('[')) return std::nullopt;
  const std::string_view second = without_blanks_in_front(text.substr(1));
  if (second.empty() || std::string_view("\"{[}]0123456789-tfn").find(second.front()) == std::string_view::npos) return std::nullopt;
  if (text.front() == '{' && second.front() != '"' && second.front() != '}') return std::nullopt;
  ErrorBody body;
  // A head that ends in the middle of the document fails to parse, but has told what it could.
  const auto parsed = json::parse(view.from(view.size() - text.size()), body, Limits{});
  std::string what = "JSON document";
  if (!body.said.empty()) {
    what += concat(": ", quote(body.said, kShown));
  } else if (!body.keys.empty()) {
    what += concat(" with the keys ", name_list(body.keys, body.keys.size()));
  }
  Error error(Code::json_document, std::move(what));
  if (!body.said.empty()) error = std::move(error).fact("service_message", body.said);
  return NotWeights{parsed || !body.keys.empty() ? 85 : 40, std::move(error)};
}

/// What servers answer in a sentence, and what to do then.
struct Answer {
  std::string_view begins, advice;
};
constexpr std::string_view kLogIn = "log in with a token that may read it, accept the model's conditions, and get the file again";
constexpr Answer kAnswers[] = {
    {"Entry not found", "there is no file of this name at that address; look at the repository's list of files"},
    {"Repository not found", kLogIn},
    {"Invalid username or password", kLogIn},
    {"Access to model", kLogIn},
    {"Access to this", kLogIn},
    {"Unauthorized", kLogIn},
    {"Forbidden", kLogIn},
    {"Found. Redirecting to", "the download did not follow where it was sent: curl -L"},
    {"Temporary Redirect", "the download did not follow where it was sent: curl -L"},
    {"Moved Permanently", "the download did not follow where it was sent: curl -L"},
};

/// Text of two bytes a character, as Windows PowerShell's > makes of whatever passes through it.
std::optional<NotWeights> utf16(std::string_view bytes) {
  const bool little = bytes.starts_with("\xff\xfe");
  if (!little && !bytes.starts_with("\xfe\xff")) return std::nullopt;
  std::string text;
  for (std::size_t at = 2; at + 1 < bytes.size() && text.size() < kShown; at += 2) {
    const char high = bytes[little ? at + 1 : at], low = bytes[little ? at : at + 1];
    if (high != '\0' || static_cast<unsigned char>(low) >= 0x80) return std::nullopt;
    text += low;
  }
  if (text.size() < 4) return std::nullopt;
  Error error(Code::text_document, concat("text in UTF-16, starting with ", quote(text.substr(0, text.find_first_of("\r\n")), kShown)));
  return NotWeights{60,
                    std::move(error).advise("Windows PowerShell's > writes so and spoils what is no text: get the file with curl.exe -o")};
}

/// Valid UTF-8 without control characters, as far as can be seen.
bool readable(std::string_view text, bool cut) {
  const std::size_t bad = first_invalid_utf8(text);
  if (bad != std::string_view::npos && !(cut && text.size() - bad < 4)) return false;
  return std::ranges::none_of(text, [](char c) {
    return (c >= 0 && c < 0x20 && std::string_view("\t\r\n\f\v\x1b").find(c) == std::string_view::npos) || c == 0x7f;
  });
}

}  // namespace

std::optional<NotWeights> recognise_text(const ProbeInput& input) {
  const std::string_view text = without_blanks_in_front(input.head.text());
  if (auto known = git_lfs(text)) return known;
  if (auto known = xet(text)) return known;
  if (auto known = html(text)) return known;
  if (auto known = xml(text)) return known;
  if (auto known = utf16(input.head.text())) return known;
  if (!readable(input.head.text(), input.size > input.head.size())) return std::nullopt;
  if (auto known = json_document(text, input.head)) return known;
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  Error error(Code::text_document, text.empty() ? std::string("text of blanks only") : concat("text, starting with ", quote(line, kShown)));
  const auto* const answer = std::ranges::find_if(kAnswers, [&](const Answer& known) { return line.starts_with(known.begins); });
  if (answer != std::end(kAnswers)) error = std::move(error).advise(std::string(answer->advice));
  return NotWeights{40, std::move(error)};
}

}  // namespace assay::formats
