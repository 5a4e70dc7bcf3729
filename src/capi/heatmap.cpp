// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <limits>
#include <optional>

#include "analysis/heatmap.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "capi/handle.hpp"
#include "report/colour_map.hpp"
#include "report/heatmap_report.hpp"

using namespace assay;
using namespace assay::capi;

struct assay_heatmap {
  std::shared_ptr<const State> of, less;  // kept alive
  analysis::HeatmapJob job;
  std::size_t part = 0;                               // the first that is not done
  mutable std::optional<analysis::Heatmap> map = {};  // as far as it has been asked for

  const analysis::Heatmap& whole() const {
    if (!map) map = job.finish();
    return *map;
  }
};

namespace {

static_assert(static_cast<int>(analysis::Pooling::absmax) == ASSAY_POOL_ABSMAX &&
              static_cast<int>(analysis::Pooling::mean) == ASSAY_POOL_MEAN && static_cast<int>(analysis::Pooling::rms) == ASSAY_POOL_RMS &&
              static_cast<int>(analysis::Pooling::zeros) == ASSAY_POOL_ZEROS);
static_assert(static_cast<int>(report::Theme::dark) == ASSAY_DARK && static_cast<int>(report::Theme::light) == ASSAY_LIGHT);
static_assert(static_cast<int>(report::ColourKind::diverging) == ASSAY_DIVERGING &&
              static_cast<int>(report::ColourKind::sequential) == ASSAY_SEQUENTIAL);

Result<const Tensor*> tensor_of(const assay_checkpoint* checkpoint, std::size_t tensor) {
  if (checkpoint == nullptr) return fail(Code::usage, "a NULL argument");
  const Checkpoint& opened = checkpoint->state->checkpoint;
  if (tensor >= opened.tensors.size()) return fail(Code::no_such_tensor, concat("tensor ", tensor, " of ", opened.tensors.size()));
  return &opened.tensors[tensor];
}

/// The caller's options with defaults filled in; what an older caller does not know of keeps its default.
Result<assay_heatmap_options> heatmap_options_of(const assay_heatmap_options* given) {
  assay_heatmap_options options = ASSAY_HEATMAP_OPTIONS;
  if (given != nullptr) {
    if (given->size < sizeof given->size) return fail(Code::usage, "the options' size is not set");
    std::memcpy(&options, given, std::min<std::size_t>(given->size, sizeof options));
  }
  if (options.pooling > ASSAY_POOL_ZEROS) return fail(Code::usage, concat("there is no pooling ", options.pooling));
  return options;
}

Result<analysis::HeatmapRequest> request_of(const assay_heatmap_options* given, const Tensor& tensor) {
  constexpr std::uint64_t kCells = 256;
  ASSAY_TRY(const assay_heatmap_options options, heatmap_options_of(given));
  analysis::HeatmapRequest request;
  request.pooling = static_cast<analysis::Pooling>(options.pooling);
  request.sample = options.sample != 0;
  request.square = options.square != 0;
  request.most_rows = options.most_rows != 0 ? options.most_rows : kCells;
  request.most_cols = options.most_cols != 0 ? options.most_cols : kCells;
  if (options.row_axis != ASSAY_NO_INDEX) request.axes.rows = options.row_axis;
  if (options.col_axis != ASSAY_NO_INDEX) request.axes.cols = options.col_axis;
  if (options.slice != nullptr) {
    ASSAY_TRY(request.slice, analysis::parse_slice(options.slice, tensor.shape));
  }
  return request;
}

const analysis::Heatmap* map_of(const assay_heatmap* heatmap) { return heatmap != nullptr ? &heatmap->whole() : nullptr; }

const analysis::Profile* profile_of(const assay_heatmap* heatmap, int axis) {
  if (heatmap == nullptr || axis < 0 || axis > 1) return nullptr;
  return axis == 0 ? &heatmap->whole().row_profile : &heatmap->whole().col_profile;
}

report::HeatmapScene scene_of(const assay_heatmap& heatmap, double limit, assay_theme theme) {
  report::HeatmapScene scene{.map = heatmap.whole(), .view = heatmap.job.view(), .title = {}, .about = {}};
  scene.limit = limit > 0 ? limit : report::automatic_limit(scene.map);
  scene.theme = theme == ASSAY_LIGHT ? report::Theme::light : report::Theme::dark;
  return scene;
}

void put(const report::Rgb& colour, std::uint8_t* out) { out[0] = colour.r, out[1] = colour.g, out[2] = colour.b; }

}  // namespace

