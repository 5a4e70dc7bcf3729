// SPDX-License-Identifier: Apache-2.0
#include "base/plain_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace assay {
namespace {

// Whatever the length and the place: a word, sixteen bytes and single ones are looked at in turn.
TEST(PlainText, EndsAtTheFirstByteThatIsNotPlain) {
  for (std::size_t size = 0; size < 70; ++size) {
    const std::string plain(size, 'a');
    EXPECT_EQ(plain_text_end(plain.data(), plain.data() + size, '"'), plain.data() + size);
    for (std::size_t at = 0; at < size; ++at)
      for (int c = 0; c < 256; ++c) {
        std::string text = plain;
        text[at] = static_cast<char>(c);
        if (at + 3 < size) text[at + 3] = '"';  // only the first counts
        const bool stops = c < 0x20 || c >= 0x7f || c == '\\' || c == '"';
        const std::size_t expected = stops ? at : at + 3 < size ? at + 3 : size;
        ASSERT_EQ(plain_text_end(text.data(), text.data() + size, '"') - text.data(), static_cast<std::ptrdiff_t>(expected))
            << size << ' ' << at << ' ' << c;
      }
  }
}

TEST(PlainText, StopsWhereItIsAsked) {
  const std::string text = "twenty \"plain\" letters";
  EXPECT_EQ(plain_text_end(text.data(), text.data() + text.size(), '"'), text.data() + 7);
  EXPECT_EQ(plain_text_end(text.data(), text.data() + text.size(), '\\'), text.data() + text.size());
}

}  // namespace
}  // namespace assay
