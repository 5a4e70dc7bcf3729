// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"
#include "base/try.hpp"
#include "cli/choose.hpp"
#include "cli/draw_heatmap.hpp"
#include "report/screens.hpp"
#include "report/units.hpp"

namespace assay::cli {
namespace {

Result<void> answer_heatmap(Context& context, Answer& answer, const Checkpoint& checkpoint, const Tensor& tensor) {
  const PictureTarget target = picture_target(context);
  ASSAY_TRY(const analysis::HeatmapRequest request, heatmap_request(context, target, tensor, context.options.word(2)));
  ASSAY_TRY(analysis::HeatmapJob job, analysis::HeatmapJob::make(checkpoint, tensor, request));
  const std::string slice = analysis::slice_text(request.slice, tensor.shape);
  report::JsonWriter* json = answer.json();
  if (json != nullptr) {
    json->key("name").text(tensor.name);
    json->key("dtype").text(dtype_name(tensor.dtype));
    json->key("shape").numbers(tensor.shape);
    json->key("slice").text(slice);
  }
  const std::string name = report::shown_name(context.style, tensor.name);
  return draw_heatmap(
      context, json, target, job,
      {.title = name,
       .about = concat(dtype_name(tensor.dtype), " ", report::shape_text(context.style, tensor.shape), slice.empty() ? "" : " ", slice),
       .shell = concat("assay show ", report::shell_word(context.options.word(0)), " ", report::shell_word(tensor.name))});
}

}  // namespace

int run_heatmap(Context& context) {
  Answer answer(context);
  const auto opened = answer.open();
  if (!opened) return answer.fail(opened.error());
  const auto tensor = choose_one(context, **opened, context.options.word(1));
  if (!tensor) return answer.fail(tensor.error());
  if (auto answered = answer_heatmap(context, answer, **opened, **tensor); !answered) return answer.fail(answered.error());
  return answer.done();
}

}  // namespace assay::cli
