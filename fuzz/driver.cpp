// SPDX-License-Identifier: Apache-2.0
// Runs one target over files: driver TARGET FILE|FOLDER… Each input lies in memory of exactly its size, so that a sanitizer sees a read of
// one byte too many. Works with every compiler; the tests run it over the corpus.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "fuzz.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargest = 64 * 1024;  // seeds beyond are not for every run

std::vector<fs::path> files_of(int count, char** words) {
  std::vector<fs::path> files;
  for (int i = 0; i < count; ++i) {
    if (!fs::exists(words[i])) continue;  // a target without files of its own
    if (!fs::is_directory(words[i])) files.emplace_back(words[i]);
    else
      for (const auto& entry : fs::recursive_directory_iterator(words[i]))
        if (entry.is_regular_file() && entry.file_size() <= kLargest) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

void run_file(const assay::fuzz::Target& target, const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::unique_ptr<std::byte[]> exact(new std::byte[content.size()]);
  if (!content.empty()) std::memcpy(exact.get(), content.data(), content.size());
  std::fprintf(stderr, "%s\n", path.c_str());  // the last line names the file that stopped the program
  target.run({exact.get(), content.size()});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s TARGET FILE|FOLDER...\ntargets:", argv[0]);
    for (const auto& target : assay::fuzz::targets())
      std::fprintf(stderr, " %.*s", static_cast<int>(target.name.size()), target.name.data());
    std::fprintf(stderr, "\n");
    return 2;
  }
  const auto targets = assay::fuzz::targets();
  const auto found = std::ranges::find(targets, argv[1], &assay::fuzz::Target::name);
  if (found == targets.end()) return std::fprintf(stderr, "no target is called %s\n", argv[1]), 2;
  const auto files = files_of(argc - 2, argv + 2);
  for (const fs::path& file : files) run_file(*found, file);
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
