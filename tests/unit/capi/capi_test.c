/* SPDX-License-Identifier: Apache-2.0 */
/* The C API as a C program sees it. Every file is made here, byte by byte. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assay/assay.h"

static int failures = 0;
#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)
#define CHECK_TEXT(actual, expected)                                                                                \
  do {                                                                                                              \
    const char* text_ = (actual);                                                                                   \
    if (strcmp(text_, (expected)) != 0) {                                                                           \
      fprintf(stderr, "%s:%d: failed: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #actual, text_, (expected)); \
      ++failures;                                                                                                   \
    }                                                                                                               \
  } while (0)

static int same(const char* text, size_t length, const char* expected) {
  return length == strlen(expected) && memcmp(text, expected, length) == 0;
}

/* A safetensors file: 8-byte little-endian header length, header, data. */
typedef struct file {
  unsigned char bytes[1024];
  size_t size;
} file;

static file safetensors(const char* header, const void* data, size_t data_size) {
  file f;
  size_t length = strlen(header);
  memset(&f, 0, sizeof f);
  f.bytes[0] = (unsigned char)(length & 0xff);
  f.bytes[1] = (unsigned char)(length >> 8);
  memcpy(f.bytes + 8, header, length);
  memcpy(f.bytes + 8 + length, data, data_size);
  f.size = 8 + length + data_size;
  return f;
}

