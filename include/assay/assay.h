/* SPDX-License-Identifier: Apache-2.0
 *
 * assay in C: look inside a model checkpoint without running it.
 *
 *   assay_checkpoint* checkpoint = NULL;
 *   assay_error* error = NULL;
 *   if (assay_open("model.safetensors", NULL, &checkpoint, &error) != ASSAY_OK) {
 *     fprintf(stderr, "%s\n", assay_error_message(error));
 *     assay_error_free(error);
 *     return 2;
 *   }
 *   for (size_t i = 0; i < assay_tensor_count(checkpoint); ++i) ...
 *   assay_close(checkpoint);
 *
 * Failing.    A function that can fail returns an assay_status and takes an `assay_error** error` last, which may be NULL. On failure
 *             *error is set to an object that the caller frees; on success it is set to NULL. When even the error cannot be
 *             allocated the status is ASSAY_OUT_OF_MEMORY and *error is NULL. Outputs are written on success only, handles
 *             being NULL otherwise. No C++ exception ever leaves the library.
 * Ownership.  Each *_open, *_new and assay_pickle_of gives a handle that its *_close or *_free ends. Text and data that an accessor
 *             returns belong to the handle and live as long as it does.
 * Text.       Names come from files: they may hold any byte, NUL included, so they are a pointer and a length (`length` may be NULL)
 *             and are NOT terminated. Texts returned without a length are terminated.
 * Asking      is safe with a NULL handle, and with any index, dimension or node: the answer is then 0, NULL, "", or the
 *             ASSAY_NO_... constant. Closing NULL does nothing.
 * Threads.    Different handles are independent. One checkpoint or pickle may be asked and read from several threads at once, as
 *             long as none closes it. A reader or an assay_files is for one thread at a time. There is no global state.
 */
#ifndef ASSAY_ASSAY_H
#define ASSAY_ASSAY_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && !defined(ASSAY_STATIC)
#define ASSAY_API __declspec(dllimport)
#elif defined(__GNUC__)
#define ASSAY_API __attribute__((visibility("default")))
#else
#define ASSAY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* "There is none", by kind. */
#define ASSAY_NO_OFFSET UINT64_MAX           /* byte offsets and lengths */
#define ASSAY_NO_INDEX ((size_t)-1)          /* tensors, files, storages */
#define ASSAY_NO_NODE ((uint32_t)0xffffffff) /* values of a pickle */

typedef struct assay_checkpoint assay_checkpoint;
typedef struct assay_error assay_error;
typedef struct assay_files assay_files;
typedef struct assay_reader assay_reader;
typedef struct assay_pickle assay_pickle;
typedef struct assay_buffer assay_buffer;
typedef struct assay_heatmap assay_heatmap;
typedef struct assay_stats assay_stats;
typedef struct assay_job assay_job;

/* "0.1.0" */
ASSAY_API const char* assay_version(void);

/* ------------------------------------------------------------------ errors */

/* What kind of failure, for a program to act on; assay_error_code() is the exact one. Numbers are never reused. */
typedef enum assay_status {
  ASSAY_OK = 0,
  ASSAY_USAGE = 1,            /* a wrong argument, no such file or tensor, a dtype that cannot be read so */
  ASSAY_IO = 2,               /* the file could not be read, or changed meanwhile */
  ASSAY_NOT_A_CHECKPOINT = 3, /* something else; the hint says what it is and what to do */
  ASSAY_MALFORMED = 4,        /* damaged, incomplete, or contradicting itself */
  ASSAY_LIMIT = 5,            /* more than the library is willing to spend on one file */
  ASSAY_UNSUPPORTED = 6,      /* understood, but not to be read here */
  ASSAY_NEED_RANGE = 7,       /* the host must add these bytes: assay_error_file, _offset, _length; then call again */
  ASSAY_OUT_OF_MEMORY = 8,
  ASSAY_INTERNAL = 9 /* a defect of this library */
} assay_status;

