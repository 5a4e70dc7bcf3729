// SPDX-License-Identifier: Apache-2.0
// head and dump: values in logical order, streamed.
#include <algorithm>
#include <charconv>

#include "assay/values.hpp"
#include "base/text.hpp"
#include "cli/choose.hpp"
#include "cli/run.hpp"
#include "report/screens.hpp"
#include "report/units.hpp"
#include "report/value_text.hpp"

namespace assay::cli {
namespace {

struct Slice {
  std::uint64_t first;
  std::uint64_t n;
};

/// Opens the reader, or records why not. Nothing is printed yet, so a tensor that cannot be opened costs no half a line.
std::optional<TensorReader> open_reader(Checkpoint& checkpoint, const Tensor& tensor) {
  auto reader = TensorReader::open(checkpoint, tensor);
  if (reader) return *std::move(reader);
  // The finding that made a tensor unreadable is there already.
  if (tensor.readable) checkpoint.add(Finding::from(std::move(std::move(reader).error()).of_tensor(tensor.name)));
  return std::nullopt;
}

/// Writes the values; a failure in their midst ends them and is recorded.
bool put_values(Context& context, Checkpoint& checkpoint, const TensorReader& reader, Slice slice, report::ValueStyle style) {
  const std::string_view separator = style == report::ValueStyle::text ? " " : ", ";
  auto written = report::write_values(context.out, reader, {slice.first, slice.n}, style, separator, interrupted);
  if (!written) checkpoint.add(Finding::from(std::move(std::move(written).error()).of_tensor(reader.tensor().name)));
  return written && *written == slice.n;
}

void put_object(Context& context, report::JsonWriter& json, Checkpoint& checkpoint, const Tensor& tensor, Slice slice) {
  json.begin_object();
  json.key("name").text(tensor.name);
  json.key("dtype").text(dtype_name(tensor.dtype));
  json.key("shape").numbers(tensor.shape);
  json.key("values");
  bool whole = true;
  if (const auto reader = open_reader(checkpoint, tensor)) {
    json.begin_value();
    context.out.put('[');
    whole = put_values(context, checkpoint, *reader, slice, report::ValueStyle::json);
    context.out.put(']');
  } else {
    json.null();
  }
  if (!whole) json.key("complete").boolean(false);
  json.end_object();
}

/// One line a tensor: name, dtype, shape, values.
void put_dump_line(Context& context, Checkpoint& checkpoint, const Tensor& tensor, Slice slice) {
  const auto reader = open_reader(checkpoint, tensor);
  if (!reader) return;
  context.out.put(
      concat(report::shown_name(context.style, tensor.name), "\t", dtype_name(tensor.dtype), "\t", report::shape_word(tensor.shape), "\t"));
  put_values(context, checkpoint, *reader, slice, report::ValueStyle::text);
  context.out.put('\n');
}

void put_head(Context& context, Checkpoint& checkpoint, const Tensor& tensor, Slice slice) {
  const auto reader = open_reader(checkpoint, tensor);
  if (!reader) return;
  context.out.put(toned(context.style, report::Tone::strong, report::shown_name(context.style, tensor.name)));
  context.out.put(concat("  ", dtype_name(tensor.dtype), "  ", report::shape_text(context.style, tensor.shape), "\n  "));
  put_values(context, checkpoint, *reader, slice, report::ValueStyle::text);
  if (slice.first + slice.n < tensor.numel) context.out.put(concat(" ", report::ellipsis(context.style)));
  context.out.put('\n');
}

using PutText = void (*)(Context&, Checkpoint&, const Tensor&, Slice);
using Cut = Slice (*)(const Context&, const Tensor&);

/// Tensors that would pass --limit-values are left out, each with a finding.
bool within_limit(Checkpoint& checkpoint, const Tensor& tensor, Slice slice, std::uint64_t limit, std::uint64_t& left) {
  if (slice.n <= left) {
    left -= slice.n;
    return true;
  }
  Finding finding(Code::limit_exceeded,
                  concat(quote(tensor.name), " is left out: its ", counted(slice.n, "value", "values"), " would pass the limit of ", limit,
                         " in all; raise --limit-values"),
                  Where{.file = {}, .member = {}, .tensor = std::string(tensor.name), .offset = {}, .length = {}});
  finding.facts.push_back({"limit", limit});
  checkpoint.add(std::move(finding));
  return false;
}

int put_all(Context& context, Answer& answer, Checkpoint& checkpoint, std::span<const std::uint32_t> rows, Cut cut, PutText put_text) {
  constexpr std::uint64_t kMostValues = std::uint64_t{1} << 28;
  const std::uint64_t asked = context.options.number("--limit-values", kMostValues);
  const std::uint64_t limit = asked == 0 ? ~std::uint64_t{0} : asked;
  std::uint64_t left = limit;
  report::JsonWriter* json = answer.json();
  if (json != nullptr) json->key("tensors").begin_array();
  for (const std::uint32_t row : rows) {
    if (interrupted()) break;
    const Tensor& tensor = checkpoint.tensors[row];
    const Slice slice = cut(context, tensor);
    if (!within_limit(checkpoint, tensor, slice, limit, left)) continue;
    if (context.mode == Mode::text) {
      put_text(context, checkpoint, tensor, slice);
    } else if (json != nullptr) {
      put_object(context, *json, checkpoint, tensor, slice);
    } else {
      report::JsonWriter line(context.out);
      put_object(context, line, checkpoint, tensor, slice);
    }
  }
  if (json != nullptr) json->end_array();
  return answer.done();
}

}  // namespace

int run_head(Context& context) {
  Answer answer(context);
  const auto opened = answer.open();
  if (!opened) return answer.fail(opened.error());
  Checkpoint& checkpoint = **opened;
  auto rows = choose(context, checkpoint, {.patterns = {context.options.word(1)}});
  if (!rows) return answer.fail(rows.error());
  // One tensor was asked for: if it cannot be read, that is the answer.
  if (rows->size() == 1) {
    const Tensor& tensor = checkpoint.tensors[(*rows)[0]];
    if (const auto error = why_unreadable(checkpoint, tensor)) return answer.fail(*error);
    if (const std::uint64_t from = context.options.number("--from", 0); from >= tensor.numel && from > 0)
      return answer.fail(std::move(Error(Code::usage, concat("--from ", from, " is behind the last element of ", quote(tensor.name),
                                                             ", which has ", tensor.numel)))
                             .advise("elements are counted from 0"));
    if (auto reader = TensorReader::open(checkpoint, tensor); !reader)
      return answer.fail(std::move(std::move(reader).error()).of_tensor(tensor.name));
  }
  const Cut cut = [](const Context& c, const Tensor& tensor) {
    std::uint64_t n = 8;
    const std::string word = c.options.word(2);
    if (!word.empty()) std::from_chars(word.data(), word.data() + word.size(), n);
    const std::uint64_t first = std::min(c.options.number("--from", 0), tensor.numel);
    return Slice{first, std::min(n, tensor.numel - first)};
  };
  return put_all(context, answer, checkpoint, *rows, cut, put_head);
}

int run_dump(Context& context) {
  Answer answer(context);
  const auto opened = answer.open();
  if (!opened) return answer.fail(opened.error());
  Checkpoint& checkpoint = **opened;
  auto rows = choose(context, checkpoint, {.patterns = context.options.words_from(1)});
  if (!rows) return answer.fail(rows.error());
  const Cut cut = [](const Context&, const Tensor& tensor) { return Slice{0, tensor.numel}; };
  return put_all(context, answer, checkpoint, *rows, cut, put_dump_line);
}

}  // namespace assay::cli
