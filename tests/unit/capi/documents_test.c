/* SPDX-License-Identifier: Apache-2.0 */
/* Documents, filters and files read by calling back, as a C program sees them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assay/assay.h"

int documents_failures(void);

static int failures = 0;
#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

/* A host's file: its bytes, how many were asked for, and whether the disk still answers. */
typedef struct host {
  const unsigned char* bytes;
  size_t size, given;
  int broken;
} host;

static int read_host(void* context, uint64_t offset, void* out, size_t n) {
  host* h = (host*)context;
  if (h->broken || offset > h->size || n > h->size - offset) return 1;
  memcpy(out, h->bytes + offset, n);
  h->given += n;
  return 0;
}

typedef struct watcher {
  int calls, stop_after;
  uint64_t done, of;
} watcher;

static int watch(void* context, uint64_t done, uint64_t of) {
  watcher* w = (watcher*)context;
  w->done = done;
  w->of = of;
  return ++w->calls != w->stop_after;
}

static int contains(const assay_buffer* buffer, const char* word) {
  size_t length = 0, i;
  const char* text = (const char*)assay_buffer_data(buffer, &length);
  for (i = 0; i + strlen(word) <= length; ++i)
    if (memcmp(text + i, word, strlen(word)) == 0) return 1;
  return 0;
}

static void test_null(void) {
  assay_buffer* out = NULL;
  size_t length = 7;
  CHECK(assay_report(NULL, "info", NULL, NULL, NULL, &out, NULL) == ASSAY_USAGE && out == NULL);
  CHECK(assay_report_stats(NULL, 0, &out, NULL) == ASSAY_USAGE);
  CHECK(assay_report_diff(NULL, NULL, 1, NULL, NULL, &out, NULL) == ASSAY_USAGE);
  CHECK(assay_report_scan(NULL, "x", &out, NULL) == ASSAY_USAGE);
  CHECK(assay_order(NULL, "name", &out, NULL) == ASSAY_USAGE);
  CHECK(assay_select(NULL, "", NULL, 0, &out, NULL) == ASSAY_USAGE);
  CHECK(assay_synthetic(7, NULL, NULL) == ASSAY_USAGE);
  CHECK(assay_files_add_reader(NULL, "x", 1, read_host, NULL, NULL) == ASSAY_USAGE);
  assay_files_drop_ranges(NULL, "x");
  CHECK(assay_buffer_data(NULL, &length) != NULL && length == 0);
  assay_buffer_free(NULL);
}

static void test_documents(const assay_checkpoint* c) {
  static const char* const kCommands[] = {"info",   "tree", "tensors",       "map",    "stats",
                                          "doctor", "moe",  "moe-structure", "verify", "verify-headers"};
  assay_buffer* out = NULL;
  assay_error* error = NULL;
  size_t i;
  for (i = 0; i < sizeof kCommands / sizeof *kCommands; ++i) {
    CHECK(assay_report(c, kCommands[i], NULL, NULL, NULL, &out, &error) == ASSAY_OK);
    CHECK(contains(out, "\"complete\": true"));
    assay_buffer_free(out);
  }
  CHECK(assay_report(c, "tensors", "q_proj layer:1", NULL, NULL, &out, &error) == ASSAY_OK);
  CHECK(contains(out, "model.layers.1.self_attn.q_proj.weight") && !contains(out, "model.layers.2."));
  assay_buffer_free(out);
  CHECK(assay_report(c, "launch", NULL, NULL, NULL, &out, &error) == ASSAY_USAGE && out == NULL);
  assay_error_free(error);
  CHECK(assay_report(c, "tensors", "size>banana", NULL, NULL, &out, &error) == ASSAY_USAGE);
  CHECK(strstr(assay_error_message(error), "banana") != NULL);
  assay_error_free(error);
  CHECK(assay_report_stats(c, 0, &out, &error) == ASSAY_OK && contains(out, "\"exact\": true"));
  assay_buffer_free(out);
  CHECK(assay_report_stats(c, 100000, &out, NULL) == ASSAY_USAGE);
  CHECK(assay_report_diff(c, c, 1, NULL, NULL, &out, &error) == ASSAY_OK && contains(out, "\"identical\": 127"));
  assay_buffer_free(out);
}

