// SPDX-License-Identifier: Apache-2.0
// What the zip tests ask again and again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "containers/zip.hpp"
#include "zip_builder.hpp"

namespace assay::zip {

using namespace assay::testing;

inline Result<Directory> read(const Bytes& bytes, const Limits& limits = {}) {
  return read_directory(*MemorySource::borrow(bytes), limits);
}

inline Bytes joined(Bytes a, const Bytes& b) {
  append(a, b);
  return a;
}

/// How many findings of this code were kept.
inline long count(const Findings& findings, Code code) {
  return std::count_if(findings.list().begin(), findings.list().end(), [=](const Finding& finding) { return finding.code == code; });
}

inline std::string texts(const Findings& findings) {
  std::string all;
  for (const Finding& finding : findings.list()) all += std::string(code_name(finding.code)) + ": " + finding.message + "\n";
  return all;
}

inline ZipBuilder torch_archive() {
  ZipBuilder zip;
  zip.add(torch_member("archive/data.pkl", noise(100)))
      .add(torch_member("archive/byteorder", bytes_of("little")))
      .add(torch_member("archive/data/0", noise(400, 2)))
      .add(torch_member("archive/data/1", {}))
      .add(torch_member("archive/version", bytes_of("3\n")));
  return zip;
}

inline Bytes content(const Bytes& archive, const Member& member) {
  auto block = read_member(*MemorySource::borrow(archive), member, 1 << 20, {});
  EXPECT_TRUE(block) << block.error().what();
  if (!block) return {};
  return Bytes(block->view().span().begin(), block->view().span().end());
}

}  // namespace assay::zip
