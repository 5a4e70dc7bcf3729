// SPDX-License-Identifier: Apache-2.0
#include "containers/pickle/python2_names.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace assay::pickle {

namespace {

struct ModuleRow {
  std::string_view written, module;
};
constexpr ModuleRow kModules[] = {
#define ASSAY_PYTHON2_MODULE(written, module) {written, module},
#include "containers/pickle/python2_names.def"
#undef ASSAY_PYTHON2_MODULE
};

struct NameRow {
  std::string_view written_module, written_name, module, name;
};
constexpr NameRow kNames[] = {
#define ASSAY_PYTHON2_NAME(written_module, written_name, module, name) {written_module, written_name, module, name},
#include "containers/pickle/python2_names.def"
#undef ASSAY_PYTHON2_NAME
};

constexpr auto key_of(const NameRow& row) { return std::pair(row.written_module, row.written_name); }

static_assert(std::ranges::is_sorted(kModules, {}, &ModuleRow::written));
static_assert(std::ranges::is_sorted(kNames, {}, key_of));

}  // namespace

namespace {

// Which lengths of modules there are by their first letter: nearly all names are of none, and that shows at once.
constexpr auto kLengths = [] {
  std::array<std::uint64_t, 128> lengths{};
  const auto enter = [&lengths](std::string_view module) {
    lengths[static_cast<unsigned char>(module[0])] |= std::uint64_t{1} << module.size();
  };
  for (const auto& row : kNames) enter(key_of(row).first);
  for (const auto& row : kModules) enter(row.written);
  return lengths;
}();

bool may_be_python2(std::string_view module) {
  if (module.empty() || module.size() > 63) return false;
  const auto first = static_cast<unsigned char>(module[0]);
  return first < 128 && (kLengths[first] >> module.size() & 1) != 0;
}

}  // namespace

GlobalName python3_name(GlobalName written) {
  if (!may_be_python2(written.module)) return written;
  const std::pair key(written.module, written.name);
  const auto* name = std::ranges::lower_bound(kNames, key, {}, key_of);
  if (name != std::end(kNames) && key_of(*name) == key) return {name->module, name->name};
  const auto* module = std::ranges::lower_bound(kModules, written.module, {}, &ModuleRow::written);
  if (module != std::end(kModules) && module->written == written.module) return {module->module, written.name};
  return written;
}

}  // namespace assay::pickle