ASSAY_API void assay_error_free(assay_error* error);
ASSAY_API assay_status assay_error_status(const assay_error* error);
/* Stable kebab-case name, the same as in JSON: "out-of-storage". */
ASSAY_API const char* assay_error_code(const assay_error* error);
/* Lower case, no full stop, names from the file escaped. */
ASSAY_API const char* assay_error_message(const assay_error* error);
/* What to do about it; "" when nothing can be said. */
ASSAY_API const char* assay_error_hint(const assay_error* error);
/* Where: file within the set, archive member, tensor; "" when it does not apply. Escaped. */
ASSAY_API const char* assay_error_file(const assay_error* error);
ASSAY_API const char* assay_error_member(const assay_error* error);
ASSAY_API const char* assay_error_tensor(const assay_error* error);
/* Absolute in the file, in bytes, or ASSAY_NO_OFFSET. */
ASSAY_API uint64_t assay_error_offset(const assay_error* error);
ASSAY_API uint64_t assay_error_length(const assay_error* error);

/* ----------------------------------------------------------------- opening */

/* Start from ASSAY_OPTIONS: fields are added at the end, and `size` tells the library which ones the caller knows. */
typedef struct assay_options {
  uint32_t size;    /* sizeof(assay_options) */
  uint32_t no_mmap; /* 1: read files instead of mapping them; safe while another program may shorten them */
} assay_options;
#define ASSAY_OPTIONS {(uint32_t)sizeof(assay_options), 0u}

/* Opens a checkpoint: a file, a shard index, or a folder of shards. Reads headers only. `options` may be NULL. A damaged file whose good
 * part can be listed succeeds; assay_checkpoint_complete() is then 0 and findings say why. */
ASSAY_API assay_status assay_open(const char* path, const assay_options* options, assay_checkpoint** out, assay_error** error);
/* The same for a file already in memory. Borrows `data` until assay_close (and until every pickle and reader made from it is closed).
 * `name` is for messages and may be NULL. */
ASSAY_API assay_status assay_open_memory(const void* data, size_t size, const char* name, const assay_options* options,
                                         assay_checkpoint** out, assay_error** error);
ASSAY_API void assay_close(assay_checkpoint* checkpoint);

/* Files that the host reaches by itself, range by range: a web page, HTTP, another program's storage. Opening or reading fails with
 * ASSAY_NEED_RANGE until the bytes it needs were added; add them and call again. Checkpoints opened from a set share its bytes: ranges
 * added later reach them too, and the set may be freed before them. No range may be added while a call on one of them runs. */
ASSAY_API assay_status assay_files_new(const char* label, assay_files** out, assay_error** error);
/* Adds an empty file of `size` bytes. The first one added is the one that is opened unless assay_files_set_whole was called. */
ASSAY_API assay_status assay_files_add(assay_files* files, const char* name, uint64_t size, assay_error** error);
/* Gives a file of the set `n` of its bytes, copied. Overlaps are allowed. Fails with ASSAY_USAGE beyond the file's size. */
ASSAY_API assay_status assay_files_add_range(assay_files* files, const char* name, uint64_t offset, const void* data, size_t n,
                                             assay_error** error);
/* Adds a file that is read by calling back, for hosts that can wait: fills `out` with the `n` bytes at `offset` and returns 0, or anything
 * else where they cannot be read. `context` must live as long as the set and the checkpoints opened from it, and `read` must be safe from
 * several threads where these are used from several. */
typedef int (*assay_read_fn)(void* context, uint64_t offset, void* out, size_t n);
ASSAY_API assay_status assay_files_add_reader(assay_files* files, const char* name, uint64_t size, assay_read_fn read, void* context,
                                              assay_error** error);
/* Takes back what assay_files_add_range gave of a file, all of it: what is still needed will be asked for again. Memory stays bounded when
 * a host does this after each tensor. Not while a call on one of the set's checkpoints runs. */
ASSAY_API void assay_files_drop_ranges(assay_files* files, const char* name);
/* Opens the set as a folder instead of its first file. */
ASSAY_API void assay_files_set_whole(assay_files* files);
ASSAY_API assay_status assay_files_open(assay_files* files, const assay_options* options, assay_checkpoint** out, assay_error** error);
ASSAY_API void assay_files_free(assay_files* files);

/* -------------------------------------------------------------- checkpoint */

/* "safetensors", "torch-zip" */
ASSAY_API const char* assay_checkpoint_format(const assay_checkpoint* checkpoint);
/* "zip", "safetensors": what holds the bytes */
ASSAY_API const char* assay_checkpoint_container(const assay_checkpoint* checkpoint);
/* 1 when nothing is missing or damaged. */
ASSAY_API int assay_checkpoint_complete(const assay_checkpoint* checkpoint);

