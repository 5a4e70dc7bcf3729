// SPDX-License-Identifier: Apache-2.0
// The bounds that keep a hostile file from costing more than it is worth. Reaching one is Code::limit_exceeded, never silence.
#pragma once

#include <cstdint>

namespace assay {

/// Defaults admit every real file known: a 126 MB safetensors header, 1.3 million tensors, a 23 MB shard index.
struct Limits {
  std::uint64_t header_bytes = std::uint64_t{1} << 30;            ///< a safetensors header
  std::uint64_t json_bytes = std::uint64_t{256} << 20;            ///< a shard index or config.json
  std::uint32_t json_depth = 128;                                 ///< nested JSON arrays and objects
  std::uint64_t pickle_bytes = std::uint64_t{1} << 30;            ///< one pickle stream
  std::uint32_t pickle_nodes = 64u << 20;                         ///< values in one pickle graph
  std::uint32_t pickle_stack = 16u << 20;                         ///< stack items and marks together
  std::uint32_t pickle_memo = 16u << 20;                          ///< memo entries
  std::uint32_t global_name_bytes = 4096;                         ///< one import's module or attribute name
  std::uint32_t int_digits = 1u << 17;                            ///< digits of integers too long for CPython (4300), together
  std::uint32_t walk_depth = 4096;                                ///< nested containers followed when tensors are collected
  std::uint32_t name_bytes = 1u << 16;                            ///< one composed tensor name
  std::uint32_t zip_members = 4u << 20;                           ///< entries of one zip directory
  std::uint32_t zip_headers = 0xffffffff;                         ///< local headers read of a zip with more members (Storage::inferred)
  std::uint64_t inflate_bytes = std::uint64_t{4} << 30;           ///< one inflated member that holds tensor data
  std::uint64_t inflate_pickle_bytes = std::uint64_t{256} << 20;  ///< one inflated member that is parsed
  std::uint32_t inflate_pickle_ratio = 100;                       ///< the same's inflated / deflated size, where it is more than 4 MiB
  std::uint32_t inflate_ratio = 1100;                             ///< inflated / deflated size (deflate itself cannot pass 1032)
  std::uint32_t rank = 64;                                        ///< dimensions of one tensor (torch and numpy allow 64)
  std::uint32_t shards = 100000;                                  ///< files of one sharded set
  std::uint32_t threads = 1;                                      ///< that open shards, where there are any; what comes out is the same
};

}  // namespace assay
