// SPDX-License-Identifier: Apache-2.0
// From a heat map job to what the flags ask for: a picture in the terminal, a PNG file, or JSON.
#pragma once

#include <string>

#include "analysis/heatmap.hpp"
#include "cli/run.hpp"
#include "cli/terminal.hpp"
#include "report/heatmap_report.hpp"

namespace assay::cli {

/// Where the picture goes, decided once: by --json, --output, --as and what the terminal takes.
struct PictureTarget {
  enum class Kind : std::uint8_t { json, file, graphics, text };
  Kind kind = Kind::text;
  Graphics graphics = Graphics::none;
  report::Depth depth = report::Depth::ascii;
};
PictureTarget picture_target(const Context& context);

/// What --pool, --sample, --rows, --cols and --size ask for of a tensor, or of the slice of it. Fails with `usage`.
Result<analysis::HeatmapRequest> heatmap_request(const Context& context, const PictureTarget& target, const Tensor& tensor,
                                                 const std::string& slice);

struct HeatmapTitles {
  std::string title, about;
  std::string shell;    ///< "assay show FILE NAME", for a hint; "" for none
  bool change = false;  ///< of one tensor to another
};
/// Runs the job to its end, or to Ctrl-C, and draws it. In JSON mode it writes its keys into the open object.
Result<void> draw_heatmap(Context& context, report::JsonWriter* json, const PictureTarget& target, analysis::HeatmapJob& job,
                          const HeatmapTitles& titles);

}  // namespace assay::cli