ASSAY_API size_t assay_file_count(const assay_checkpoint* checkpoint);
ASSAY_API const char* assay_file_name(const assay_checkpoint* checkpoint, size_t file);
ASSAY_API uint64_t assay_file_size(const assay_checkpoint* checkpoint, size_t file);

/* ------------------------------------------------------------------ tensors */

/* Element types. The spelling is that of safetensors; see dtypes.def. */
typedef enum assay_dtype {
  ASSAY_DTYPE_UNKNOWN = 0,
  ASSAY_DTYPE_BOOL = 1,
  ASSAY_DTYPE_F4 = 2,
  ASSAY_DTYPE_F6_E2M3 = 3,
  ASSAY_DTYPE_F6_E3M2 = 4,
  ASSAY_DTYPE_U8 = 5,
  ASSAY_DTYPE_I8 = 6,
  ASSAY_DTYPE_F8_E5M2 = 7,
  ASSAY_DTYPE_F8_E4M3 = 8,
  ASSAY_DTYPE_F8_E8M0 = 9,
  ASSAY_DTYPE_F8_E4M3FNUZ = 10,
  ASSAY_DTYPE_F8_E5M2FNUZ = 11,
  ASSAY_DTYPE_I16 = 12,
  ASSAY_DTYPE_U16 = 13,
  ASSAY_DTYPE_F16 = 14,
  ASSAY_DTYPE_BF16 = 15,
  ASSAY_DTYPE_I32 = 16,
  ASSAY_DTYPE_U32 = 17,
  ASSAY_DTYPE_F32 = 18,
  ASSAY_DTYPE_C64 = 19,
  ASSAY_DTYPE_F64 = 20,
  ASSAY_DTYPE_I64 = 21,
  ASSAY_DTYPE_U64 = 22,
  ASSAY_DTYPE_C32 = 23,
  ASSAY_DTYPE_BC32 = 24,
  ASSAY_DTYPE_C128 = 25,
  ASSAY_DTYPE_QI8 = 26,
  ASSAY_DTYPE_QU8 = 27,
  ASSAY_DTYPE_QI32 = 28,
  ASSAY_DTYPE_QU4X2 = 29,
  ASSAY_DTYPE_QU2X4 = 30,
  ASSAY_DTYPE_BITS1X8 = 31,
  ASSAY_DTYPE_BITS2X4 = 32,
  ASSAY_DTYPE_BITS4X2 = 33,
  ASSAY_DTYPE_BITS8 = 34,
  ASSAY_DTYPE_BITS16 = 35
} assay_dtype;

/* "BF16"; "UNKNOWN" for a number that is no dtype. */
ASSAY_API const char* assay_dtype_name(assay_dtype dtype);
/* Bits per element; 0 when unknown. */
ASSAY_API unsigned assay_dtype_bits(assay_dtype dtype);

/* Tensors are numbered in file order. */
ASSAY_API size_t assay_tensor_count(const assay_checkpoint* checkpoint);
/* The first tensor of this name, or ASSAY_NO_INDEX. Cost: a linear search. */
ASSAY_API size_t assay_tensor_find(const assay_checkpoint* checkpoint, const char* name, size_t length);
ASSAY_API const char* assay_tensor_name(const assay_checkpoint* checkpoint, size_t tensor, size_t* length);
ASSAY_API assay_dtype assay_tensor_dtype(const assay_checkpoint* checkpoint, size_t tensor);
/* As the file spells it: "torch.float32". */
ASSAY_API const char* assay_tensor_source_dtype(const assay_checkpoint* checkpoint, size_t tensor, size_t* length);
ASSAY_API size_t assay_tensor_rank(const assay_checkpoint* checkpoint, size_t tensor);
ASSAY_API uint64_t assay_tensor_dim(const assay_checkpoint* checkpoint, size_t tensor, size_t dimension);
/* In elements. */
ASSAY_API uint64_t assay_tensor_stride(const assay_checkpoint* checkpoint, size_t tensor, size_t dimension);
ASSAY_API uint64_t assay_tensor_numel(const assay_checkpoint* checkpoint, size_t tensor);
/* Size of the elements without gaps. */
ASSAY_API uint64_t assay_tensor_nbytes(const assay_checkpoint* checkpoint, size_t tensor);
ASSAY_API int assay_tensor_contiguous(const assay_checkpoint* checkpoint, size_t tensor);
/* 0 when its bytes cannot be right; a finding that names it says why. */
ASSAY_API int assay_tensor_readable(const assay_checkpoint* checkpoint, size_t tensor);
/* Absolute offset of element 0 in its file, or ASSAY_NO_OFFSET where there is no plain range (compressed, meta tensors). */
ASSAY_API uint64_t assay_tensor_file_offset(const assay_checkpoint* checkpoint, size_t tensor);
/* Index of its file, or ASSAY_NO_INDEX. */
ASSAY_API size_t assay_tensor_file(const assay_checkpoint* checkpoint, size_t tensor);
/* Name of its file; "" when it has no bytes. */
ASSAY_API const char* assay_tensor_file_name(const assay_checkpoint* checkpoint, size_t tensor);
/* Tensors with the same storage share their bytes (tied weights, views); ASSAY_NO_INDEX for a meta tensor. */
ASSAY_API size_t assay_tensor_storage(const assay_checkpoint* checkpoint, size_t tensor);
/* In elements, within the storage. */
ASSAY_API uint64_t assay_tensor_storage_offset(const assay_checkpoint* checkpoint, size_t tensor);

