// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"
#include "model/byte_map.hpp"
#include "report/map_report.hpp"

namespace assay::cli {

int run_map(Context& context) {
  Answer answer(context);
  const auto opened = answer.open();
  if (!opened) return answer.fail(opened.error());
  const auto maps = model::map_bytes(answer.files(), **opened);
  if (!maps) return answer.fail(maps.error());
  if (report::JsonWriter* json = answer.json()) {
    report::write_map_keys(*json, *maps);
    return answer.done();
  }
  bool first = true;
  for (const model::ByteMap& map : *maps) {
    if (context.mode == Mode::ndjson) {
      for (const model::Part& part : map.parts) {
        report::JsonWriter line(context.out);
        report::write_part(line, part, maps->size() > 1 ? map.file : std::string());
      }
      continue;
    }
    if (!first) context.out.put('\n');
    first = false;
    report::write_map_screen(context.out, context.style, map, context.options.has("--all"));
  }
  return answer.done();
}

}  // namespace assay::cli
