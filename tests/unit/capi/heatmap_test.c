/* SPDX-License-Identifier: Apache-2.0 */
/* Heat maps and colours as a C program sees them: fed range by range, as a page does it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assay/assay.h"

int heatmap_failures(void);

static int failures = 0;
#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

enum { kRows = 40, kCols = 30 };

/* One F32 tensor "w": row * 100 + col; row 7 is zero, column 3 is hot, (9, 9) NaN. */
static unsigned char* matrix_file(size_t* size) {
  char header[128];
  const int n = snprintf(header, sizeof header, "{\"w\":{\"dtype\":\"F32\",\"shape\":[%d,%d],\"data_offsets\":[0,%d]}}", kRows, kCols,
                         kRows * kCols * 4);
  unsigned char* bytes = (unsigned char*)calloc(1, 8 + (size_t)n + kRows * kCols * 4);
  int row, col;
  bytes[0] = (unsigned char)n;
  memcpy(bytes + 8, header, (size_t)n);
  for (row = 0; row < kRows; ++row)
    for (col = 0; col < kCols; ++col) {
      float value = row == 7 ? 0.0f : (float)(row * 100 + col);
      if (col == 3 && row != 7) value = -100000.0f;
      if (row == 9 && col == 9) value = NAN;
      memcpy(bytes + 8 + n + (row * kCols + col) * 4, &value, 4);
    }
  *size = 8 + (size_t)n + kRows * kCols * 4;
  return bytes;
}

static void check_map(const assay_heatmap* map) {
  size_t count = 0;
  double ratio = 0;
  const double* data = assay_heatmap_data(map);
  uint8_t rgba[20 * 15 * 4];
  CHECK(assay_heatmap_rows(map) == 20 && assay_heatmap_cols(map) == 15);
  CHECK(assay_heatmap_row_step(map) == 2 && assay_heatmap_col_step(map) == 2);
  CHECK(assay_heatmap_source_rows(map) == kRows && assay_heatmap_source_cols(map) == kCols);
  CHECK(assay_heatmap_exact(map) == 1 && assay_heatmap_progress(map) == 1.0);
  CHECK(data[0] == 101.0 && data[1] == -100000.0 && data[3 * 15] == 601.0);
  CHECK(assay_heatmap_marks(map)[4 * 15 + 4] == 1 && assay_heatmap_marks(map)[0] == 0);
  CHECK(data[4 * 15 + 4] == 908.0);
  CHECK(assay_heatmap_nan_count(map) == 1 && assay_heatmap_inf_count(map) == 0);
  CHECK(assay_heatmap_absmax(map) == 100000.0);
  CHECK(assay_heatmap_limit(map) > 0 && assay_heatmap_limit(map) <= 100000.0);
  CHECK(assay_heatmap_dead_count(map, 0) == 1 && assay_heatmap_dead(map, 0, 0) == 7 && assay_heatmap_dead(map, 0, 1) == ASSAY_NO_OFFSET);
  CHECK(assay_heatmap_hot_count(map, 1) == 1 && assay_heatmap_hot(map, 1, 0, &ratio) == 3 && ratio > 6);
  CHECK(assay_heatmap_rms(map, 0, &count) != NULL && count == kRows);
  CHECK(assay_heatmap_rms(map, 2, &count) == NULL && count == 0);
  CHECK(assay_heatmap_index(map, 5, 6, 0) == 5 && assay_heatmap_index(map, 5, 6, 1) == 6);
  CHECK(assay_heatmap_index(map, 5, 6, 2) == ASSAY_NO_OFFSET && assay_heatmap_index(map, kRows, 0, 0) == ASSAY_NO_OFFSET);
  CHECK(assay_heatmap_rgba(map, 0, ASSAY_LIGHT, rgba, NULL) == ASSAY_OK);
  CHECK(rgba[3] == 255 && rgba[4 * 4 * 15 + 4 * 4] == 255 && rgba[4 * 4 * 15 + 4 * 4 + 1] == 0); /* NaN is magenta */
  CHECK(rgba[4] < rgba[6]);                                                                      /* far below zero is blue */
}

