// SPDX-License-Identifier: Apache-2.0
// Inert payloads, spelled out opcode by opcode. Header-only; shares no code with the scanner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/scan/scan.hpp"
#include "unit/containers/tar_builder.hpp"
#include "unit/containers/zip_builder.hpp"

namespace assay::testing {

using namespace std::string_literals;

inline std::string le(std::uint64_t value, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}
inline std::string proto(int n) { return "\x80"s + static_cast<char>(n); }
inline std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
inline std::string text(std::string_view s) { return "X" + le(s.size(), 4) + std::string(s); }
inline std::string short_text(std::string_view s) { return "\x8c"s + static_cast<char>(s.size()) + std::string(s); }
inline std::string stack_global(std::string_view module, std::string_view name) { return short_text(module) + short_text(name) + "\x93"; }
inline std::string bytes_literal(std::string_view s) { return "B" + le(s.size(), 4) + std::string(s); }
/// (argument,) and REDUCE.
inline std::string call1(std::string_view argument) { return std::string(argument) + "\x85R"; }
/// Calls module.name('true').
inline std::string call_of(std::string_view module, std::string_view name) { return global(module, name) + call1(text("true")); }

/// The ordinary evil pickle without its STOP, whole, and a benign one.
inline const std::string kEvilBody = proto(2) + call_of("os", "system");
inline const std::string kEvil = kEvilBody + ".";
inline const std::string kBenign = proto(2) + "}.";

inline std::string text_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

inline scan::Report scan_text(std::string_view bytes, scan::Options options = {}) {
  const MemorySource source(bytes_of(bytes));
  auto report = scan::scan_file(source, "file", options);
  if (!report) __builtin_trap();
  return *std::move(report);
}

/// What a storage's persistent id pushes: the tuple and BINPERSID.
inline std::string storage_id(std::string_view key, std::uint32_t numel, std::string_view class_name = "FloatStorage") {
  return "(" + text("storage") + global("torch", class_name) + text(key) + text("cpu") + "J" + le(numel, 4) + "tQ";
}
/// {'w': tensor of 4 floats in storage `key`}
inline std::string torch_object(std::string_view key = "0") {
  return proto(2) + "}" + text("w") + global("torch._utils", "_rebuild_tensor_v2") + "(" + storage_id(key, 4) + "K\0"s + "K\x04\x85" +
         "K\x01\x85" + "\x89" + global("collections", "OrderedDict") + ")R" + "tRs.";
}
/// A torch zip whose data.pkl is `object`.
inline ZipBuilder torch_zip(std::string_view object) {
  ZipBuilder zip;
  zip.add(torch_member("archive/data.pkl", bytes_of(object)));
  zip.add(torch_member("archive/byteorder", bytes_of("little")));
  zip.add(torch_member("archive/data/0", Bytes(16)));
  zip.add(torch_member("archive/version", bytes_of("3\n")));
  return zip;
}

inline const std::string kMagic = proto(2) + "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
/// A legacy torch file of this object and one storage of 4 floats with key "0".
inline std::string legacy_file(std::string_view object, std::string_view data = std::string_view("\4\0\0\0\0\0\0\0"
                                                                                                 "\1\2\3\4\1\2\3\4\1\2\3\4\1\2\3\4",
                                                                                                 24)) {
  return kMagic + proto(2) + "M\xe9\x03." + proto(2) + "}." + std::string(object) + proto(2) + "]" + text("0") + "a." + std::string(data);
}

}  // namespace assay::testing
