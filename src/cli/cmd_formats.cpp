// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"
#include "formats/format.hpp"
#include "report/table.hpp"

namespace assay::cli {
namespace {

void put_format(report::JsonWriter& json, const formats::Format& format) {
  json.begin_object();
  json.key("id").text(format.id);
  json.key("name").text(format.name);
  json.key("extensions").begin_array();
  for (std::string_view rest = format.extensions; !rest.empty();) {
    const std::size_t space = rest.find(' ');
    if (space != 0) json.text(rest.substr(0, space));
    rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
  }
  json.end_array();
  json.end_object();
}

}  // namespace

int run_formats(Context& context) {
  Answer answer(context);
  report::Table table({{.title = "ID"}, {.title = "FORMAT", .flexible = true}, {.title = "EXTENSIONS"}});
  report::JsonWriter* json = answer.json();
  if (json != nullptr) json->key("formats").begin_array();
  for (const formats::Format& format : formats::registry()) {
    if (format.open == nullptr) continue;
    if (context.mode == Mode::text) {
      table.cell(format.id);
      table.cell(format.name);
      table.cell(format.extensions);
    } else if (json != nullptr) {
      put_format(*json, format);
    } else {
      report::JsonWriter line(context.out);
      put_format(line, format);
    }
  }
  if (json != nullptr) json->end_array();
  else if (context.mode == Mode::text) table.write(context.out, context.style);
  return answer.done();
}

}  // namespace assay::cli