ASSAY_API size_t assay_storage_count(const assay_checkpoint* checkpoint);
ASSAY_API uint64_t assay_storage_nbytes(const assay_checkpoint* checkpoint, size_t storage);
/* Absolute offset in its file, also of the packed bytes of a compressed storage; ASSAY_NO_OFFSET when there is no such storage. */
ASSAY_API uint64_t assay_storage_file_offset(const assay_checkpoint* checkpoint, size_t storage);
ASSAY_API size_t assay_storage_file(const assay_checkpoint* checkpoint, size_t storage);

/* All elements in place, without a copy, or NULL where that cannot be (not mapped, compressed, strided, big endian, conjugated, sub-byte,
 * empty). `nbytes` may be NULL. The bytes are little endian and may be unaligned; they live as long as the checkpoint. */
ASSAY_API const void* assay_tensor_data(const assay_checkpoint* checkpoint, size_t tensor, uint64_t* nbytes);

/* Reads elements [first, first + n) in row-major order into `out`, which has room for n. f64 is exact for every dtype but I64 and U64
 * beyond 2^53; f32 rounds to nearest; i64 and u64 are for integers and booleans. A complex value gives its real part. Each call opens a
 * reader: for many calls on one tensor, above all a compressed one, keep a reader. */
ASSAY_API assay_status assay_tensor_read_f64(const assay_checkpoint* checkpoint, size_t tensor, uint64_t first, size_t n, double* out,
                                             assay_error** error);
ASSAY_API assay_status assay_tensor_read_f32(const assay_checkpoint* checkpoint, size_t tensor, uint64_t first, size_t n, float* out,
                                             assay_error** error);
ASSAY_API assay_status assay_tensor_read_i64(const assay_checkpoint* checkpoint, size_t tensor, uint64_t first, size_t n, int64_t* out,
                                             assay_error** error);
ASSAY_API assay_status assay_tensor_read_u64(const assay_checkpoint* checkpoint, size_t tensor, uint64_t first, size_t n, uint64_t* out,
                                             assay_error** error);

/* A tensor held open. Keeps what it needs of the checkpoint alive; holds the whole storage in memory where it is compressed. */
ASSAY_API assay_status assay_reader_open(const assay_checkpoint* checkpoint, size_t tensor, assay_reader** out, assay_error** error);
ASSAY_API void assay_reader_close(assay_reader* reader);
ASSAY_API assay_status assay_reader_read_f64(const assay_reader* reader, uint64_t first, size_t n, double* out, assay_error** error);
ASSAY_API assay_status assay_reader_read_f32(const assay_reader* reader, uint64_t first, size_t n, float* out, assay_error** error);
ASSAY_API assay_status assay_reader_read_i64(const assay_reader* reader, uint64_t first, size_t n, int64_t* out, assay_error** error);
ASSAY_API assay_status assay_reader_read_u64(const assay_reader* reader, uint64_t first, size_t n, uint64_t* out, assay_error** error);
/* Pairs of real and imaginary part: `out` has room for 2 n. Other dtypes give an imaginary part of 0. */
ASSAY_API assay_status assay_reader_read_complex(const assay_reader* reader, uint64_t first, size_t n, double* out, assay_error** error);
/* The elements' own bits, little endian, assay_reader_raw_size() bytes each (1 for sub-byte dtypes). */
ASSAY_API assay_status assay_reader_read_raw(const assay_reader* reader, uint64_t first, size_t n, void* out, assay_error** error);
ASSAY_API size_t assay_reader_raw_size(const assay_reader* reader);

