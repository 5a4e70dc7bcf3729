// SPDX-License-Identifier: Apache-2.0
// Names in commands that are suggested: what a shell takes back, and no terminal acts on.
#include <gtest/gtest.h>

#include "report/screens.hpp"

namespace assay::report {
namespace {

TEST(ShellWord, IsQuotedWhereAShellWouldNotTakeIt) {
  EXPECT_EQ(shell_word("models/a-b_c.v1,2:3@4%5=6+.pt"), "models/a-b_c.v1,2:3@4%5=6+.pt");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("my model.pt"), "'my model.pt'");
  EXPECT_EQ(shell_word("it's $HOME\\x.pt"), "'it'\\''s $HOME\\x.pt'");
  EXPECT_EQ(shell_word("-n.pt"), "./'-n.pt'");
  EXPECT_EQ(shell_word("\u00e9.pt"), "'\u00e9.pt'");
}

TEST(ShellWord, NeverHoldsWhatATerminalActsOn) {
  EXPECT_EQ(shell_word("a\x1b[31m.pt"), "$'a\\x1b[31m.pt'");
  EXPECT_EQ(shell_word("it's\n\\\u202e"), "$'it\\'s\\n\\\\\\u202e'");
  EXPECT_EQ(shell_word("-\x9b"), "./$'-\\x9b'");
}

}  // namespace
}  // namespace assay::report
