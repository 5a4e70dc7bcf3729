// SPDX-License-Identifier: Apache-2.0
// Files under tests/data/torch and tests/data/old, and what their own libraries read back from them (expected.json, written by tests/make).
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "assay/assay.hpp"
#include "formats/torch_zip.hpp"

namespace assay::test {

struct ExpectedTensor {
  std::string name, dtype, shape, values;  // "2x3"; values divided by blanks
};
struct ExpectedFile {
  std::string name;
  std::vector<ExpectedTensor> tensors;
};

inline void PrintTo(const ExpectedFile& file, std::ostream* out) { *out << file.name; }

inline std::vector<std::byte> read_data(const std::string& name, const std::string& folder = "torch") {
  std::ifstream in(std::string(ASSAY_TEST_DATA) + "/" + folder + "/" + name, std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

// The texts between double quotes; the writer uses no escapes.
inline std::vector<std::string> quoted_texts(const std::string& line) {
  std::vector<std::string> texts;
  for (std::size_t i = line.find('"'); i != std::string::npos; i = line.find('"', i)) {
    const std::size_t end = line.find('"', i + 1);
    texts.push_back(line.substr(i + 1, end - i - 1));
    i = end + 1;
  }
  return texts;
}

inline std::vector<ExpectedFile> expected_files(const std::string& folder = "torch") {
  std::ifstream in(std::string(ASSAY_TEST_DATA) + "/" + folder + "/expected.json");
  std::vector<ExpectedFile> files;
  for (std::string line; std::getline(in, line);) {
    const auto texts = quoted_texts(line);
    if (texts.size() == 1) files.push_back({texts[0], {}});
    if (texts.size() == 4) files.back().tensors.push_back({texts[0], texts[1], texts[2], texts[3]});
  }
  return files;
}

inline Result<Checkpoint> open_bytes(std::vector<std::byte> bytes, const Limits& limits = {}) {
  const auto source = std::make_shared<MemorySource>(std::move(bytes));
  SourceSet files("test", "x.pt");
  files.add("x.pt", source);
  return formats::open_torch_zip({files, "x.pt", source, limits});
}

}  // namespace assay::test