/* --------------------------------------------------------------- statistics */

/* Start from ASSAY_STATS_OPTIONS. */
typedef struct assay_stats_options {
  uint32_t size;         /* sizeof(assay_stats_options) */
  uint32_t sample;       /* 1: of a tensor above 16 MiB only one MiB in sixteen, evenly spaced: a first look, not "exact" */
  uint32_t no_quantiles; /* 1: no quantiles and distinct values; F32 is then read once instead of twice, BF16 measured faster */
} assay_stats_options;
#define ASSAY_STATS_OPTIONS {(uint32_t)sizeof(assay_stats_options), 0u, 0u}

/* Statistics of `n` tensors by number (NULL: of all), one after another. Reads no values yet. `options` may be NULL. Keeps what it needs of
 * the checkpoint alive. For one thread at a time. */
ASSAY_API assay_status assay_stats_new(const assay_checkpoint* checkpoint, const uint32_t* tensors, size_t n,
                                       const assay_stats_options* options, assay_stats** out, assay_error** error);
/* Measures the next 4 MiB or so; *done is 1 when those were the last. After ASSAY_NEED_RANGE nothing has changed: add the range and call
 * again; ranges of earlier steps may be dropped, so that memory stays bounded however large a tensor is (but for one that has to be
 * unpacked whole). The numbers do not depend on the steps: they are those of the program, bit for bit. To cancel, stop. */
ASSAY_API assay_status assay_stats_step(assay_stats* stats, int* done, assay_error** error);
ASSAY_API void assay_stats_free(assay_stats* stats);

/* Bytes to be read in all (at most: wide tensors are gone through again for their quantiles), and how many are done. */
ASSAY_API uint64_t assay_stats_bytes(const assay_stats* stats);
ASSAY_API uint64_t assay_stats_bytes_done(const assay_stats* stats);
/* How many tensors are done: the first of those given, in that order. */
ASSAY_API size_t assay_stats_count(const assay_stats* stats);
/* Of tensor i of those given, once it is done: {"name", "dtype", …}, an element of what "stats" lists. Sampled where "exact" is false, and
 * then of "measured" elements. Fails with the reason where the tensor could not be read. */
ASSAY_API assay_status assay_stats_result(const assay_stats* stats, size_t i, assay_buffer** out, assay_error** error);
/* The document `assay stats --json` of all that are done; not "complete" before the last is. */
ASSAY_API assay_status assay_stats_document(const assay_stats* stats, assay_buffer** out, assay_error** error);

/* ---------------------------------------------------------------- heat maps */

/* A tensor as a grid of few enough cells to look at. One axis runs along the columns, the others are stacked along the rows; each cell
 * stands for row_step x col_step elements. */
typedef enum assay_pooling {
  ASSAY_POOL_ABSMAX = 0, /* the value of the largest magnitude, with its sign */
  ASSAY_POOL_MEAN = 1,
  ASSAY_POOL_RMS = 2,
  ASSAY_POOL_ZEROS = 3 /* share of zeros, 0 to 1 */
} assay_pooling;

/* Start from ASSAY_HEATMAP_OPTIONS. */
typedef struct assay_heatmap_options {
  uint32_t size;      /* sizeof(assay_heatmap_options) */
  uint32_t pooling;   /* an assay_pooling */
  uint32_t sample;    /* 1: one element a cell, from its middle; reads only these */
  uint32_t square;    /* 1: the same step both ways where that leaves enough cells */
  uint64_t most_rows; /* of the grid; 0 is 256 */
  uint64_t most_cols;
  size_t row_axis;   /* the axis that changes fastest down the rows, or ASSAY_NO_INDEX */
  size_t col_axis;   /* the axis along the columns, or ASSAY_NO_INDEX for the last one */
  const char* slice; /* the part to look at, as numpy writes it: "[3, 10:20, ::2]"; NULL for everything. Copied */
} assay_heatmap_options;
#define ASSAY_HEATMAP_OPTIONS {(uint32_t)sizeof(assay_heatmap_options), 0u, 0u, 0u, 0u, 0u, ASSAY_NO_INDEX, ASSAY_NO_INDEX, NULL}

