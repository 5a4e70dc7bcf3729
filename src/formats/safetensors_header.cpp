// SPDX-License-Identifier: Apache-2.0
// The exact reader of the header.
#include "formats/safetensors_header.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/json.hpp"

namespace assay::formats::safetensors {

namespace {

/// One entry as it is read; the fields of "__metadata__" pass through here too, for it may be a tensor of that name.
struct Entry {
  enum Field : std::uint8_t { kNoField, kDtype, kShape, kOffsets };
  struct Problem {
    Code code;
    std::string message;
  };

  std::string_view name, dtype;
  std::uint64_t at = 0;
  std::vector<std::uint64_t> shape, offsets;
  bool seen[4] = {};
  bool is_list = false;
  bool bad_offsets = false;
  Field field = kNoField;
  std::optional<Problem> problem;  // the first

  void complain(Code code, std::string message) {
    if (!problem) problem = Problem{code, std::move(message)};
  }
};

class HeaderReader final : public json::Handler {
 public:
  HeaderReader(ByteView header, Arena& arena, const Limits& limits, Layout& layout)
      : header_(header), arena_(arena), layout_(layout), max_rank_(limits.rank) {}

  bool null() override { return scalar("null", {.kind = MetadataEntry::Kind::null}); }
  bool boolean(bool value) override { return scalar(value ? "true" : "false", {.kind = MetadataEntry::Kind::boolean, .boolean = value}); }
  bool number(std::string_view text) override;
  bool string(std::string_view text) override;
  bool key(std::string_view text) override;
  bool start_object() override { return start('{'); }
  bool end_object() override { return end(); }
  bool start_array() override { return start('['); }
  bool end_array() override { return end(); }

 private:
  // The depth of what is inside the header's own object, an entry, and an array in an entry.
  enum Depth : std::uint32_t { kTop = 1, kEntry = 2, kArray = 3 };

  bool scalar(std::string_view text, MetadataEntry value);
  bool start(char bracket);
  bool end();
  void open_field(std::string_view name);
  void field_value(std::string_view text);
  void element(std::string_view text, bool is_number);
  void finish_entry();
  void finish_metadata();
  void not_an_entry(std::string_view text);
  void add_metadata(MetadataEntry value, bool as_it_should_be);
  std::string_view hold(std::string_view text);
  std::string_view raw(std::uint64_t from, std::uint64_t to) const;