static const char kHeader[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                              "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                              "\"b\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[24,40]},"
                              "\"c\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[40,42]}}     ";

static file sample(void) {
  const float a[6] = {0.5f, -1.0f, 2.0f, 3.0f, 4.0f, 1e30f};
  const int64_t b[2] = {-7, INT64_MAX};
  const uint16_t c = 0x3fc0; /* 1.5 */
  unsigned char data[42];
  memcpy(data, a, 24);
  memcpy(data + 24, b, 16);
  memcpy(data + 40, &c, 2);
  return safetensors(kHeader, data, sizeof data);
}

static void check_sample(const assay_checkpoint* c) {
  size_t length = 0;
  CHECK_TEXT(assay_checkpoint_format(c), "safetensors");
  CHECK(assay_checkpoint_complete(c) == 1);
  CHECK(assay_file_count(c) == 1);
  CHECK(assay_file_size(c, 0) == 8 + strlen(kHeader) + 42);
  CHECK(assay_tensor_count(c) == 3);
  const size_t a = assay_tensor_find(c, "a", 1), b = assay_tensor_find(c, "b", 1), s = assay_tensor_find(c, "c", 1);
  CHECK(a != ASSAY_NO_INDEX && b != ASSAY_NO_INDEX && s != ASSAY_NO_INDEX);
  CHECK(assay_tensor_find(c, "ab", 2) == ASSAY_NO_INDEX);
  const char* text = assay_tensor_name(c, a, &length);
  CHECK(same(text, length, "a"));
  CHECK(assay_tensor_dtype(c, a) == ASSAY_DTYPE_F32);
  text = assay_tensor_source_dtype(c, s, &length);
  CHECK(same(text, length, "BF16"));
  CHECK(assay_tensor_rank(c, a) == 2 && assay_tensor_dim(c, a, 0) == 2 && assay_tensor_dim(c, a, 1) == 3 && assay_tensor_dim(c, a, 2) == 0);
  CHECK(assay_tensor_stride(c, a, 0) == 3 && assay_tensor_stride(c, a, 1) == 1);
  CHECK(assay_tensor_rank(c, s) == 0 && assay_tensor_numel(c, s) == 1);
  CHECK(assay_tensor_numel(c, a) == 6 && assay_tensor_nbytes(c, a) == 24);
  CHECK(assay_tensor_contiguous(c, a) == 1 && assay_tensor_readable(c, a) == 1);
  CHECK(assay_tensor_file_offset(c, b) == 8 + strlen(kHeader) + 24);
  CHECK(assay_tensor_file(c, b) == 0);
  CHECK(assay_tensor_storage(c, a) < assay_storage_count(c));

  double f64[6] = {0};
  CHECK(assay_tensor_read_f64(c, a, 0, 6, f64, NULL) == ASSAY_OK);
  CHECK(f64[0] == 0.5 && f64[1] == -1.0 && f64[4] == 4.0 && f64[5] == (double)1e30f);
  float f32[2] = {0};
  CHECK(assay_tensor_read_f32(c, a, 2, 2, f32, NULL) == ASSAY_OK);
  CHECK(f32[0] == 2.0f && f32[1] == 3.0f);
  int64_t i64[2] = {0};
  CHECK(assay_tensor_read_i64(c, b, 0, 2, i64, NULL) == ASSAY_OK);
  CHECK(i64[0] == -7 && i64[1] == INT64_MAX);

  assay_error* error = NULL;
  CHECK(assay_tensor_read_f64(c, a, 5, 2, f64, &error) == ASSAY_USAGE);
  CHECK_TEXT(assay_error_code(error), "usage");
  CHECK_TEXT(assay_error_tensor(error), "a");
  assay_error_free(error);
  CHECK(assay_tensor_read_f64(c, a, UINT64_MAX, 1, f64, NULL) == ASSAY_USAGE);
  CHECK(assay_tensor_read_i64(c, a, 0, 1, i64, &error) != ASSAY_OK && error != NULL);
  assay_error_free(error);
  CHECK(assay_tensor_read_f64(c, 99, 0, 1, f64, &error) == ASSAY_USAGE);
  CHECK_TEXT(assay_error_code(error), "no-such-tensor");
  assay_error_free(error);
  CHECK(assay_tensor_read_f64(c, a, 0, 1, NULL, NULL) == ASSAY_USAGE);
  CHECK(assay_tensor_read_f64(c, a, 6, 0, NULL, NULL) == ASSAY_OK);

  assay_reader* reader = NULL;
  CHECK(assay_reader_open(c, s, &reader, NULL) == ASSAY_OK);
  CHECK(assay_reader_raw_size(reader) == 2);
  unsigned char raw[2] = {0};
  CHECK(assay_reader_read_raw(reader, 0, 1, raw, NULL) == ASSAY_OK && raw[0] == 0xc0 && raw[1] == 0x3f);
  double pair[2] = {9, 9};
  CHECK(assay_reader_read_complex(reader, 0, 1, pair, NULL) == ASSAY_OK && pair[0] == 1.5 && pair[1] == 0.0);
  assay_reader_close(reader);

  CHECK(assay_metadata_count(c) == 1);
  CHECK(assay_metadata_entry_kind(c, 0) == ASSAY_METADATA_TEXT);
  text = assay_metadata_key(c, 0, &length);
  CHECK(same(text, length, "format"));
  text = assay_metadata_text(c, 0, &length);
  CHECK(same(text, length, "pt"));
}

static void test_memory(void) {
  const file f = sample();
  assay_checkpoint* c = NULL;
  assay_error* error = NULL;
  CHECK(assay_open_memory(f.bytes, f.size, "sample.safetensors", NULL, &c, &error) == ASSAY_OK);
  CHECK(error == NULL && c != NULL);
  if (c == NULL) {
    fprintf(stderr, "  %s\n", assay_error_message(error));
    return;
  }
  check_sample(c);
  CHECK_TEXT(assay_file_name(c, 0), "sample.safetensors");
  CHECK_TEXT(assay_tensor_file_name(c, 0), "sample.safetensors");
  uint64_t nbytes = 0;
  const size_t b = assay_tensor_find(c, "b", 1);
  CHECK(assay_tensor_data(c, b, &nbytes) == (const void*)(f.bytes + assay_tensor_file_offset(c, b)) && nbytes == 16);

  /* A reader outlives the checkpoint's handle. */
  assay_reader* reader = NULL;
  int64_t value = 0;
  CHECK(assay_reader_open(c, b, &reader, NULL) == ASSAY_OK);
  assay_pickle* pickle = NULL;
  CHECK(assay_pickle_of(c, &pickle, NULL) == ASSAY_USAGE && pickle == NULL);
  assay_close(c);
  CHECK(assay_reader_read_i64(reader, 0, 1, &value, NULL) == ASSAY_OK && value == -7);
  assay_reader_close(reader);
}

static void test_path(void) {
  const file f = sample();
  const char* path = "capi_test.safetensors";
  FILE* out = fopen(path, "wb");
  CHECK(out != NULL && fwrite(f.bytes, 1, f.size, out) == f.size && fclose(out) == 0);
  for (uint32_t no_mmap = 0; no_mmap < 2; ++no_mmap) {
    assay_options options = ASSAY_OPTIONS;
    options.no_mmap = no_mmap;
    assay_checkpoint* c = NULL;
    CHECK(assay_open(path, &options, &c, NULL) == ASSAY_OK);
    check_sample(c);
    CHECK((assay_tensor_data(c, 0, NULL) == NULL) == (no_mmap == 1));
    assay_close(c);
  }
  remove(path);

  assay_checkpoint* c = (assay_checkpoint*)&failures;
  assay_error* error = NULL;
  CHECK(assay_open("no/such/file", NULL, &c, &error) == ASSAY_USAGE);
  CHECK(c == NULL);
  CHECK_TEXT(assay_error_code(error), "no-such-file");
  CHECK(strlen(assay_error_message(error)) > 0 && strlen(assay_error_hint(error)) > 0);
  CHECK(assay_error_status(error) == ASSAY_USAGE);
  assay_error_free(error);
}

static void test_options(void) {
  const file f = sample();
  struct {
    assay_options known;
    uint32_t later;
  } newer = {ASSAY_OPTIONS, 0};
  assay_checkpoint* c = NULL;
  newer.known.size = sizeof newer;
  CHECK(assay_open_memory(f.bytes, f.size, NULL, &newer.known, &c, NULL) == ASSAY_OK);
  assay_close(c);
  newer.later = 1;
  CHECK(assay_open_memory(f.bytes, f.size, NULL, &newer.known, &c, NULL) == ASSAY_USAGE);
  newer.known.size = 0;
  CHECK(assay_open_memory(f.bytes, f.size, NULL, &newer.known, &c, NULL) == ASSAY_USAGE);
}

static void test_damage(void) {
  const file f = sample();
  assay_checkpoint* c = NULL;
  assay_error* error = NULL;
  /* The last two tensors are cut off; the first is whole. */
  CHECK(assay_open_memory(f.bytes, f.size - 12, NULL, NULL, &c, &error) == ASSAY_OK);
  CHECK(assay_checkpoint_complete(c) == 0);
  CHECK(assay_tensor_count(c) == 3);
  CHECK(assay_tensor_readable(c, assay_tensor_find(c, "a", 1)) == 1);
  CHECK(assay_tensor_readable(c, assay_tensor_find(c, "b", 1)) == 0);
  CHECK(assay_finding_count(c) > 0);
  int damage = 0;
  for (size_t i = 0; i < assay_finding_count(c); ++i) {
    CHECK(strlen(assay_finding_code(c, i)) > 0 && strlen(assay_finding_message(c, i)) > 0);
    damage += assay_finding_severity(c, i) >= ASSAY_DAMAGE;
  }
  CHECK(damage > 0);
  double value = 0;
  CHECK(assay_tensor_read_f64(c, assay_tensor_find(c, "b", 1), 0, 1, &value, &error) != ASSAY_OK);
  assay_error_free(error);
  assay_close(c);

  const char html[] = "<!DOCTYPE html><html><body>no</body></html>";
  CHECK(assay_open_memory(html, sizeof html - 1, NULL, NULL, &c, &error) == ASSAY_NOT_A_CHECKPOINT);
  CHECK_TEXT(assay_error_code(error), "html-page");
  assay_error_free(error);
  CHECK(assay_open_memory(NULL, 0, NULL, NULL, &c, &error) == ASSAY_NOT_A_CHECKPOINT);
  CHECK_TEXT(assay_error_code(error), "empty-file");
  assay_error_free(error);
}

/* A host without blocking reads: it answers each miss and calls again. */
static assay_status feed(assay_files* files, const file* f, const assay_error* error, int* rounds) {
  const uint64_t offset = assay_error_offset(error), length = assay_error_length(error);
  CHECK(offset != ASSAY_NO_OFFSET && length != ASSAY_NO_OFFSET && length > 0 && offset <= f->size && length <= f->size - offset);
  CHECK_TEXT(assay_error_file(error), "m.safetensors");
  if (++*rounds > 50) return ASSAY_INTERNAL;
  return assay_files_add_range(files, "m.safetensors", offset, f->bytes + offset, (size_t)length, NULL);
}

static void test_ranges(void) {
  const file f = sample();
  assay_files* files = NULL;
  assay_checkpoint* c = NULL;
  assay_error* error = NULL;
  int rounds = 0;
  CHECK(assay_files_new("page", &files, NULL) == ASSAY_OK);
  CHECK(assay_files_open(files, NULL, &c, NULL) == ASSAY_USAGE);
  CHECK(assay_files_add(files, "m.safetensors", f.size, NULL) == ASSAY_OK);
  CHECK(assay_files_add(files, "m.safetensors", f.size, NULL) == ASSAY_USAGE);
  CHECK(assay_files_add_range(files, "m.safetensors", f.size, f.bytes, 1, NULL) == ASSAY_USAGE);
  CHECK(assay_files_add_range(files, "m.safetensors", UINT64_MAX, f.bytes, 1, NULL) == ASSAY_USAGE);
  CHECK(assay_files_add_range(files, "other", 0, f.bytes, 1, NULL) == ASSAY_USAGE);
  while (assay_files_open(files, NULL, &c, &error) == ASSAY_NEED_RANGE) {
    const assay_status fed = feed(files, &f, error, &rounds);
    assay_error_free(error);
    error = NULL;
    if (fed != ASSAY_OK) break;
  }
  CHECK(rounds > 0);
  CHECK(c != NULL && error == NULL);
  double value = 0;
  assay_status status;
  while ((status = assay_tensor_read_f64(c, assay_tensor_find(c, "c", 1), 0, 1, &value, &error)) == ASSAY_NEED_RANGE) {
    const assay_status fed = feed(files, &f, error, &rounds);
    assay_error_free(error);
    error = NULL;
    if (fed != ASSAY_OK) break;
  }
  CHECK(status == ASSAY_OK && value == 1.5);
  assay_files_free(files); /* the checkpoint shares the bytes */
  CHECK(assay_tensor_read_f64(c, assay_tensor_find(c, "c", 1), 0, 1, &value, NULL) == ASSAY_OK);
  assay_close(c);
}

static void test_pickle(void) {
  /* {"lr": 0.5, "steps": [1, -2], "name": b"x\0y", "f": os.getcwd()} */
  static const unsigned char stream[] =
      "\x80\x02}(X\x02\x00\x00\x00lrG\x3f\xe0\x00\x00\x00\x00\x00\x00X\x05\x00\x00\x00steps](K\x01J\xfe\xff\xff\xff"
      "eX\x04\x00\x00\x00name"
      "C\x03x\x00yX\x01\x00\x00\x00"
      "fcos\ngetcwd\n)Ru.";
  assay_pickle* p = NULL;
  assay_error* error = NULL;
  size_t length = 0;
  CHECK(assay_pickle_open_memory(stream, sizeof stream - 1, &p, &error) == ASSAY_OK);
  if (p == NULL) {
    fprintf(stderr, "  %s\n", assay_error_message(error));
    return;
  }
  CHECK(assay_pickle_broken(p) == NULL);
  const uint32_t root = assay_pickle_root(p);
  CHECK(assay_pickle_kind_of(p, root) == ASSAY_PICKLE_DICT);
  CHECK(assay_pickle_pair_count(p, root) == 4 && assay_pickle_length(p, root) == 0);
  CHECK(assay_pickle_offset(p, root) == 2);
  const char* text = assay_pickle_text(p, assay_pickle_key(p, root, 1), &length);
  CHECK(same(text, length, "steps"));
  CHECK(assay_pickle_key(p, root, 4) == ASSAY_NO_NODE && assay_pickle_value(p, root, 4) == ASSAY_NO_NODE);
  CHECK(assay_pickle_real(p, assay_pickle_get(p, root, "lr", 2)) == 0.5);
  const uint32_t steps = assay_pickle_get(p, root, "steps", 5);
  CHECK(assay_pickle_kind_of(p, steps) == ASSAY_PICKLE_LIST && assay_pickle_length(p, steps) == 2);
  CHECK(assay_pickle_integer(p, assay_pickle_item(p, steps, 1)) == -2 && assay_pickle_item(p, steps, 2) == ASSAY_NO_NODE);
  const void* bytes = assay_pickle_bytes(p, assay_pickle_get(p, root, "name", 4), &length);
  CHECK(length == 3 && memcmp(bytes, "x\0y", 3) == 0);
  const uint32_t call = assay_pickle_get(p, root, "f", 1);
  CHECK(assay_pickle_kind_of(p, call) == ASSAY_PICKLE_CALL);
  const uint32_t callable = assay_pickle_callable(p, call);
  CHECK(assay_pickle_kind_of(p, callable) == ASSAY_PICKLE_GLOBAL);
  text = assay_pickle_global_module(p, callable, &length);
  CHECK(same(text, length, "os"));
  text = assay_pickle_global_name(p, callable, &length);
  CHECK(same(text, length, "getcwd"));
  CHECK(assay_pickle_kind_of(p, assay_pickle_arguments(p, call)) == ASSAY_PICKLE_TUPLE);
  CHECK(assay_pickle_keyword_arguments(p, call) == ASSAY_NO_NODE);
  CHECK(assay_pickle_tensor(p, root) == ASSAY_NO_INDEX);
  assay_pickle_storage_info info;
  CHECK(assay_pickle_storage(p, root, &info) == 0);
  CHECK(assay_pickle_get(p, root, "absent", 6) == ASSAY_NO_NODE);

  /* Every question about every node, and about nodes that are none. */
  for (uint32_t n = 0; n < 200; ++n) {
    const uint32_t node = n < 100 ? n : ASSAY_NO_NODE - (n - 100);
    (void)assay_pickle_integer(p, node);
    (void)assay_pickle_real(p, node);
    CHECK(assay_pickle_text(p, node, NULL) != NULL);
    (void)assay_pickle_bytes(p, node, NULL);
    (void)assay_pickle_item(p, node, 0);
    (void)assay_pickle_key(p, node, 0);
    (void)assay_pickle_state(p, node, 0);
    (void)assay_pickle_callable(p, node);
    (void)assay_pickle_arguments(p, node);
    CHECK(assay_pickle_global_name(p, node, NULL) != NULL);
    (void)assay_pickle_storage(p, node, &info);
    CHECK(assay_pickle_get(p, node, "zz", 2) == ASSAY_NO_NODE);
  }
  assay_pickle_close(p);

  /* Cut off: what came before is there. */
  CHECK(assay_pickle_open_memory(stream, 40, &p, NULL) == ASSAY_OK);
  CHECK(assay_pickle_root(p) == ASSAY_NO_NODE && assay_pickle_node_count(p) > 0);
  CHECK(assay_pickle_broken(p) != NULL && assay_error_status(assay_pickle_broken(p)) == ASSAY_MALFORMED);
  assay_pickle_close(p);

  CHECK(assay_pickle_open_memory("<html></html>", 13, &p, &error) == ASSAY_NOT_A_CHECKPOINT && p == NULL);
  assay_error_free(error);
}

static void test_persistent(void) {
  /* One of torch's storages, in a stream without its file. */
  static const unsigned char stream[] = "\x80\x02(X\x07\x00\x00\x00storagectorch\nHalfStorage\nX\x01\x00\x00\x00\x30X\x03\x00\x00\x00"
                                        "cpuK\x06tQ.";
  assay_pickle* p = NULL;
  assay_pickle_storage_info info;
  memset(&info, 0, sizeof info);
  CHECK(assay_pickle_open_memory(stream, sizeof stream - 1, &p, NULL) == ASSAY_OK);
  if (p == NULL) return;
  const uint32_t root = assay_pickle_root(p);
  CHECK(assay_pickle_kind_of(p, root) == ASSAY_PICKLE_PERSISTENT && assay_pickle_length(p, root) == 1);
  CHECK(assay_pickle_storage(p, root, &info) == 1);
  CHECK(info.dtype == ASSAY_DTYPE_F16 && info.elements == 6 && info.nbytes == 12);
  CHECK(info.offset == ASSAY_NO_OFFSET && info.storage == ASSAY_NO_INDEX);
  assay_pickle_close(p);
}

/* A file of the real torch: its pickle's nodes lead to tensors and storages. */
static void test_torch(void) {
  assay_checkpoint* c = NULL;
  assay_pickle* p = NULL;
  CHECK(assay_open(ASSAY_TEST_DATA "/torch/protocol2.pt", NULL, &c, NULL) == ASSAY_OK);
  if (c == NULL) return;
  CHECK_TEXT(assay_checkpoint_format(c), "torch-zip");
  CHECK_TEXT(assay_checkpoint_container(c), "zip");
  const size_t w = assay_tensor_find(c, "w", 1);
  CHECK(w != ASSAY_NO_INDEX);
  CHECK(assay_pickle_of(c, &p, NULL) == ASSAY_OK);
  const uint32_t node = assay_pickle_get(p, assay_pickle_root(p), "w", 1);
  CHECK(assay_pickle_tensor(p, node) == w);
  CHECK(assay_pickle_kind_of(p, node) == ASSAY_PICKLE_CALL);
  size_t length = 0;
  const char* name = assay_pickle_global_name(p, assay_pickle_callable(p, node), &length);
  CHECK(same(name, length, "_rebuild_tensor_v2"));
  const uint32_t persistent = assay_pickle_item(p, assay_pickle_arguments(p, node), 0);
  assay_pickle_storage_info info;
  memset(&info, 0, sizeof info);
  CHECK(assay_pickle_storage(p, persistent, &info) == 1);
  CHECK(info.dtype == ASSAY_DTYPE_F32 && info.nbytes == info.elements * 4);
  CHECK(info.storage == assay_tensor_storage(c, w));
  CHECK(info.offset == assay_storage_file_offset(c, info.storage) &&
        info.offset + 4 * assay_tensor_storage_offset(c, w) == assay_tensor_file_offset(c, w));
  assay_close(c); /* the pickle lives on */
  CHECK(assay_pickle_tensor(p, node) == w);
  assay_pickle_close(p);

  CHECK(assay_pickle_open(ASSAY_TEST_DATA "/torch/protocol2.pt", NULL, &p, NULL) == ASSAY_OK);
  CHECK(assay_pickle_tensor(p, assay_pickle_get(p, assay_pickle_root(p), "w", 1)) == w);
  assay_pickle_close(p);

  /* Compressed: no place of its own in the file, but readable. */
  CHECK(assay_open(ASSAY_TEST_DATA "/torch/deflated.pt", NULL, &c, NULL) == ASSAY_OK);
  if (c == NULL) return;
  CHECK(assay_tensor_count(c) > 0);
  CHECK(assay_tensor_data(c, 0, NULL) == NULL && assay_tensor_file_offset(c, 0) == ASSAY_NO_OFFSET);
  CHECK(assay_storage_file_offset(c, assay_tensor_storage(c, 0)) != ASSAY_NO_OFFSET);
  double value = NAN;
  CHECK(assay_tensor_read_f64(c, 0, 0, 1, &value, NULL) == ASSAY_OK && isfinite(value));
  assay_close(c);
}

static void test_null(void) {
  double value = 0;
  assay_error* error = NULL;
  CHECK(assay_open(NULL, NULL, NULL, &error) == ASSAY_USAGE);
  assay_error_free(error);
  CHECK(assay_open_memory(NULL, 5, NULL, NULL, NULL, NULL) == ASSAY_USAGE);
  CHECK(assay_pickle_open(NULL, NULL, NULL, NULL) == ASSAY_USAGE);
  CHECK(assay_pickle_of(NULL, NULL, NULL) == ASSAY_USAGE);
  CHECK(assay_files_new(NULL, NULL, NULL) == ASSAY_USAGE);
  CHECK(assay_files_add(NULL, "x", 1, NULL) == ASSAY_USAGE);
  CHECK(assay_files_open(NULL, NULL, NULL, NULL) == ASSAY_USAGE);
  CHECK(assay_reader_open(NULL, 0, NULL, NULL) == ASSAY_USAGE);
  CHECK(assay_reader_read_f64(NULL, 0, 1, &value, NULL) == ASSAY_USAGE);
  CHECK(assay_tensor_read_f64(NULL, 0, 0, 1, &value, NULL) == ASSAY_USAGE);
  assay_close(NULL);
  assay_error_free(NULL);
  assay_reader_close(NULL);
  assay_pickle_close(NULL);
  assay_files_free(NULL);
  assay_files_set_whole(NULL);
  CHECK(assay_error_status(NULL) == ASSAY_OK && assay_error_offset(NULL) == ASSAY_NO_OFFSET);
  CHECK_TEXT(assay_error_message(NULL), "");
  CHECK(assay_tensor_count(NULL) == 0 && assay_tensor_find(NULL, "x", 1) == ASSAY_NO_INDEX);
  CHECK(assay_tensor_name(NULL, 0, NULL) != NULL);
  CHECK(assay_tensor_data(NULL, 0, NULL) == NULL);
  CHECK(assay_tensor_file_offset(NULL, 0) == ASSAY_NO_OFFSET && assay_tensor_storage(NULL, 0) == ASSAY_NO_INDEX);
  CHECK_TEXT(assay_checkpoint_format(NULL), "");
  CHECK(assay_checkpoint_complete(NULL) == 0);
  CHECK(assay_finding_count(NULL) == 0 && assay_metadata_count(NULL) == 0);
  CHECK_TEXT(assay_finding_message(NULL, 3), "");
  CHECK(assay_pickle_root(NULL) == ASSAY_NO_NODE && assay_pickle_node_count(NULL) == 0);
  CHECK(assay_pickle_broken(NULL) == NULL);
}

int heatmap_failures(void);   /* heatmap_test.c */
int documents_failures(void); /* documents_test.c */

int main(void) {
  CHECK(strlen(assay_version()) >= 5);
  CHECK_TEXT(assay_dtype_name(ASSAY_DTYPE_F8_E4M3), "F8_E4M3");
  CHECK_TEXT(assay_dtype_name((assay_dtype)1000), "UNKNOWN");
  CHECK(assay_dtype_bits(ASSAY_DTYPE_C128) == 128 && assay_dtype_bits(ASSAY_DTYPE_F4) == 4);
  test_null();
  test_memory();
  test_path();
  test_options();
  test_damage();
  test_ranges();
  test_pickle();
  test_persistent();
  test_torch();
  failures += heatmap_failures();
  failures += documents_failures();
  if (failures != 0) fprintf(stderr, "%d checks failed\n", failures);
  return failures != 0;
}