/* Reads no values yet. `options` may be NULL. Keeps what it needs of the checkpoint alive. For one thread at a time. */
ASSAY_API assay_status assay_heatmap_new(const assay_checkpoint* checkpoint, size_t tensor, const assay_heatmap_options* options,
                                         assay_heatmap** out, assay_error** error);
/* The same for B - A, position by position, of two tensors of one shape. Equal values that are not finite have no difference. */
ASSAY_API assay_status assay_heatmap_new_difference(const assay_checkpoint* a, size_t tensor_a, const assay_checkpoint* b, size_t tensor_b,
                                                    const assay_heatmap_options* options, assay_heatmap** out, assay_error** error);
/* Looks at the next elements, about a million, from front to back; *done is 1 when those were the last. After ASSAY_NEED_RANGE add the
 * range and call again; ranges of earlier steps may be dropped. What has been measured can be asked for between steps. */
ASSAY_API assay_status assay_heatmap_step(assay_heatmap* heatmap, int* done, assay_error** error);
ASSAY_API void assay_heatmap_free(assay_heatmap* heatmap);

/* From 0 to 1. */
ASSAY_API double assay_heatmap_progress(const assay_heatmap* heatmap);
ASSAY_API uint64_t assay_heatmap_rows(const assay_heatmap* heatmap);
ASSAY_API uint64_t assay_heatmap_cols(const assay_heatmap* heatmap);
ASSAY_API uint64_t assay_heatmap_row_step(const assay_heatmap* heatmap);
ASSAY_API uint64_t assay_heatmap_col_step(const assay_heatmap* heatmap);
/* Of the matrix that the grid shows. */
ASSAY_API uint64_t assay_heatmap_source_rows(const assay_heatmap* heatmap);
ASSAY_API uint64_t assay_heatmap_source_cols(const assay_heatmap* heatmap);
/* 0 when sampled. */
ASSAY_API int assay_heatmap_exact(const assay_heatmap* heatmap);
/* rows * cols numbers, row by row; NaN where a cell has no finite value (yet). Valid until the next step. */
ASSAY_API const double* assay_heatmap_data(const assay_heatmap* heatmap);
/* What is not finite in each cell: 1 NaN, 2 +Inf, 4 -Inf, added. Valid until the next step. */
ASSAY_API const uint8_t* assay_heatmap_marks(const assay_heatmap* heatmap);
ASSAY_API double assay_heatmap_absmax(const assay_heatmap* heatmap);
/* A value for the last colour that shows the bulk of the cells where a few are far beyond. */
ASSAY_API double assay_heatmap_limit(const assay_heatmap* heatmap);
ASSAY_API uint64_t assay_heatmap_nan_count(const assay_heatmap* heatmap);
ASSAY_API uint64_t assay_heatmap_inf_count(const assay_heatmap* heatmap);
/* The root mean square of every row (axis 0) or column (axis 1) of the matrix; NULL where there are too many or the map is sampled. */
ASSAY_API const float* assay_heatmap_rms(const assay_heatmap* heatmap, int axis, size_t* count);
/* Rows or columns that are all zero: how many, and the index of one of the first; those whose rms is at least 6 times the median, the
 * hottest first. ASSAY_NO_OFFSET beyond what is kept. `ratio` may be NULL. */
ASSAY_API uint64_t assay_heatmap_dead_count(const assay_heatmap* heatmap, int axis);
ASSAY_API uint64_t assay_heatmap_dead(const assay_heatmap* heatmap, int axis, size_t i);
ASSAY_API uint64_t assay_heatmap_hot_count(const assay_heatmap* heatmap, int axis);
ASSAY_API uint64_t assay_heatmap_hot(const assay_heatmap* heatmap, int axis, size_t i, double* ratio);
/* The tensor's index along `dimension` of the matrix's row or column: for labels. ASSAY_NO_OFFSET where there is none. */
ASSAY_API uint64_t assay_heatmap_index(const assay_heatmap* heatmap, uint64_t row, uint64_t col, size_t dimension);

