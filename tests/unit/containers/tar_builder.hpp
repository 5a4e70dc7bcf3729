// SPDX-License-Identifier: Apache-2.0
// Writes tar archives in memory for tests. Header-only; shares no code with the reader.
#pragma once

#include <string>
#include <string_view>

#include "unit/containers/zip_builder.hpp"

namespace assay::testing {

inline void put_text(Bytes& out, std::size_t at, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) out[at + i] = static_cast<std::byte>(text[i]);
}

struct TarBuilder {
  Bytes bytes;

  TarBuilder& file(std::string_view name, std::string_view data) { return add(name, '0', data, ""); }
  TarBuilder& file(std::string_view name, const Bytes& data) {
    return add(name, '0', std::string_view(reinterpret_cast<const char*>(data.data()), data.size()), "");
  }
  TarBuilder& folder(std::string_view name) { return add(name, '5', "", ""); }
  TarBuilder& link(std::string_view name, std::string_view target) { return add(name, '2', "", target); }
  TarBuilder& gnu_name(std::string_view name) { return add("././@LongLink", 'L', name, ""); }
  TarBuilder& pax(std::string_view key, std::string_view value) {
    const std::string body = " " + std::string(key) + "=" + std::string(value) + "\n";
    std::size_t n = body.size() + 1;
    while (std::to_string(n).size() + body.size() != n) ++n;
    return add("PaxHeaders/x", 'x', std::to_string(n) + body, "");
  }
  TarBuilder& add(std::string_view name, char type, std::string_view data, std::string_view target) {
    const std::size_t at = bytes.size();
    bytes.resize(at + 512);
    put_text(bytes, at, name.substr(0, 100));
    put_text(bytes, at + 100, "0000644");
    put_text(bytes, at + 124, octal(data.size()));
    put_text(bytes, at + 157, target);
    bytes[at + 156] = static_cast<std::byte>(type);
    put_text(bytes, at + 257,
             std::string_view("ustar\0"
                              "00",
                              8));
    fix_checksum(at);
    bytes.resize(at + 512 + (data.size() + 511) / 512 * 512);
    put_text(bytes, at + 512, data);
    return *this;
  }
  void fix_checksum(std::size_t at) {
    put_text(bytes, at + 148, "        ");
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned>(bytes[at + i]);
    put_text(bytes, at + 148, octal(sum).substr(5, 6));
    bytes[at + 154] = std::byte{0};
  }
  Bytes end() {
    bytes.resize(bytes.size() + 1024);
    return bytes;
  }

 private:
  static std::string octal(std::uint64_t value) {
    std::string text(11, '0');
    for (std::size_t i = 11; i-- > 0; value /= 8) text[i] = static_cast<char>('0' + value % 8);
    return text;
  }
};

}  // namespace assay::testing
