// SPDX-License-Identifier: Apache-2.0
// Everything: open a checkpoint without running it, list it, read its values.
//
//   auto files = assay::open_path("model.safetensors");
//   auto checkpoint = assay::open(**files);
//   for (const assay::Tensor& tensor : checkpoint->tensors) …
#pragma once

#include "assay/checkpoint.hpp"
#include "assay/dtype.hpp"
#include "assay/finding.hpp"
#include "assay/limits.hpp"
#include "assay/pickle.hpp"
#include "assay/result.hpp"
#include "assay/source.hpp"
#include "assay/tensor.hpp"
#include "assay/values.hpp"
#include "assay/version.hpp"
