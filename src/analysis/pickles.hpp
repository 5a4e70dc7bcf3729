// SPDX-License-Identifier: Apache-2.0
// The pickles of a file, wherever they stand: the file itself, one behind the other, in a zip or tar member, behind an array's header.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "assay/limits.hpp"
#include "assay/pickle.hpp"

namespace assay::analysis {

struct PickleStream {
  std::string member;        ///< "" for the file itself; members of members joined by '/'
  std::uint64_t number = 1;  ///< pickles follow each other: 1 is the first
  bool in_file = true;       ///< offsets are those of the file; false in what had to be unpacked
  bool with_arrays = false;  ///< parsed with joblib's arrays between the opcodes
  ByteView bytes;            ///< from its first opcode on, and more behind its end; owned by the graph
  std::shared_ptr<const pickle::Graph> graph;
};

/// Gives the pickles of one member in turn.
class PickleReader {
 public:
  /// `member` chooses within an archive: a member's name, with or without the root folder, and further members behind a '/'. Without it,
  /// the main pickle: data.pkl, a tar's "pickle", or the only one there is. Fails with `no-such-member` (fact "members": what there is),
  /// `no-pickle` where the bytes are something else, and as reading does.
  static Result<PickleReader> open(std::shared_ptr<ByteSource> source, std::string_view member, const Limits& limits);
  PickleReader(PickleReader&&) noexcept;
  PickleReader& operator=(PickleReader&&) noexcept;
  ~PickleReader();

  /// The next pickle; nothing behind the last. A broken one is the last one.
  Result<std::optional<PickleStream>> next();
  /// What follows the last pickle, once next() gave nothing: "storages", "bytes that are no pickle", or "" when it ends there.
  std::string_view rest() const;
  std::uint64_t rest_offset() const;
  std::uint64_t rest_size() const;

  struct State;

 private:
  explicit PickleReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::analysis
