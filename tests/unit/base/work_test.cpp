// SPDX-License-Identifier: Apache-2.0
#include "base/work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace assay {
namespace {

/// Bytes that a host brings one by one, and takes back.
struct Tape {
  std::vector<int> at_hand;
  int reads = 0;
  Result<int> read(int at) {
    ++reads;
    if (std::ranges::find(at_hand, at) == at_hand.end())
      return fail(Error(Code::need_range, "missing").span(static_cast<std::uint64_t>(at), 1));
    return 10 * at;
  }
};

Work<std::string> part(Tape& tape, int from, std::shared_ptr<int> watched) {
  std::string text = "a text too long for the string itself:";
  for (int at = from; at < from + 2; ++at) {
    ASSAY_READ_INTO(const int value, tape.read(at));
    text += concat(" ", value);
    ++*watched;
  }
  co_return text;
}

Work<std::string> all(Tape& tape, std::shared_ptr<int> watched) {
  std::string text;
  for (int from = 0; from < 4; from += 2) {
    ASSAY_AWAIT(const std::string one, part(tape, from, watched));
    text += one;
  }
  co_return text;
}

Work<int> refused(int& after) {
  const auto no = []() -> Result<int> { return fail(Code::malformed_tensor, "no"); };
  ASSAY_READ(no());
  co_return ++after;
}
Work<int> passes_on(int& after) {
  ASSAY_AWAIT(const int value, refused(after));
  co_return ++after + value;
}

TEST(Work, GoesOnWhereItStoppedWithWhatItHasFound) {
  Tape tape;
  auto watched = std::make_shared<int>(0);
  auto work = all(tape, watched);
  std::vector<std::uint64_t> missing;
  for (;;) {
    auto text = work.go_on();
    if (text) {
      EXPECT_EQ(*text, "a text too long for the string itself: 0 10a text too long for the string itself: 20 30");
      break;
    }
    ASSERT_EQ(text.error().code(), Code::need_range);
    missing.push_back(*text.error().where().offset);
    tape.at_hand = {static_cast<int>(missing.back())};  // what was there before is gone
  }
  EXPECT_EQ(missing, (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(tape.reads, 8);
  EXPECT_EQ(*watched, 4);
}

TEST(Work, AsksAgainWhereNothingWasBrought) {
  Tape tape;
  auto work = all(tape, std::make_shared<int>(0));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(work.go_on().error().where().offset, 0u);
}

TEST(Work, IsAPlainCallWhereAllIsAtHand) {
  Tape tape{{0, 1, 2, 3}};
  EXPECT_TRUE(all(tape, std::make_shared<int>(0)).go_on().has_value());
  EXPECT_EQ(tape.reads, 4);
}

TEST(Work, OtherErrorsEndIt) {
  int after = 0;
  const auto failed = passes_on(after).go_on();
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code(), Code::malformed_tensor);
  EXPECT_EQ(after, 0);
}

TEST(Work, LetsGoOfWhatItHoldsWhereItIsGivenUp) {
  Tape tape{{0}};
  auto watched = std::make_shared<int>(0);
  {
    auto work = all(tape, watched);
    EXPECT_FALSE(work.go_on().has_value());
    EXPECT_GT(watched.use_count(), 1);
  }
  EXPECT_EQ(watched.use_count(), 1);
  const auto never_begun = all(tape, watched);
  EXPECT_EQ(*watched, 1);
}

}  // namespace
}  // namespace assay
