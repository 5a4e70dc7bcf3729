/* SPDX-License-Identifier: Apache-2.0
 *
 * assay in C: a pickle as data. Part of assay.h, which says how failing, ownership and texts are meant.
 */
#ifndef ASSAY_ASSAY_PICKLE_H
#define ASSAY_ASSAY_PICKLE_H

#include "assay/assay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pickle as data. Nothing is imported and nothing is called: a call is a value that names its callable and arguments. Values are numbers
 * (nodes) and shared, so there can be cycles: a walk must remember the nodes it has seen. */
typedef enum assay_pickle_kind {
  ASSAY_PICKLE_NONE = 0,
  ASSAY_PICKLE_BOOLEAN = 1,
  ASSAY_PICKLE_INTEGER = 2,
  ASSAY_PICKLE_BIG_INTEGER = 3, /* beyond 64 bits: bytes, two's complement, little endian */
  ASSAY_PICKLE_REAL = 4,
  ASSAY_PICKLE_TEXT = 5,
  ASSAY_PICKLE_BYTES = 6,
  ASSAY_PICKLE_BYTEARRAY = 7,
  ASSAY_PICKLE_LIST = 8,
  ASSAY_PICKLE_TUPLE = 9,
  ASSAY_PICKLE_DICT = 10,
  ASSAY_PICKLE_SET = 11,
  ASSAY_PICKLE_FROZENSET = 12,
  ASSAY_PICKLE_GLOBAL = 13,     /* an imported name, not resolved */
  ASSAY_PICKLE_CALL = 14,       /* what calling would have made */
  ASSAY_PICKLE_PERSISTENT = 15, /* torch's storages; item 0 is the id */
  ASSAY_PICKLE_EXTENSION = 16,  /* copyreg extension; integer is its code */
  ASSAY_PICKLE_BUFFER = 17      /* out-of-band data that is not in the file */
} assay_pickle_kind;

/* Opens the values of a file: a checkpoint's main pickle, or else the file as one plain pickle stream. A stream that breaks off succeeds:
 * assay_pickle_broken() says where, and the values before are there. */
ASSAY_API assay_status assay_pickle_open(const char* path, const assay_options* options, assay_pickle** out, assay_error** error);
/* The same for a file in memory, borrowed until assay_pickle_close. */
ASSAY_API assay_status assay_pickle_open_memory(const void* data, size_t size, assay_pickle** out, assay_error** error);
/* The main pickle of an open checkpoint; ASSAY_USAGE when its format has none. May outlive the checkpoint. */
ASSAY_API assay_status assay_pickle_of(const assay_checkpoint* checkpoint, assay_pickle** out, assay_error** error);
ASSAY_API void assay_pickle_close(assay_pickle* pickle);

/* Why the stream broke off, or NULL. Belongs to the pickle: do not free it. */
ASSAY_API const assay_error* assay_pickle_broken(const assay_pickle* pickle);
/* The object the stream ends with; ASSAY_NO_NODE when it broke before its end. */
ASSAY_API uint32_t assay_pickle_root(const assay_pickle* pickle);
/* Nodes are 0 .. count - 1. */
ASSAY_API size_t assay_pickle_node_count(const assay_pickle* pickle);
ASSAY_API assay_pickle_kind assay_pickle_kind_of(const assay_pickle* pickle, uint32_t node);
/* Absolute file offset of the opcode that made the node, or ASSAY_NO_OFFSET. */
ASSAY_API uint64_t assay_pickle_offset(const assay_pickle* pickle, uint32_t node);

ASSAY_API int64_t assay_pickle_integer(const assay_pickle* pickle, uint32_t node); /* booleans are 0 and 1 */
ASSAY_API double assay_pickle_real(const assay_pickle* pickle, uint32_t node);
ASSAY_API const char* assay_pickle_text(const assay_pickle* pickle, uint32_t node, size_t* length);
ASSAY_API const void* assay_pickle_bytes(const assay_pickle* pickle, uint32_t node, size_t* length);

/* Items of a list, tuple or set; those that were appended to a call's result; the id of a persistent value (item 0). */
ASSAY_API size_t assay_pickle_length(const assay_pickle* pickle, uint32_t node);
ASSAY_API uint32_t assay_pickle_item(const assay_pickle* pickle, uint32_t node, size_t i);
/* Pairs of a dict, or those set on a call's result (an OrderedDict is one). Duplicate keys are kept, in file order. */
ASSAY_API size_t assay_pickle_pair_count(const assay_pickle* pickle, uint32_t node);
ASSAY_API uint32_t assay_pickle_key(const assay_pickle* pickle, uint32_t node, size_t i);
ASSAY_API uint32_t assay_pickle_value(const assay_pickle* pickle, uint32_t node, size_t i);
/* The value of the last pair whose key is this text. Cost: linear. */
ASSAY_API uint32_t assay_pickle_get(const assay_pickle* pickle, uint32_t node, const char* key, size_t length);

/* Of a global: "torch._utils", "_rebuild_tensor_v2". */
ASSAY_API const char* assay_pickle_global_module(const assay_pickle* pickle, uint32_t node, size_t* length);
ASSAY_API const char* assay_pickle_global_name(const assay_pickle* pickle, uint32_t node, size_t* length);
/* Of a call: what would be called, with which tuple, with which keyword arguments (or ASSAY_NO_NODE). */
ASSAY_API uint32_t assay_pickle_callable(const assay_pickle* pickle, uint32_t node);
ASSAY_API uint32_t assay_pickle_arguments(const assay_pickle* pickle, uint32_t node);
ASSAY_API uint32_t assay_pickle_keyword_arguments(const assay_pickle* pickle, uint32_t node);
/* States given to a value after it was made (__setstate__), in order. */
ASSAY_API size_t assay_pickle_state_count(const assay_pickle* pickle, uint32_t node);
ASSAY_API uint32_t assay_pickle_state(const assay_pickle* pickle, uint32_t node, size_t i);

/* The checkpoint's tensor that this node is, or ASSAY_NO_INDEX. Only where the pickle is that of a checkpoint. */
ASSAY_API size_t assay_pickle_tensor(const assay_pickle* pickle, uint32_t node);
/* What a persistent id of torch, ('storage', class, key, location, size), refers to. */
typedef struct assay_pickle_storage_info {
  uint64_t offset;   /* absolute in its file, of the packed bytes when compressed; ASSAY_NO_OFFSET when its bytes were not found */
  uint64_t nbytes;   /* as the id claims: elements times their size; 0 when that overflows or the dtype is unknown */
  uint64_t elements; /* as the id claims */
  assay_dtype dtype;
  size_t storage; /* index into the checkpoint's storages, or ASSAY_NO_INDEX */
} assay_pickle_storage_info;
/* 1 and `out` filled when the node is such an id, 0 otherwise. Cost: linear in the checkpoint's storages. */
ASSAY_API int assay_pickle_storage(const assay_pickle* pickle, uint32_t node, assay_pickle_storage_info* out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ASSAY_ASSAY_PICKLE_H */