static void test_watch(const assay_checkpoint* c) {
  assay_buffer* out = NULL;
  watcher all = {0, 0, 0, 0}, few = {0, 3, 0, 0};
  CHECK(assay_report(c, "stats", NULL, watch, &all, &out, NULL) == ASSAY_OK && contains(out, "\"complete\": true"));
  CHECK(all.calls == 127 && all.done < all.of);
  assay_buffer_free(out);
  CHECK(assay_report(c, "stats", NULL, watch, &few, &out, NULL) == ASSAY_OK && contains(out, "\"complete\": false"));
  CHECK(few.calls == 3);
  assay_buffer_free(out);
}

static int same(const assay_buffer* a, const assay_buffer* b) {
  size_t length_a = 0, length_b = 0;
  const void *x = assay_buffer_data(a, &length_a), *y = assay_buffer_data(b, &length_b);
  return length_a == length_b && memcmp(x, y, length_a) == 0;
}

/* Of a file that is lent range by range, against the same of one that is read at once. */
static void test_steps(const assay_checkpoint* whole, const host* h) {
  const uint32_t outside = 127, two[] = {126, 3};
  assay_files* files = NULL;
  assay_checkpoint* c = NULL;
  assay_stats* job = NULL;
  assay_buffer *out = NULL, *expected = NULL;
  assay_error* error = NULL;
  assay_status status = ASSAY_OK;
  size_t i, lent = 0;
  int done = 0;
  CHECK(assay_files_new("m.safetensors", &files, NULL) == ASSAY_OK);
  CHECK(assay_files_add(files, "m.safetensors", h->size, NULL) == ASSAY_OK);
  while (assay_files_open(files, NULL, &c, &error) == ASSAY_NEED_RANGE) {
    uint64_t offset = assay_error_offset(error);
    CHECK(assay_files_add_range(files, "m.safetensors", offset, h->bytes + offset, (size_t)assay_error_length(error), NULL) == ASSAY_OK);
    assay_error_free(error);
  }
  CHECK(assay_stats_new(NULL, NULL, 0, NULL, &job, NULL) == ASSAY_USAGE && job == NULL);
  CHECK(assay_stats_new(c, &outside, 1, NULL, &job, NULL) == ASSAY_USAGE && job == NULL);
  CHECK(assay_stats_new(c, NULL, 0, NULL, &job, NULL) == ASSAY_OK);
  CHECK(assay_stats_count(job) == 0 && assay_stats_bytes_done(job) == 0 && assay_stats_bytes(job) > 2 * 7000000);
  CHECK(assay_stats_result(job, 0, &out, NULL) == ASSAY_USAGE && out == NULL);
  CHECK(assay_stats_document(job, &out, NULL) == ASSAY_OK && contains(out, "\"complete\": false"));
  assay_buffer_free(out);
  while (!done && (status == ASSAY_OK || status == ASSAY_NEED_RANGE)) {
    status = assay_stats_step(job, &done, &error);
    if (status != ASSAY_NEED_RANGE) continue;
    assay_files_drop_ranges(files, "m.safetensors");
    CHECK(assay_stats_step(job, &done, NULL) == ASSAY_NEED_RANGE);
    CHECK(assay_files_add_range(files, "m.safetensors", assay_error_offset(error), h->bytes + assay_error_offset(error),
                                (size_t)assay_error_length(error), NULL) == ASSAY_OK);
    lent += (size_t)assay_error_length(error);
    assay_error_free(error);
  }
  CHECK(status == ASSAY_OK && assay_stats_count(job) == 127);
  CHECK(assay_stats_bytes_done(job) <= assay_stats_bytes(job) && lent <= assay_stats_bytes(job));
  for (i = 0; i < 127; ++i) {
    CHECK(assay_stats_result(job, i, &out, NULL) == ASSAY_OK);
    CHECK(assay_report_stats(whole, i, &expected, NULL) == ASSAY_OK && same(out, expected));
    assay_buffer_free(out);
    assay_buffer_free(expected);
  }
  CHECK(assay_stats_document(job, &out, NULL) == ASSAY_OK);
  CHECK(assay_report(whole, "stats", NULL, NULL, NULL, &expected, NULL) == ASSAY_OK && same(out, expected));
  assay_buffer_free(out);
  assay_buffer_free(expected);
  assay_stats_free(job);
  assay_close(c);
  assay_files_free(files);

  {
    const assay_stats_options moments = {(uint32_t)sizeof moments, 0, 1}, broken = {0, 0, 0};
    CHECK(assay_stats_new(whole, two, 2, &broken, &job, NULL) == ASSAY_USAGE);
    CHECK(assay_stats_new(whole, two, 2, &moments, &job, NULL) == ASSAY_OK);
    CHECK(assay_stats_step(job, &done, NULL) == ASSAY_OK && done && assay_stats_count(job) == 2);
    CHECK(assay_stats_result(job, 0, &out, NULL) == ASSAY_OK && contains(out, "\"model.norm.weight\"") &&
          contains(out, "\"quantiles\": {}"));
    assay_buffer_free(out);
    assay_stats_free(job);
  }
  assay_stats_free(NULL);
  CHECK(assay_stats_bytes(NULL) == 0 && assay_stats_bytes_done(NULL) == 0 && assay_stats_count(NULL) == 0);
}

