/* SPDX-License-Identifier: Apache-2.0 */
/* The same as consumer.cpp through the installed C header. */
#include <stdio.h>

#include "assay/assay.h"

int main(int argc, char** argv) {
  assay_checkpoint* checkpoint = NULL;
  assay_error* error = NULL;
  if (argc != 2) return 2;
  if (assay_open(argv[1], NULL, &checkpoint, &error) != ASSAY_OK) {
    fprintf(stderr, "%s\n", assay_error_message(error));
    assay_error_free(error);
    return 4;
  }
  for (size_t i = 0; i < assay_tensor_count(checkpoint); ++i) {
    size_t length = 0;
    const char* name = assay_tensor_name(checkpoint, i, &length);
    float first = 0;
    if (assay_tensor_read_f32(checkpoint, i, 0, 1, &first, NULL) != ASSAY_OK) return 5;
    printf("%.*s %s %g\n", (int)length, name, assay_dtype_name(assay_tensor_dtype(checkpoint, i)), (double)first);
  }
  assay_close(checkpoint);
  return 0;
}