  ByteView header_;
  Arena& arena_;
  Layout& layout_;
  std::uint32_t max_rank_;
  std::uint32_t depth_ = 0;
  Entry entry_;
  bool in_metadata_ = false, seen_metadata_ = false;
  std::string_view metadata_key_;
  std::uint64_t value_from_ = 0;            // end of the last key at entry depth
  std::size_t metadata_before_ = 0;         // entries before this "__metadata__"
  std::vector<Finding> metadata_findings_;  // kept back until it is known not to be a tensor
};

/// The text itself where the header holds it without escapes, else a copy.
std::string_view HeaderReader::hold(std::string_view text) {
  const std::uint64_t behind = offset - header_.offset();  // past the closing quote
  if (behind > text.size() + 1) {
    const std::string_view written = header_.text().substr(static_cast<std::size_t>(behind) - 1 - text.size(), text.size());
    if (written == text) return written;
  }
  return arena_.text(text);
}

std::string_view HeaderReader::raw(std::uint64_t from, std::uint64_t to) const {
  std::string_view text = header_.slice(from - header_.offset(), to - from).text();
  text.remove_prefix(std::min(text.find_first_not_of(": \t\r\n"), text.size()));
  return text;
}

bool HeaderReader::key(std::string_view text) {
  if (depth_ == kTop) {
    entry_ = Entry{};
    entry_.name = hold(text);
    in_metadata_ = entry_.name == "__metadata__";
  } else if (depth_ == kEntry) {
    value_from_ = offset;
    if (in_metadata_) metadata_key_ = hold(text);
    open_field(text);
  }
  return true;
}

void HeaderReader::open_field(std::string_view name) {
  entry_.field = name == "dtype"          ? Entry::kDtype
                 : name == "shape"        ? Entry::kShape
                 : name == "data_offsets" ? Entry::kOffsets
                                          : Entry::kNoField;
  if (entry_.field == Entry::kNoField) return;
  if (entry_.seen[entry_.field]) entry_.complain(Code::bad_header, concat("the field '", name, "' appears twice"));
  entry_.seen[entry_.field] = true;
}

/// A field's value that is neither a text nor a list.
void HeaderReader::field_value(std::string_view text) {
  if (entry_.field == Entry::kDtype) entry_.complain(Code::bad_dtype, concat("dtype ", escape(text, 40), " is not a text"));
  if (entry_.field == Entry::kShape) entry_.complain(Code::bad_shape, concat("shape ", escape(text, 40), " is not a list"));
  if (entry_.field == Entry::kOffsets) entry_.complain(Code::bad_header, concat("data_offsets ", escape(text, 40), " is not a list"));
}

/// An element of a field's list.
void HeaderReader::element(std::string_view text, bool is_number) {
  std::uint64_t value = 0;
  const auto whole = is_number ? json::to_u64(text) : std::nullopt;
  if (whole) value = *whole;
  if (entry_.field == Entry::kShape) {
    if (!whole)
      entry_.complain(Code::bad_shape, concat("dimension ", entry_.shape.size(), " of the shape is ", escape(text, 40),
                                              ", not a whole number from 0 to 2^64 - 1"));
    entry_.shape.push_back(value);
  } else if (entry_.field == Entry::kOffsets) {
    entry_.bad_offsets = entry_.bad_offsets || !whole;
    if (!whole)
      entry_.complain(Code::bad_header, concat("data_offsets hold ", escape(text, 40), ", not a whole number from 0 to 2^64 - 1"));
    if (entry_.offsets.size() < 3) entry_.offsets.push_back(value);
  }
}

bool HeaderReader::scalar(std::string_view text, MetadataEntry value) {
  if (depth_ == kTop) {
    not_an_entry(text);
  } else if (depth_ == kEntry) {
    field_value(text);
    if (in_metadata_) add_metadata(value, false);
  } else if (depth_ == kArray) {
    element(text, false);
  }
  return true;
}

bool HeaderReader::number(std::string_view text) {
  if (depth_ == kArray) {
    element(text, true);
    return true;
  }
  if (depth_ != kEntry || !in_metadata_) return scalar(text, {});
  MetadataEntry value;
  if (const auto integer = json::to_i64(text)) {
    value.kind = MetadataEntry::Kind::integer;
    value.integer = *integer;
  } else if (text.find_first_of(".eE") == std::string_view::npos) {
    value.kind = MetadataEntry::Kind::json;
    value.text = arena_.text(text);
  } else {
    value.kind = MetadataEntry::Kind::real;
    value.real = json::to_f64(text);
  }
  return scalar(text, value);
}

bool HeaderReader::string(std::string_view text) {
  if (depth_ == kTop) {
    not_an_entry(quote(text.substr(0, 40)));
  } else if (depth_ == kEntry) {
    if (entry_.field == Entry::kDtype) entry_.dtype = hold(text);
    else field_value(quote(text.substr(0, 40)));
    if (in_metadata_) add_metadata({.kind = MetadataEntry::Kind::text, .text = hold(text)}, true);
  } else if (depth_ == kArray) {
    element(quote(text.substr(0, 40)), false);
  }
  return true;
}

bool HeaderReader::start(char bracket) {
  if (depth_ == 0 && bracket != '{') return stop(Code::bad_header, "the header is a list, not an object");
  if (depth_ == kTop) {
    entry_.at = offset - 1;
    entry_.is_list = bracket == '[';
    if (entry_.is_list) entry_.complain(Code::bad_header, "the entry is a list, not an object");
    if (in_metadata_ && std::exchange(seen_metadata_, true))
      layout_.note(Finding(Code::duplicate_name, "'__metadata__' appears twice", Where{.offset = entry_.at}));
    metadata_before_ = layout_.metadata().size();
  } else if (depth_ == kEntry) {
    if (entry_.field == Entry::kDtype) entry_.complain(Code::bad_dtype, "the dtype is not a text");
    if (entry_.field == Entry::kShape && bracket != '[') entry_.complain(Code::bad_shape, "the shape is an object, not a list");
    if (entry_.field == Entry::kOffsets && bracket != '[') entry_.complain(Code::bad_header, "the data_offsets are an object, not a list");
  } else if (depth_ == kArray) {
    element(bracket == '[' ? "a list" : "an object", false);
  }
  ++depth_;
  return true;
}

bool HeaderReader::end() {
  --depth_;
  if (depth_ == kEntry && in_metadata_ && !entry_.is_list) {
    add_metadata({.kind = MetadataEntry::Kind::json, .text = raw(value_from_, offset)}, false);
  } else if (depth_ == kTop) {
    if (in_metadata_) finish_metadata();
    else finish_entry();
  }
  return true;
}

void HeaderReader::add_metadata(MetadataEntry value, bool as_it_should_be) {
  if (entry_.is_list) return;
  value.key = metadata_key_;
  layout_.add_metadata(value);
  if (!as_it_should_be && metadata_findings_.size() < Findings::kPerCode)
    metadata_findings_.emplace_back(Code::bad_metadata, concat("the metadata value of ", quote(metadata_key_), " is not a text"),
                                    Where{.offset = value_from_});
}

/// "__metadata__" is for metadata, but a tensor may have been saved under that name.
void HeaderReader::finish_metadata() {
  const bool tensor = !entry_.problem && entry_.seen[Entry::kDtype] && entry_.seen[Entry::kShape] && entry_.offsets.size() == 2;
  if (tensor) {
    layout_.metadata().resize(metadata_before_);
    layout_.note(Finding(Code::reserved_name, "a tensor is named '__metadata__', which other readers take for metadata",
                         Where{.tensor = "__metadata__", .offset = entry_.at}));
    finish_entry();
  } else {
    if (entry_.is_list) layout_.note(Finding(Code::bad_metadata, "'__metadata__' is a list, not an object", Where{.offset = entry_.at}));
    for (Finding& finding : metadata_findings_) layout_.note(std::move(finding));
  }
  metadata_findings_.clear();
}

/// A member of the header whose value is no object: null is allowed for metadata.
void HeaderReader::not_an_entry(std::string_view text) {
  entry_.at = offset - 1;
  if (in_metadata_) {
    if (std::exchange(seen_metadata_, true))
      layout_.note(Finding(Code::duplicate_name, "'__metadata__' appears twice", Where{.offset = entry_.at}));
    if (text != "null")
      layout_.note(Finding(Code::bad_metadata, concat("'__metadata__' is ", text, ", not an object"), Where{.offset = entry_.at}));
    return;
  }
  entry_.complain(Code::bad_header, concat("the entry is ", text, ", not an object"));
  finish_entry();
}

void HeaderReader::finish_entry() {
  Entry& entry = entry_;
  for (const auto& [field, name] : {std::pair{Entry::kDtype, "dtype"}, {Entry::kShape, "shape"}, {Entry::kOffsets, "data_offsets"}})
    if (!entry.seen[field]) entry.complain(Code::bad_header, concat("the entry has no '", name, "'"));
  if (entry.offsets.size() != 2)
    entry.complain(Code::bad_header, concat("data_offsets hold ",
                                            entry.offsets.size() > 2 ? "more than two"
                                            : entry.offsets.empty()  ? "no"
                                                                     : "one",
                                            entry.offsets.size() == 1 ? " number, not two" : " numbers, not two"));
  if (entry.shape.size() > max_rank_)
    entry.complain(Code::limit_exceeded, concat("the shape has ", entry.shape.size(), " dimensions, more than ", max_rank_));

  const bool plain = std::ranges::all_of(entry.name, [](char c) { return c >= 0x20 && c < 0x7f; });
  if (!plain && escape(entry.name).size() != entry.name.size() + static_cast<std::size_t>(std::ranges::count(entry.name, '\\')))
    layout_.note(Finding(Code::odd_name, concat("the name ", quote(entry.name), " holds characters that do not show"),
                         Where{.tensor = std::string(entry.name), .offset = entry.at}));
  Claim claim{.name = entry.name, .dtype = entry.dtype, .shape = arena_.numbers(entry.shape), .at = entry.at};
  claim.placed = entry.offsets.size() == 2 && !entry.bad_offsets;
  if (claim.placed) claim.begin = entry.offsets[0], claim.end = entry.offsets[1];
  if (entry.problem) return layout_.add_broken(claim, entry.problem->code, std::move(entry.problem->message));
  layout_.add(claim, dtype_of(entry.dtype).value_or(DType::unknown));
}

}  // namespace

Result<void> parse_header(ByteView header, Arena& arena, const Limits& limits, Layout& layout) {
  const std::string_view text = header.text();
  HeaderReader reader(header, arena, limits, layout);
  if (const std::size_t bad = first_invalid_utf8(text); bad != std::string_view::npos) {
    // Fails, but has told the layout what stands there.
    auto before = json::parse(header.slice(0, bad), reader, limits);
    if (!before && before.error().code() == Code::limit_exceeded) return std::unexpected(std::move(before).error());
    return fail(Error(Code::bad_header, "the header is not UTF-8").at(header.offset(bad)));
  }
  if (const std::size_t blanks = text.find_first_not_of(" \t\r\n"); blanks != 0 && blanks != std::string_view::npos)
    layout.note(Finding(Code::odd_header,
                        concat("the header starts with ", counted(blanks, "blank", "blanks"), "; some readers need '{' at byte 8"),
                        Where{.offset = header.offset(), .length = blanks}));

  ASSAY_TRY(const std::uint64_t consumed, json::parse(header, reader, limits));
  const auto rest_at = static_cast<std::size_t>(consumed);
  const std::string_view rest = text.substr(rest_at);
  const std::size_t odd = rest.find_first_not_of(" \t\r\n");
  if (odd == std::string_view::npos) return {};
  const bool nul = rest.find_first_not_of(std::string_view("\0 \t\r\n", 5)) == std::string_view::npos;
  const Where where{.offset = header.offset(rest_at + odd), .length = rest.size() - odd};
  Finding finding =
      nul ? Finding(Code::odd_header,
                    concat("the header is padded with ", rest.size() - odd, " NUL bytes; the reference reader refuses them"), where)
          : Finding(Code::bad_header, concat("text behind the header's closing brace: ", quote(rest.substr(odd), 40)), where);
  finding.severity = nul ? Severity::warning : Severity::damage;
  layout.note(std::move(finding));
  return {};
}

}  // namespace assay::formats::safetensors