/* Runs a job of files that are lent: what was given is taken back after every few ranges. */
static assay_buffer* run_lent(assay_job* job, assay_files* files, const host* h, size_t* lent, size_t* most) {
  assay_buffer* out = NULL;
  assay_error* error = NULL;
  size_t given = 0;
  assay_status status;
  while ((status = assay_job_run(job, NULL, NULL, &out, &error)) == ASSAY_NEED_RANGE) {
    const uint64_t offset = assay_error_offset(error);
    const size_t n = (size_t)assay_error_length(error);
    if (++given % 16 == 0) assay_files_drop_ranges(files, "m.safetensors");
    CHECK(assay_files_add_range(files, "m.safetensors", offset, h->bytes + offset, n, NULL) == ASSAY_OK);
    assay_error_free(error);
    *lent += n;
    if (n > *most) *most = n;
  }
  CHECK(status == ASSAY_OK);
  return out;
}

static void test_jobs(const assay_checkpoint* whole, const host* h) {
  static const char* const kCommands[] = {"stats", "doctor", "verify"};
  assay_files* files = NULL;
  assay_checkpoint* c = NULL;
  assay_job* job = NULL;
  assay_buffer *out = NULL, *expected = NULL;
  assay_error* error = NULL;
  size_t i, lent = 0, most = 0;
  CHECK(assay_job_new(NULL, "doctor", NULL, 0, &job, NULL) == ASSAY_USAGE && job == NULL);
  CHECK(assay_job_new(whole, "launch", NULL, 0, &job, NULL) == ASSAY_USAGE && job == NULL);
  CHECK(assay_job_new_diff(whole, NULL, 1, 0, &job, NULL) == ASSAY_USAGE && job == NULL);
  CHECK(assay_job_run(NULL, NULL, NULL, &out, NULL) == ASSAY_USAGE && assay_job_bytes(NULL) == 0);
  assay_job_free(NULL);
  CHECK(assay_files_new("m.safetensors", &files, NULL) == ASSAY_OK);
  CHECK(assay_files_add(files, "m.safetensors", h->size, NULL) == ASSAY_OK);
  while (assay_files_open(files, NULL, &c, &error) == ASSAY_NEED_RANGE) {
    const uint64_t offset = assay_error_offset(error);
    CHECK(assay_files_add_range(files, "m.safetensors", offset, h->bytes + offset, (size_t)assay_error_length(error), NULL) == ASSAY_OK);
    assay_error_free(error);
  }
  for (i = 0; i < sizeof kCommands / sizeof *kCommands; ++i) {
    CHECK(assay_job_new(c, kCommands[i], NULL, 0, &job, NULL) == ASSAY_OK);
    out = run_lent(job, files, h, &lent, &most);
    CHECK(assay_report(whole, kCommands[i], NULL, NULL, NULL, &expected, NULL) == ASSAY_OK && same(out, expected));
    assay_buffer_free(out);
    assay_buffer_free(expected);
    CHECK(assay_job_run(job, NULL, NULL, &out, NULL) == ASSAY_USAGE && out == NULL); /* it is over */
    assay_job_free(job);
  }
  CHECK(lent > h->size && most <= 4u << 20);
  /* What is freed on its way takes nothing with it. */
  assay_files_drop_ranges(files, "m.safetensors");
  CHECK(assay_job_new(c, "moe", NULL, 0, &job, NULL) == ASSAY_OK && assay_job_bytes(job) > 1000000);
  CHECK(assay_job_run(job, NULL, NULL, &out, NULL) == ASSAY_NEED_RANGE && out == NULL);
  assay_close(c);
  assay_files_free(files);
  assay_job_free(job);
  CHECK(assay_job_new_diff(whole, whole, 1, 0, &job, NULL) == ASSAY_OK && assay_job_bytes(job) > 2 * 7000000);
  CHECK(assay_job_run(job, NULL, NULL, &out, NULL) == ASSAY_OK && contains(out, "\"identical\": 127"));
  assay_buffer_free(out);
  assay_job_free(job);
}

