// SPDX-License-Identifier: Apache-2.0
// Lists the tensors of a checkpoint through the installed C++ headers: "name dtype first-value" a line.
#include <array>
#include <cstdio>

#include "assay/assay.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto files = assay::open_path(argv[1]);
  if (!files) return 3;
  const auto checkpoint = assay::open(**files);
  if (!checkpoint) {
    std::fprintf(stderr, "%s\n", checkpoint.error().what().c_str());
    return 4;
  }
  for (const assay::Tensor& tensor : checkpoint->tensors) {
    const auto reader = assay::TensorReader::open(*checkpoint, tensor);
    std::array<float, 1> first{};
    if (!reader || !reader->read_f32(0, first)) return 5;
    const auto dtype = assay::dtype_name(tensor.dtype);
    std::printf("%.*s %.*s %g\n", static_cast<int>(tensor.name.size()), tensor.name.data(), static_cast<int>(dtype.size()), dtype.data(),
                static_cast<double>(first[0]));
  }
  return 0;
}
