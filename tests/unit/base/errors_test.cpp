// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "assay/finding.hpp"
#include "assay/result.hpp"

namespace assay {
namespace {

constexpr std::string_view kNames[] = {
#define ASSAY_CODE(id, text, severity, hint) text,
#include "assay/errors.def"
#undef ASSAY_CODE
};

TEST(Codes, NamesAreKebabCaseAndFindTheirCode) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    EXPECT_TRUE(seen.insert(kNames[i]).second) << kNames[i];
    EXPECT_EQ(kNames[i].find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string_view::npos) << kNames[i];
    EXPECT_EQ(code_from_name(kNames[i]), static_cast<Code>(i));
    EXPECT_EQ(code_name(static_cast<Code>(i)), kNames[i]);
  }
  EXPECT_EQ(code_from_name("no such code"), std::nullopt);
}

TEST(ErrorTrail, WhatIsSaidFirstIsKept) {
  const Error error =
      Error(Code::truncated, "too short").at(7).in_member("a").of_tensor("w").at(9).in_member("b").in_file("f").expected_found(4, 3);
  EXPECT_EQ(error.where().offset, 7u);
  EXPECT_EQ(error.where().member, "a");
  EXPECT_EQ(error.where().tensor, "w");
  EXPECT_EQ(error.where().file, "f");
  ASSERT_EQ(error.facts().size(), 2u);
  EXPECT_EQ(error.facts()[0].key, "expected");
  EXPECT_EQ(std::get<std::uint64_t>(error.facts()[1].value), 3u);
}

TEST(ErrorTrail, ItsOwnAdviceGoesBeforeTheCodes) {
  EXPECT_EQ(Error(Code::git_lfs_pointer).hint(), code_hint(Code::git_lfs_pointer));
  EXPECT_EQ(Error(Code::git_lfs_pointer).advise("ask").advise("never").hint(), "ask");
}

TEST(FindingsList, CountsBeyondWhatItKeeps) {
  Findings findings;
  for (std::size_t i = 0; i < Findings::kPerCode + 5; ++i) findings.add(Finding(Code::odd_name, "odd"));
  EXPECT_EQ(findings.list().size(), Findings::kPerCode);
  EXPECT_EQ(findings.suppressed(Code::odd_name), 5u);
  EXPECT_EQ(findings.suppressed(Code::gap), 0u);
  EXPECT_FALSE(findings.any_at_least(Severity::warning));
  findings.add(Finding::from(Error(Code::overlap, "both").at(3)));
  EXPECT_TRUE(findings.any_at_least(Severity::damage));
  EXPECT_TRUE(findings.has(Code::overlap));
  EXPECT_EQ(findings.list().back().where.offset, 3u);
}

TEST(FindingsList, ASummaryComesFirstAndIsKept) {
  Findings findings;
  findings.add(Finding(Code::gap, "a"));
  for (std::size_t i = 0; i < Findings::kPerCode + 5; ++i) findings.add(Finding(Code::truncated, "one"));
  findings.add_first(Finding(Code::truncated, "all"));
  EXPECT_EQ(findings.list().front().message, "all");
  EXPECT_EQ(findings.list()[1].message, "a");
  EXPECT_EQ(findings.list().size(), Findings::kPerCode + 1);
  EXPECT_EQ(findings.suppressed(Code::truncated), 6u);
}

}  // namespace
}  // namespace assay
