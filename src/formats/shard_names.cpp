// SPDX-License-Identifier: Apache-2.0
#include "formats/shard_names.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/text.hpp"

namespace assay::formats {

namespace {

constexpr std::string_view kBetween = "-of-";

constexpr struct {
  std::string_view extension;
  int rank;
} kWeights[] = {
    {".safetensors", 0}, {".bin", 1}, {".pt", 1}, {".pth", 1},  {".ckpt", 1},    {".gguf", 2},
    {".npz", 2},         {".npy", 2}, {".h5", 2}, {".onnx", 2}, {".msgpack", 2}, {".pkl", 2},
};

constexpr std::string_view kUsual[] = {"model", "pytorch_model", "diffusion_pytorch_model", "adapter_model"};
constexpr std::string_view kSideFiles[] = {"training_args", "optimizer", "scheduler", "scaler", "rng_state"};

bool digit(char c) { return c >= '0' && c <= '9'; }

bool is_count(std::string_view text) { return (text.size() == 5 || text.size() == 6) && std::ranges::all_of(text, digit); }

std::uint32_t value_of(std::string_view digits) {
  std::uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

}  // namespace

std::string NumberedName::name_of(std::uint32_t other_part) const {
  const std::string digits = decimal(std::uint64_t{other_part});
  return concat(stem, std::string(number.size() - std::min(number.size(), digits.size()), '0'), digits, kBetween, total, suffix);
}

std::optional<NumberedName> numbered_name(std::string_view name) {
  const std::size_t between = name.rfind(kBetween);
  if (between == std::string_view::npos) return std::nullopt;
  const std::string_view before = name.substr(0, between), after = name.substr(between + kBetween.size());
  std::size_t from = before.size();
  while (from > 0 && digit(before[from - 1])) --from;
  const std::size_t dot = after.find('.');
  if (from == 0 || std::string_view("._-").find(before[from - 1]) == std::string_view::npos || dot == std::string_view::npos)
    return std::nullopt;
  NumberedName result{
      .stem = before.substr(0, from), .number = before.substr(from), .total = after.substr(0, dot), .suffix = after.substr(dot)};
  if (!is_count(result.number) || !is_count(result.total)) return std::nullopt;
  result.part = value_of(result.number);
  result.parts = value_of(result.total);
  if (result.part == 0 || result.part > result.parts) return std::nullopt;
  return result;
}

bool is_index_name(std::string_view name) {
  return name.ends_with(".json") && name.find(".index.") != std::string_view::npos && !is_apple_double_name(name);
}

std::optional<int> weights_rank(std::string_view name) {
  if (is_apple_double_name(name)) return std::nullopt;
  const std::string small = lowered(name);
  for (const auto& [extension, rank] : kWeights)
    if (small.ends_with(extension)) return rank;
  return std::nullopt;
}

int role_rank(std::string_view name) {
  const auto starts = [&](std::string_view word) { return name.starts_with(word); };
  if (std::ranges::any_of(kSideFiles, starts)) return kSideFile;
  if (starts("consolidated")) return 2;
  const auto usual = [&](std::string_view word) {
    return starts(word) && name.size() > word.size() && (name[word.size()] == '.' || name[word.size()] == '-');
  };
  return std::ranges::any_of(kUsual, usual) ? 0 : 1;
}

bool leaves_folder(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.front() == '\\' || (path.size() > 1 && path[1] == ':')) return true;
  if (path.find('\0') != std::string_view::npos) return true;
  while (!path.empty()) {
    const std::size_t end = path.find_first_of("/\\");
    if (path.substr(0, end) == "..") return true;
    if (end == std::string_view::npos) break;
    path.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace assay::formats
