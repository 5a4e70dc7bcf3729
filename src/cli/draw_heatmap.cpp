// SPDX-License-Identifier: Apache-2.0
#include "cli/draw_heatmap.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <thread>

#include "base/text.hpp"
#include "base/try.hpp"
#include "cli/parallel.hpp"
#include "cli/process.hpp"
#include "cli/write_file.hpp"
#include "report/screens.hpp"
#include "report/units.hpp"

namespace assay::cli {

PictureTarget picture_target(const Context& context) {
  if (context.mode != Mode::text) return {.kind = PictureTarget::Kind::json};
  if (context.options.has("--output")) return {.kind = PictureTarget::Kind::file};
  struct Named {
    std::string_view name;
    PictureTarget target;
  };
  using enum report::Depth;
  const Named kNamed[] = {{"kitty", {PictureTarget::Kind::graphics, Graphics::kitty, ascii}},
                          {"iterm", {PictureTarget::Kind::graphics, Graphics::iterm, ascii}},
                          {"sixel", {PictureTarget::Kind::graphics, Graphics::sixel, ascii}},
                          {"24bit", {PictureTarget::Kind::text, Graphics::none, colours24bit}},
                          {"256", {PictureTarget::Kind::text, Graphics::none, colours256}},
                          {"16", {PictureTarget::Kind::text, Graphics::none, colours16}},
                          {"ascii", {}}};
  const std::string as = context.options.text("--as", "auto");
  for (const auto& [name, target] : kNamed)
    if (name == as) return target;
  if (!context.style.color || !context.style.unicode) return {};
  if (const Graphics graphics = terminal_graphics(); graphics != Graphics::none)
    return {.kind = PictureTarget::Kind::graphics, .graphics = graphics};
  return {.kind = PictureTarget::Kind::text, .depth = terminal_depth()};
}

namespace {

constexpr std::string_view kStandardOutput = "-";

bool to_standard_output(const Context& context, const PictureTarget& target) {
  return target.kind == PictureTarget::Kind::file && context.options.text("--output") == kStandardOutput;
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

Result<report::GridRoom> room_of(const Context& context, const PictureTarget& target, const Tensor& tensor) {
  constexpr std::uint64_t kPictureCells = 1024, kJsonCells = 256;
  if (context.options.has("--size")) return room_from(context.options.text("--size"));
  switch (target.kind) {
    case PictureTarget::Kind::json: return report::GridRoom{kJsonCells, kJsonCells};
    case PictureTarget::Kind::file: return report::GridRoom{kPictureCells, kPictureCells};
    case PictureTarget::Kind::graphics: {
      constexpr std::size_t kUnknown = 800, kAround = 220, kLeast = 128;
      const Pixels pixels = terminal_pixels();
      const auto inside = [&](std::size_t n) { return std::clamp<std::uint64_t>(n > kAround ? n - kAround : 0, kLeast, kPictureCells); };
      return report::GridRoom{inside(pixels.height > 0 ? pixels.height : kUnknown), inside(pixels.width > 0 ? pixels.width : kUnknown)};
    }
    case PictureTarget::Kind::text: break;
  }
  return report::terminal_room(target.depth, context.style.width, terminal_height(), tensor.numel);
}

}  // namespace

Result<analysis::HeatmapRequest> heatmap_request(const Context& context, const PictureTarget& target, const Tensor& tensor,
                                                 const std::string& slice) {
  ASSAY_TRY(const report::GridRoom room, room_of(context, target, tensor));
  analysis::HeatmapRequest request;
  ASSAY_TRY(request.slice, analysis::parse_slice(slice, tensor.shape));
  request.pooling = *analysis::pooling_from_name(context.options.text("--pool", "absmax"));
  request.most_rows = room.rows;
  request.most_cols = room.cols;
  request.square = target.kind == PictureTarget::Kind::file || target.kind == PictureTarget::Kind::graphics;
  request.sample = context.options.has("--sample");
  if (context.options.has("--rows")) request.axes.rows = static_cast<std::size_t>(context.options.number("--rows", 0));
  if (context.options.has("--cols")) request.axes.cols = static_cast<std::size_t>(context.options.number("--cols", 0));
  return request;
}

namespace {

/// Runs all parts to their end; what was measured before Ctrl-C counts.
Result<void> measure(const Context& context, analysis::HeatmapJob& job) {
  Progress progress(!context.quiet);
  const auto main_thread = std::this_thread::get_id();
  std::vector<std::optional<Error>> errors(job.parts());
  in_parallel_until_interrupted(
      job.parts(), thread_count(static_cast<std::size_t>(context.options.number("--threads", 0))),
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

/// Files are PNG; their names must not say something else.
Result<void> check_output(const Context& context) {
  const std::string path = context.options.text("--output");
  if (path == kStandardOutput) {
    if (!is_terminal(1)) return {};
    return fail(std::move(Error(Code::usage, "-o - writes a PNG to standard output, which is a terminal"))
                    .advise("-o - | COMMAND, or -o FILE.png"));
  }
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || equals_ignoring_case(name.substr(dot), ".png")) return {};
  return fail(std::move(Error(Code::usage, concat("what is written is a PNG, not a ", quote(name.substr(dot)), " file")))
                  .advise(concat("-o ", report::shell_word(concat(path.substr(0, path.size() - (name.size() - dot)), ".png")))));
}

Result<void> put_picture(Context& context, const PictureTarget& target, const report::HeatmapScene& scene) {
  const report::Canvas picture = report::heatmap_picture(scene);
  if (target.kind == PictureTarget::Kind::file) {
    const std::string png = report::png_of(picture);
    if (to_standard_output(context, target)) {
      write_stdout(png);
      return {};
    }
    return write_file(context.options.text("--output"), std::as_bytes(std::span(png)), context.options.has("--force"));
  }
  context.out.put(target.graphics == Graphics::kitty   ? report::kitty_of(picture)
                  : target.graphics == Graphics::iterm ? report::iterm_of(picture)
                                                       : report::sixel_of(picture));
  context.out.put('\n');
  return {};
}

}  // namespace

Result<void> draw_heatmap(Context& context, report::JsonWriter* json, const PictureTarget& target, analysis::HeatmapJob& job,
                          const HeatmapTitles& titles) {
  if (target.kind == PictureTarget::Kind::file) {
    ASSAY_CHECK(check_output(context));
  }
  ASSAY_CHECK(measure(context, job));
  const analysis::Heatmap map = job.finish();
  report::HeatmapScene scene{.map = map, .view = job.view(), .title = titles.title, .about = titles.about};
  const std::string range = context.options.text("--range", "auto");
  const auto limit = report::limit_from(range, map);
  if (!limit)
    return fail(Error(Code::usage, concat("--range needs auto, max, a percentile such as p99, or a number above 0, not ", quote(range))));
  scene.limit = *limit;
  scene.change = titles.change;
  const std::string theme = context.options.text("--theme", target.kind == PictureTarget::Kind::file ? "light" : "dark");
  scene.theme = theme == "light" ? report::Theme::light : report::Theme::dark;
  if (json != nullptr) {
    report::write_heatmap_keys(*json, scene);
    return {};
  }
  if (target.kind == PictureTarget::Kind::text) {
    ASSAY_TRY(const report::GridRoom room, room_of(context, target, job.view().reader().tensor()));
    report::write_heatmap_text(context.out, context.style, scene, target.depth, room);
  } else {
    ASSAY_CHECK(put_picture(context, target, scene));
    if (to_standard_output(context, target)) return {};
    if (target.kind == PictureTarget::Kind::file)
      context.out.put(
          concat("wrote ", report::shell_word(context.options.text("--output")), ": ", report::cell_text(context.style, map), "\n"));
  }
  report::write_heatmap_notes(context.out, context.style, scene, titles.shell);
  return {};
}

}  // namespace assay::cli
