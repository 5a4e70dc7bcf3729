// SPDX-License-Identifier: Apache-2.0
// THE table of fuzz targets. CMakeLists.txt makes a libFuzzer program of each, and a test of each over its corpus.
#include "fuzz.hpp"

namespace assay::fuzz {
namespace {

constexpr Target kTargets[] = {
    {"zip", containers_zip},
    {"pickle", containers_pickle},
    {"json", containers_json},
    {"inflate", containers_inflate},
    {"safetensors", formats_safetensors},
    {"safetensors_header", formats_safetensors_header},
    {"shard_index", formats_shard_index},
    {"torch_zip", formats_torch_zip},
    {"torch_legacy", formats_torch_legacy},
    {"torch_tar", formats_torch_tar},
    {"torch_mobile", formats_torch_mobile},
    {"torch_dcp", formats_torch_dcp},
    {"npy", formats_npy},
    {"npz", formats_npz},
    {"plain_pickle", formats_pickle},
    {"ranges", opening_ranges},
    {"verify", opening_verify},
    {"scan", scan_file},
    {"decode", values_decode},
    {"strides", values_strides},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

}  // namespace assay::fuzz
