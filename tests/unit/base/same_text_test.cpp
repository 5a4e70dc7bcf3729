// SPDX-License-Identifier: Apache-2.0
#include "base/same_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace assay {
namespace {

TEST(SameText, SeesEveryByteOfEveryLength) {
  for (std::size_t n = 0; n < 70; ++n) {
    // Of exactly this size, so that a sanitizer sees a byte too far.
    const std::string a(n, 'a');
    EXPECT_TRUE(same_text(a, std::string(n, 'a')));
    EXPECT_TRUE(begins_with(a + "x", a));
    EXPECT_FALSE(begins_with(a, a + "x"));
    EXPECT_FALSE(same_text(a, a + "x"));
    for (std::size_t at = 0; at < n; ++at) {
      std::string b = a;
      b[at] = 'b';
      EXPECT_FALSE(same_text(a, b)) << n << ' ' << at;
      EXPECT_FALSE(begins_with(b + "x", a)) << n << ' ' << at;
    }
  }
}

}  // namespace
}  // namespace assay
