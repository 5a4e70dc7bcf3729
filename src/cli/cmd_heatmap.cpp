// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <optional>
#include <thread>

#include "analysis/heatmap.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cli/choose.hpp"
#include "cli/parallel.hpp"
#include "cli/run.hpp"
#include "cli/terminal.hpp"
#include "cli/write_file.hpp"
#include "report/heatmap_report.hpp"
#include "report/screens.hpp"
#include "report/units.hpp"

namespace assay::cli {
namespace {

/// Where the picture goes, decided once.
struct Target {
  enum class Kind : std::uint8_t { json, file, graphics, text };
  Kind kind = Kind::text;
  Graphics graphics = Graphics::none;
  report::Depth depth = report::Depth::ascii;
};

Target target_of(const Context& context) {
  if (context.mode != Mode::text) return {.kind = Target::Kind::json};
  if (context.options.has("--output")) return {.kind = Target::Kind::file};
  struct Named {
    std::string_view name;
    Target target;
  };
  using enum report::Depth;
  const Named kNamed[] = {{"kitty", {Target::Kind::graphics, Graphics::kitty, ascii}},
                          {"iterm", {Target::Kind::graphics, Graphics::iterm, ascii}},
                          {"sixel", {Target::Kind::graphics, Graphics::sixel, ascii}},
                          {"24bit", {Target::Kind::text, Graphics::none, colours24bit}},
                          {"256", {Target::Kind::text, Graphics::none, colours256}},
                          {"16", {Target::Kind::text, Graphics::none, colours16}},
                          {"ascii", {}}};
  const std::string as = context.options.text("--as", "auto");
  for (const auto& [name, target] : kNamed)
    if (name == as) return target;
  if (!context.style.color || !context.style.unicode) return {};
  if (const Graphics graphics = terminal_graphics(); graphics != Graphics::none)
    return {.kind = Target::Kind::graphics, .graphics = graphics};
  return {.kind = Target::Kind::text, .depth = terminal_depth()};
}

/// "200x100": rows and columns of cells.
Result<report::GridRoom> room_from(const std::string& text) {
  report::GridRoom room{};
  const char* const end = text.data() + text.size();
  const auto [cross, wrong] = std::from_chars(text.data(), end, room.rows);
  if (wrong == std::errc() && cross != end && *cross == 'x')
    if (const auto [last, bad] = std::from_chars(cross + 1, end, room.cols);
        bad == std::errc() && last == end && room.rows > 0 && room.cols > 0)
      return room;
  return fail(Error(Code::usage, concat("--size needs rows and columns, as in 64x128, not ", quote(text))));
}

Result<report::GridRoom> room_of(const Context& context, const Target& target, const Tensor& tensor) {
  constexpr std::uint64_t kPictureCells = 1024, kJsonCells = 256;
  if (context.options.has("--size")) return room_from(context.options.text("--size"));
  switch (target.kind) {
    case Target::Kind::json: return report::GridRoom{kJsonCells, kJsonCells};
    case Target::Kind::file: return report::GridRoom{kPictureCells, kPictureCells};
    case Target::Kind::graphics: {
      constexpr std::size_t kUnknown = 800, kAround = 220, kLeast = 128;
      const Pixels pixels = terminal_pixels();
      const auto inside = [&](std::size_t n) { return std::clamp<std::uint64_t>(n > kAround ? n - kAround : 0, kLeast, kPictureCells); };
      return report::GridRoom{inside(pixels.height > 0 ? pixels.height : kUnknown), inside(pixels.width > 0 ? pixels.width : kUnknown)};
    }
    case Target::Kind::text: break;
  }
  return report::terminal_room(target.depth, context.style.width, terminal_height(), tensor.numel);
}

Result<analysis::HeatmapRequest> request_of(const Context& context, const Target& target, const Tensor& tensor, report::GridRoom room) {
  analysis::HeatmapRequest request;
  ASSAY_TRY(request.slice, analysis::parse_slice(context.options.word(2), tensor.shape));
  request.pooling = *analysis::pooling_from_name(context.options.text("--pool", "absmax"));
  request.most_rows = room.rows;
  request.most_cols = room.cols;
  request.square = target.kind == Target::Kind::file || target.kind == Target::Kind::graphics;
  request.sample = context.options.has("--sample");
  if (context.options.has("--rows")) request.axes.rows = static_cast<std::size_t>(context.options.number("--rows", 0));
  if (context.options.has("--cols")) request.axes.cols = static_cast<std::size_t>(context.options.number("--cols", 0));
  return request;
}

/// Runs all parts to their end; what was measured before Ctrl-C counts.
Result<void> measure(const Context& context, analysis::HeatmapJob& job) {
  Progress progress(!context.quiet);
  const auto main_thread = std::this_thread::get_id();
  std::vector<std::optional<Error>> errors(job.parts());
  in_parallel(
      job.parts(), thread_count(static_cast<std::size_t>(context.options.number("--jobs", 0))),
      [&](std::size_t part) {
        while (!interrupted()) {
          auto last = job.advance(part);
          if (!last) errors[part] = std::move(last).error();
          if (!last || *last) break;
          if (std::this_thread::get_id() == main_thread)
            progress.show(
                [&] { return concat("pooling ", report::count_text(job.done()), " of ", report::count_text(job.total()), " elements"); });
        }
      },
      [](std::size_t) {});
  for (std::optional<Error>& error : errors)
    if (error) return fail(std::move(*error));
  return {};
}

Result<void> put_picture(Context& context, const Target& target, const report::HeatmapScene& scene) {
  const report::Canvas picture = report::heatmap_picture(scene);
  if (target.kind == Target::Kind::file) {
    const std::string png = report::png_of(picture);
    return write_file(context.options.text("--output"), std::as_bytes(std::span(png)), context.options.has("--force"));
  }
  context.out.put(target.graphics == Graphics::kitty   ? report::kitty_of(picture)
                  : target.graphics == Graphics::iterm ? report::iterm_of(picture)
                                                       : report::sixel_of(picture));
  context.out.put('\n');
  return {};
}

Result<void> answer_heatmap(Context& context, Answer& answer, const Checkpoint& checkpoint, const Tensor& tensor) {
  const Target target = target_of(context);
  ASSAY_TRY(const report::GridRoom room, room_of(context, target, tensor));
  ASSAY_TRY(const analysis::HeatmapRequest request, request_of(context, target, tensor, room));
  ASSAY_TRY(analysis::HeatmapJob job, analysis::HeatmapJob::make(checkpoint, tensor, request));
  ASSAY_CHECK(measure(context, job));
  const analysis::Heatmap map = job.finish();

  const std::string slice = analysis::slice_text(request.slice, tensor.shape);
  report::HeatmapScene scene{
      .map = map,
      .view = job.view(),
      .title = report::shown_name(context.style, tensor.name),
      .about = concat(dtype_name(tensor.dtype), " ", report::shape_text(context.style, tensor.shape), slice.empty() ? "" : " ", slice)};
  const std::string range = context.options.text("--range", "auto");
  const auto limit = report::limit_from(range, map);
  if (!limit)
    return fail(Error(Code::usage, concat("--range needs auto, max, a percentile such as p99, or a number above 0, not ", quote(range))));
  scene.limit = *limit;
  const std::string theme = context.options.text("--theme", target.kind == Target::Kind::file ? "light" : "dark");
  scene.theme = theme == "light" ? report::Theme::light : report::Theme::dark;

  if (report::JsonWriter* json = answer.json()) {
    json->key("name").text(tensor.name);
    json->key("dtype").text(dtype_name(tensor.dtype));
    json->key("shape").numbers(tensor.shape);
    json->key("slice").text(slice);
    report::write_heatmap_keys(*json, scene);
    return {};
  }
  if (target.kind == Target::Kind::text) {
    report::write_heatmap_text(context.out, context.style, scene, target.depth, room);
  } else {
    ASSAY_CHECK(put_picture(context, target, scene));
    if (target.kind == Target::Kind::file)
      context.out.put(
          concat("wrote ", report::shell_word(context.options.text("--output")), ": ", report::cell_text(context.style, map), "\n"));
  }
  report::write_heatmap_notes(context.out, context.style, scene,
                              concat("assay show ", report::shell_word(context.options.word(0)), " ", report::shell_word(tensor.name)));
  return {};
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