typedef enum assay_theme { ASSAY_DARK = 0, ASSAY_LIGHT = 1 } assay_theme;
typedef enum assay_color_kind { ASSAY_DIVERGING = 0, ASSAY_SEQUENTIAL = 1 } assay_color_kind;
/* 256 colours as bytes r, g, b: perceptually even, safe for colour-blind eyes. Diverging: from the most negative (blue) by way of the
 * background to the most positive (orange); sequential: from the background to the largest. `out` has room for 768. */
ASSAY_API assay_status assay_color_map(assay_color_kind kind, assay_theme theme, uint8_t* out, assay_error** error);
/* Colours no map has, r, g, b of NaN, +Inf and -Inf. `out` has room for 9. */
ASSAY_API assay_status assay_mark_colors(uint8_t* out, assay_error** error);
/* The grid's pixels, r, g, b, a, one a cell: what is not finite in its own colour, and nothing (all 0) where a cell has no value.
 * `limit` is the value of the last colour; 0 for assay_heatmap_limit. `out` has room for 4 * rows * cols. */
ASSAY_API assay_status assay_heatmap_rgba(const assay_heatmap* heatmap, double limit, assay_theme theme, uint8_t* out, assay_error** error);

/* ----------------------------------------------------------------- findings */

typedef enum assay_severity { ASSAY_NOTE = 0, ASSAY_WARNING = 1, ASSAY_DAMAGE = 2, ASSAY_DANGER = 3 } assay_severity;

/* Odd but not fatal, in the order found. At most 1000 of one code are kept. */
ASSAY_API size_t assay_finding_count(const assay_checkpoint* checkpoint);
ASSAY_API assay_severity assay_finding_severity(const assay_checkpoint* checkpoint, size_t finding);
ASSAY_API const char* assay_finding_code(const assay_checkpoint* checkpoint, size_t finding);
ASSAY_API const char* assay_finding_message(const assay_checkpoint* checkpoint, size_t finding);
ASSAY_API const char* assay_finding_hint(const assay_checkpoint* checkpoint, size_t finding);
/* Where; "" or ASSAY_NO_OFFSET when it does not apply. The tensor's name is as in the file. */
ASSAY_API const char* assay_finding_file(const assay_checkpoint* checkpoint, size_t finding);
ASSAY_API const char* assay_finding_member(const assay_checkpoint* checkpoint, size_t finding);
ASSAY_API const char* assay_finding_tensor(const assay_checkpoint* checkpoint, size_t finding, size_t* length);
ASSAY_API uint64_t assay_finding_offset(const assay_checkpoint* checkpoint, size_t finding);
ASSAY_API uint64_t assay_finding_length(const assay_checkpoint* checkpoint, size_t finding);

/* ----------------------------------------------------------------- metadata */

typedef enum assay_metadata_kind {
  ASSAY_METADATA_NULL = 0,
  ASSAY_METADATA_BOOLEAN = 1, /* assay_metadata_integer is 0 or 1 */
  ASSAY_METADATA_INTEGER = 2,
  ASSAY_METADATA_REAL = 3,
  ASSAY_METADATA_TEXT = 4,
  ASSAY_METADATA_JSON = 5,  /* text is JSON: a list of plain values, or an integer beyond 64 bits */
  ASSAY_METADATA_OBJECT = 6 /* text describes something that has no plain form */
} assay_metadata_kind;

/* Everything that is no tensor: safetensors' __metadata__, an epoch, hyper parameters. Nested keys are joined with dots. */
ASSAY_API size_t assay_metadata_count(const assay_checkpoint* checkpoint);
ASSAY_API assay_metadata_kind assay_metadata_entry_kind(const assay_checkpoint* checkpoint, size_t entry);
ASSAY_API const char* assay_metadata_key(const assay_checkpoint* checkpoint, size_t entry, size_t* length);
ASSAY_API const char* assay_metadata_text(const assay_checkpoint* checkpoint, size_t entry, size_t* length);
ASSAY_API int64_t assay_metadata_integer(const assay_checkpoint* checkpoint, size_t entry);
ASSAY_API double assay_metadata_real(const assay_checkpoint* checkpoint, size_t entry);

/* -------------------------------------------------------------- documents */

/* Bytes that the library made; for text, UTF-8 that is not terminated. */
ASSAY_API const void* assay_buffer_data(const assay_buffer* buffer, size_t* length);
ASSAY_API void assay_buffer_free(assay_buffer* buffer);

/* Called as work goes on, with how much of it is done; return 0 to end it, whose answer is then not "complete". */
typedef int (*assay_watch_fn)(void* context, uint64_t done, uint64_t of);

