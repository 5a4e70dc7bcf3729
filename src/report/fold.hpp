// SPDX-License-Identifier: Apache-2.0
// Lines that are longer than the terminal, continued below where they began.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/writer.hpp"

namespace assay::report {

/// Breaks lines at blanks so that none is wider than `width` columns where that can be. What follows a label ("  missing     …") is
/// continued below its text, all else two columns further in. Lines that hold pictures for the terminal stay whole.
class Folder {
 public:
  explicit Folder(std::size_t width) : width_(width) {}
  /// Text in pieces of any size; a last line without its end waits for the next piece.
  void put(Writer& out, std::string_view text);
  /// Writes what waits.
  void finish(Writer& out);

 private:
  void line(Writer& out, std::string_view text) const;
  std::size_t width_;
  std::string waiting_;
};

}  // namespace assay::report