extern "C" {

assay_status assay_heatmap_new(const assay_checkpoint* checkpoint, size_t tensor, const assay_heatmap_options* options, assay_heatmap** out,
                               assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    ASSAY_TRY(const Tensor* found, tensor_of(checkpoint, tensor));
    ASSAY_TRY(const analysis::HeatmapRequest request, request_of(options, *found));
    ASSAY_TRY(analysis::HeatmapJob job, analysis::HeatmapJob::make(checkpoint->state->checkpoint, *found, request));
    *out = new assay_heatmap{checkpoint->state, nullptr, std::move(job)};
    return {};
  });
}

assay_status assay_heatmap_new_difference(const assay_checkpoint* a, size_t tensor_a, const assay_checkpoint* b, size_t tensor_b,
                                          const assay_heatmap_options* options, assay_heatmap** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    ASSAY_TRY(const Tensor* found_a, tensor_of(a, tensor_a));
    ASSAY_TRY(const Tensor* found_b, tensor_of(b, tensor_b));
    ASSAY_TRY(const analysis::HeatmapRequest request, request_of(options, *found_b));
    ASSAY_TRY(analysis::HeatmapJob job,
              analysis::HeatmapJob::make_difference(a->state->checkpoint, *found_a, b->state->checkpoint, *found_b, request));
    *out = new assay_heatmap{b->state, a->state, std::move(job)};
    return {};
  });
}

assay_status assay_heatmap_step(assay_heatmap* heatmap, int* done, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (heatmap == nullptr || done == nullptr) return fail(Code::usage, "a NULL argument");
    heatmap->map.reset();
    if (heatmap->part < heatmap->job.parts()) {
      ASSAY_TRY(const bool last, heatmap->job.advance(heatmap->part));
      heatmap->part += last;
    }
    *done = heatmap->part == heatmap->job.parts();
    return {};
  });
}

void assay_heatmap_free(assay_heatmap* heatmap) { delete heatmap; }

double assay_heatmap_progress(const assay_heatmap* heatmap) {
  if (heatmap == nullptr) return 0;
  const std::uint64_t total = heatmap->job.total();
  return total == 0 ? 1 : static_cast<double>(heatmap->job.done()) / static_cast<double>(total);
}
uint64_t assay_heatmap_rows(const assay_heatmap* heatmap) { return heatmap != nullptr ? map_of(heatmap)->rows : 0; }
uint64_t assay_heatmap_cols(const assay_heatmap* heatmap) { return heatmap != nullptr ? map_of(heatmap)->cols : 0; }
uint64_t assay_heatmap_row_step(const assay_heatmap* heatmap) { return heatmap != nullptr ? map_of(heatmap)->row_step : 0; }
uint64_t assay_heatmap_col_step(const assay_heatmap* heatmap) { return heatmap != nullptr ? map_of(heatmap)->col_step : 0; }
uint64_t assay_heatmap_source_rows(const assay_heatmap* heatmap) { return heatmap != nullptr ? map_of(heatmap)->source_rows : 0; }
uint64_t assay_heatmap_source_cols(const assay_heatmap* heatmap) { return heatmap != nullptr ? map_of(heatmap)->source_cols : 0; }
int assay_heatmap_exact(const assay_heatmap* heatmap) { return heatmap != nullptr && map_of(heatmap)->exact; }
const double* assay_heatmap_data(const assay_heatmap* heatmap) { return heatmap != nullptr ? map_of(heatmap)->data.data() : nullptr; }
const uint8_t* assay_heatmap_marks(const assay_heatmap* heatmap) { return heatmap != nullptr ? map_of(heatmap)->marks.data() : nullptr; }
double assay_heatmap_absmax(const assay_heatmap* heatmap) { return heatmap != nullptr ? map_of(heatmap)->absmax : 0; }
double assay_heatmap_limit(const assay_heatmap* heatmap) { return heatmap != nullptr ? report::automatic_limit(*map_of(heatmap)) : 0; }
uint64_t assay_heatmap_nan_count(const assay_heatmap* heatmap) { return heatmap != nullptr ? map_of(heatmap)->nan : 0; }
uint64_t assay_heatmap_inf_count(const assay_heatmap* heatmap) { return heatmap != nullptr ? map_of(heatmap)->inf : 0; }