static void test_choosing(const assay_checkpoint* c) {
  assay_buffer *order = NULL, *chosen = NULL;
  size_t length = 0;
  const uint32_t* numbers;
  const uint32_t outside = 100000;
  CHECK(assay_order(c, "name", &order, NULL) == ASSAY_OK);
  numbers = (const uint32_t*)assay_buffer_data(order, &length);
  CHECK(length == 127 * 4);
  CHECK(assay_select(c, "norm layer:2", numbers, 127, &chosen, NULL) == ASSAY_OK);
  CHECK(assay_buffer_data(chosen, &length) != NULL && length == 2 * 4);
  assay_buffer_free(chosen);
  CHECK(assay_select(c, "", &outside, 1, &chosen, NULL) == ASSAY_USAGE);
  assay_buffer_free(order);
  CHECK(assay_order(c, "size", &order, NULL) == ASSAY_OK);
  numbers = (const uint32_t*)assay_buffer_data(order, NULL);
  CHECK(assay_tensor_nbytes(c, numbers[0]) == 196608 && assay_tensor_nbytes(c, numbers[126]) == 384);
  assay_buffer_free(order);
  CHECK(assay_order(c, "colour", &order, NULL) == ASSAY_USAGE);
}

static void test_scan(assay_files* files) {
  assay_buffer* out = NULL;
  CHECK(assay_report_scan(files, "m.safetensors", &out, NULL) == ASSAY_OK && contains(out, "\"verdict\": \"clean\""));
  assay_buffer_free(out);
  CHECK(assay_report_scan(files, "other", &out, NULL) == ASSAY_USAGE);
}

int documents_failures(void) {
  assay_buffer* model = NULL;
  assay_files* files = NULL;
  assay_checkpoint* c = NULL;
  assay_error* error = NULL;
  host h = {NULL, 0, 0, 0};
  test_null();
  CHECK(assay_synthetic(7, &model, &error) == ASSAY_OK);
  h.bytes = (const unsigned char*)assay_buffer_data(model, &h.size);
  CHECK(assay_files_new("m.safetensors", &files, &error) == ASSAY_OK);
  CHECK(assay_files_add_reader(files, "m.safetensors", h.size, read_host, &h, &error) == ASSAY_OK);
  CHECK(assay_files_add_reader(files, "m.safetensors", h.size, read_host, &h, NULL) == ASSAY_USAGE);
  CHECK(assay_files_add_range(files, "m.safetensors", 0, "x", 1, NULL) == ASSAY_USAGE);
  CHECK(assay_files_open(files, NULL, &c, &error) == ASSAY_OK && assay_tensor_count(c) == 127);
  CHECK(h.given < h.size / 2);
  test_documents(c);
  test_watch(c);
  test_steps(c, &h);
  test_jobs(c, &h);
  test_choosing(c);
  test_scan(files);
  h.broken = 1;
  {
    double value;
    CHECK(assay_tensor_read_f64(c, 0, 0, 1, &value, &error) == ASSAY_IO);
    assay_error_free(error);
  }
  assay_close(c);
  assay_files_free(files);
  assay_buffer_free(model);
  return failures;
}