/* The JSON document that `assay COMMAND --json` prints. COMMAND is one of
 *   "info", "tree", "tensors", "map"   from headers alone
 *   "stats", "doctor", "moe"           these read values: as much as the tensors are large
 *   "moe-structure"                    "moe" without reading values; what it would measure is empty
 *   "verify"                           without digests and values; reads every zip member, nothing of other formats
 *   "verify-headers"                   "verify" from headers alone: check sums of members are listed, not checked
 * `filter` (for tensors, tree and stats) is that of --where, NULL or "" for all tensors. `watch` may be NULL. Damage is in the document, as
 * it is for the program; fails with ASSAY_USAGE for another command or a filter that is not understood, and with ASSAY_NEED_RANGE. */
ASSAY_API assay_status assay_report(const assay_checkpoint* checkpoint, const char* command, const char* filter, assay_watch_fn watch,
                                    void* context, assay_buffer** out, assay_error** error);
/* The same of one tensor's statistics: {"name", "dtype", …}, an element of what "stats" lists. */
ASSAY_API assay_status assay_report_stats(const assay_checkpoint* checkpoint, size_t tensor, assay_buffer** out, assay_error** error);
/* `assay diff --json`. `values` 0: names, dtypes and shapes only. */
ASSAY_API assay_status assay_report_diff(const assay_checkpoint* a, const assay_checkpoint* b, int values, assay_watch_fn watch,
                                         void* context, assay_buffer** out, assay_error** error);
/* The same as work that goes on where it stopped, for a host that reads files by ranges. "doctor", "moe" and what assay_job_new_diff makes
 * (and "stats", "verify") need each byte once or a few times, and forget it: memory stays bounded whatever the file's size, but for
 * storages that are compressed. `sample` not 0: a first look. Of large tensors one MiB in sixteen is looked at, of an expert's matrices
 * 64 KiB of each MiB; what rests on that is marked "exact": false, doctor's findings "sampled": true, and is none of the exact document.
 * Reads no values yet. Keeps what it needs of the checkpoints alive. For one thread at a time. */
ASSAY_API assay_status assay_job_new(const assay_checkpoint* checkpoint, const char* command, const char* filter, int sample,
                                     assay_job** out, assay_error** error);
ASSAY_API assay_status assay_job_new_diff(const assay_checkpoint* a, const assay_checkpoint* b, int values, int sample, assay_job** out,
                                          assay_error** error);
/* Bytes of values that it reads, as far as headers tell: what a pair or a copy costs more is found on the way. Of "doctor", "moe" and diff;
 * else 0. */
ASSAY_API uint64_t assay_job_bytes(const assay_job* job);
/* Works until the document is there, which is handed out once. After ASSAY_NEED_RANGE nothing is lost: add the range, and call again;
 * ranges that were added before that call may be dropped. `watch` is that of the call, and may be NULL. To cancel, free the job. */
ASSAY_API assay_status assay_job_run(assay_job* job, assay_watch_fn watch, void* context, assay_buffer** out, assay_error** error);
ASSAY_API void assay_job_free(assay_job* job);
/* `assay scan --json` of one file of the set, which need not be a checkpoint. */
ASSAY_API assay_status assay_report_scan(const assay_files* files, const char* name, assay_buffer** out, assay_error** error);

/* Tensors in an order, as uint32_t numbers: "file", "name" (natural: layers.2 before layers.10), "size" (largest first). */
ASSAY_API assay_status assay_order(const assay_checkpoint* checkpoint, const char* order, assay_buffer** out, assay_error** error);
/* Those of `order` (n tensors; NULL for file order) that the filter of --where chooses, as uint32_t numbers. Fails with ASSAY_USAGE, naming
 * the word that is not understood. Cost: linear. */
ASSAY_API assay_status assay_select(const assay_checkpoint* checkpoint, const char* filter, const uint32_t* order, size_t n,
                                    assay_buffer** out, assay_error** error);

/* A small synthetic mixture of experts as a safetensors file of F32, the same bytes for the same seed everywhere (7 is the usual one). For
 * demonstrations: about 9 MB. */
ASSAY_API assay_status assay_synthetic(uint64_t seed, assay_buffer** out, assay_error** error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include "assay/assay_pickle.h"

#endif /* ASSAY_ASSAY_H */