static void check_fed_by_ranges(void) {
  size_t size = 0;
  unsigned char* bytes = matrix_file(&size);
  assay_files* files = NULL;
  assay_checkpoint* checkpoint = NULL;
  assay_heatmap* map = NULL;
  assay_error* error = NULL;
  assay_heatmap_options options = ASSAY_HEATMAP_OPTIONS;
  int done = 0, turns = 0;
  options.most_rows = 20;
  options.most_cols = 15;
  CHECK(assay_files_new(NULL, &files, NULL) == ASSAY_OK);
  CHECK(assay_files_add(files, "w.safetensors", size, NULL) == ASSAY_OK);
  while (assay_files_open(files, NULL, &checkpoint, &error) == ASSAY_NEED_RANGE && ++turns < 10) {
    assay_files_add_range(files, "w.safetensors", assay_error_offset(error), bytes + assay_error_offset(error),
                          (size_t)assay_error_length(error), NULL);
    assay_error_free(error);
  }
  CHECK(checkpoint != NULL);
  assay_files_drop_ranges(files, "w.safetensors");
  CHECK(assay_heatmap_new(checkpoint, 0, &options, &map, NULL) == ASSAY_OK);
  CHECK(assay_heatmap_progress(map) == 0 && isnan(assay_heatmap_data(map)[0]));
  CHECK(assay_heatmap_step(map, &done, &error) == ASSAY_NEED_RANGE && done == 0);
  CHECK(assay_error_length(error) == kRows * kCols * 4);
  assay_files_add_range(files, "w.safetensors", assay_error_offset(error), bytes + assay_error_offset(error),
                        (size_t)assay_error_length(error), NULL);
  assay_error_free(error);
  CHECK(assay_heatmap_step(map, &done, &error) == ASSAY_OK && done == 1 && error == NULL);
  assay_files_free(files);
  assay_close(checkpoint);
  check_map(map);
  assay_heatmap_free(map);
  free(bytes);
}

static void check_difference_and_refusals(void) {
  size_t size = 0;
  unsigned char* bytes = matrix_file(&size);
  assay_checkpoint* checkpoint = NULL;
  assay_heatmap* map = NULL;
  assay_error* error = NULL;
  assay_heatmap_options options = ASSAY_HEATMAP_OPTIONS;
  int done = 0;
  size_t i;
  CHECK(assay_open_memory(bytes, size, "w", NULL, &checkpoint, NULL) == ASSAY_OK);
  CHECK(assay_heatmap_new_difference(checkpoint, 0, checkpoint, 0, NULL, &map, NULL) == ASSAY_OK);
  CHECK(assay_heatmap_step(map, &done, NULL) == ASSAY_OK && done == 1);
  for (i = 0; i < (size_t)kRows * kCols; ++i) CHECK(assay_heatmap_data(map)[i] == 0 && assay_heatmap_marks(map)[i] == 0);
  assay_heatmap_free(map);
  options.slice = "[1, :3]";
  CHECK(assay_heatmap_new(checkpoint, 0, &options, &map, NULL) == ASSAY_OK);
  CHECK(assay_heatmap_rows(map) == 1 && assay_heatmap_cols(map) == 3);
  assay_heatmap_free(map);
  options.slice = "[50]";
  CHECK(assay_heatmap_new(checkpoint, 0, &options, &map, &error) == ASSAY_USAGE && map == NULL);
  CHECK(strcmp(assay_error_message(error), "slice '[50]': index 50 is outside dimension 0, which has 40") == 0);
  assay_error_free(error);
  options.slice = NULL;
  options.pooling = 9;
  CHECK(assay_heatmap_new(checkpoint, 0, &options, &map, NULL) == ASSAY_USAGE);
  options.pooling = ASSAY_POOL_RMS;
  options.size = 0;
  CHECK(assay_heatmap_new(checkpoint, 0, &options, &map, NULL) == ASSAY_USAGE);
  options.size = 8; /* an older caller: the rest keeps its defaults */
  CHECK(assay_heatmap_new(checkpoint, 0, &options, &map, NULL) == ASSAY_OK);
  CHECK(assay_heatmap_rows(map) == kRows);
  assay_heatmap_free(map);
  CHECK(assay_heatmap_new(checkpoint, 1, NULL, &map, NULL) == ASSAY_USAGE);
  CHECK(assay_heatmap_new(NULL, 0, NULL, &map, NULL) == ASSAY_USAGE);
  CHECK(assay_heatmap_step(NULL, &done, NULL) == ASSAY_USAGE);
  CHECK(assay_heatmap_rows(NULL) == 0 && assay_heatmap_data(NULL) == NULL && assay_heatmap_hot(NULL, 0, 0, NULL) == ASSAY_NO_OFFSET);
  assay_heatmap_free(NULL);
  assay_close(checkpoint);
  free(bytes);
}

static void check_colours(void) {
  uint8_t map[768], marks[9];
  CHECK(assay_color_map(ASSAY_DIVERGING, ASSAY_LIGHT, map, NULL) == ASSAY_OK);
  CHECK(map[127 * 3] == 255 && map[127 * 3 + 1] == 255 && map[128 * 3 + 2] == 255); /* zero is the background */
  CHECK(map[2] > map[0] && map[255 * 3] > map[255 * 3 + 2]);
  CHECK(assay_color_map(ASSAY_SEQUENTIAL, ASSAY_DARK, map, NULL) == ASSAY_OK);
  CHECK(map[1] < 40 && map[255 * 3 + 1] > 200);
  CHECK(assay_mark_colors(marks, NULL) == ASSAY_OK && marks[0] == 255 && marks[1] == 0 && marks[2] == 255);
  CHECK(assay_color_map(ASSAY_DIVERGING, ASSAY_DARK, NULL, NULL) == ASSAY_USAGE);
}

int heatmap_failures(void) {
  check_fed_by_ranges();
  check_difference_and_refusals();
  check_colours();
  return failures;
}
