// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace assay::report {
namespace {

Table sample() {
  Table table({{.title = "NAME", .flexible = true, .least = 4}, {.title = "SIZE", .right = true}, {.title = "NOTE"}});
  table.cell("model.layers.0.weight");
  table.cell("16 B");
  table.cell("");
  table.cell("層");
  table.cell("1.5 KiB");
  table.cell("shared");
  return table;
}

std::string text_of(const Table& table, const Style& style) {
  Writer out;
  table.write(out, style);
  return std::string(out.text());
}

TEST(Table, LinesUpAndLeavesNoSpacesAtTheEnd) {
  EXPECT_EQ(text_of(sample(), {}), "NAME                      SIZE  NOTE\n"
                                   "model.layers.0.weight     16 B\n"
                                   "層                     1.5 KiB  shared\n");
}

TEST(Table, CutsTheFlexibleColumnToFit) {
  EXPECT_EQ(text_of(sample(), {.width = 30}), "NAME              SIZE  NOTE\n"
                                              "…0.weight         16 B\n"
                                              "層             1.5 KiB  shared\n");
}

TEST(Table, LeavesOutEmptyColumnsAndTitlesThatAreNotThere) {
  Table table({{.title = ""}, {.title = ""}, {.title = ""}});
  for (const char* cell : {"a", "", "b", "c", "", "d"}) table.cell(cell);
  EXPECT_EQ(text_of(table, {}), "a  b\nc  d\n");
  EXPECT_EQ(text_of(Table({{.title = "X"}}), {}), "");
}

TEST(Table, ColoursCellsWithoutCountingTheCodes) {
  Table table({{.title = ""}, {.title = ""}});
  table.cell("ab", Tone::bad);
  table.cell("x");
  table.cell("abcd");
  table.cell("y");
  EXPECT_EQ(text_of(table, {.color = true}), "\x1b[1;31mab\x1b[0m    x\nabcd  y\n");
}

}  // namespace
}  // namespace assay::report