const float* assay_heatmap_rms(const assay_heatmap* heatmap, int axis, size_t* count) {
  const analysis::Profile* profile = profile_of(heatmap, axis);
  const bool there = profile != nullptr && !profile->rms.empty();
  if (count != nullptr) *count = there ? profile->rms.size() : 0;
  return there ? profile->rms.data() : nullptr;
}
uint64_t assay_heatmap_dead_count(const assay_heatmap* heatmap, int axis) {
  const analysis::Profile* profile = profile_of(heatmap, axis);
  return profile != nullptr ? profile->dead_count : 0;
}
uint64_t assay_heatmap_dead(const assay_heatmap* heatmap, int axis, size_t i) {
  const analysis::Profile* profile = profile_of(heatmap, axis);
  return profile != nullptr && i < profile->dead.size() ? profile->dead[i] : ASSAY_NO_OFFSET;
}
uint64_t assay_heatmap_hot_count(const assay_heatmap* heatmap, int axis) {
  const analysis::Profile* profile = profile_of(heatmap, axis);
  return profile != nullptr ? profile->hot_count : 0;
}
uint64_t assay_heatmap_hot(const assay_heatmap* heatmap, int axis, size_t i, double* ratio) {
  const analysis::Profile* profile = profile_of(heatmap, axis);
  const bool there = profile != nullptr && i < profile->hot.size();
  if (ratio != nullptr) *ratio = there ? profile->hot[i].ratio : 0;
  return there ? profile->hot[i].index : ASSAY_NO_OFFSET;
}
uint64_t assay_heatmap_index(const assay_heatmap* heatmap, uint64_t row, uint64_t col, size_t dimension) {
  if (heatmap == nullptr) return ASSAY_NO_OFFSET;
  const analysis::MatrixView& view = heatmap->job.view();
  if (row >= view.rows() || col >= view.cols()) return ASSAY_NO_OFFSET;
  const std::vector<std::uint64_t> place = view.place(row, col);
  return dimension < place.size() ? place[dimension] : ASSAY_NO_OFFSET;
}

assay_status assay_color_map(assay_color_kind kind, assay_theme theme, uint8_t* out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (out == nullptr) return fail(Code::usage, "a NULL argument");
    const report::ColourMap map =
        report::colour_map(kind == ASSAY_SEQUENTIAL ? report::ColourKind::sequential : report::ColourKind::diverging,
                           theme == ASSAY_LIGHT ? report::Theme::light : report::Theme::dark);
    for (std::size_t i = 0; i < map.size(); ++i) put(map[i], out + 3 * i);
    return {};
  });
}

assay_status assay_mark_colors(uint8_t* out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (out == nullptr) return fail(Code::usage, "a NULL argument");
    put(report::kMarkColours.nan, out);
    put(report::kMarkColours.pos_inf, out + 3);
    put(report::kMarkColours.neg_inf, out + 6);
    return {};
  });
}

assay_status assay_heatmap_rgba(const assay_heatmap* heatmap, double limit, assay_theme theme, uint8_t* out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (heatmap == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    report::heatmap_rgba(scene_of(*heatmap, limit, theme), out);
    return {};
  });
}

}  // extern "C"
