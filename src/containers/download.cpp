// SPDX-License-Identifier: Apache-2.0
#include "containers/download.hpp"

#include "base/text.hpp"

namespace assay {

std::string words_of_restart(std::uint64_t at) {
  return concat("the file begins again at byte ", grouped(at), ": a download that started over was put behind what was there; tail -c +",
                at + 1, " takes what may be the whole file");
}

}  // namespace assay
