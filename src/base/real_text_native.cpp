// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "base/real_text.hpp"

namespace assay {
namespace {

constexpr int kMost = 400;

template <class T>
char* shortest(char* out, T value, RealForm form) {
  if (form == RealForm::general) return std::to_chars(out, out + kRealText, value).ptr;
  const auto format = form == RealForm::fixed ? std::chars_format::fixed : std::chars_format::scientific;
  return std::to_chars(out, out + (form == RealForm::fixed ? kMost : kRealText), value, format).ptr;
}

}  // namespace

char* write_shortest(char* out, double value, RealForm form) { return shortest(out, value, form); }
char* write_shortest(char* out, float value, RealForm form) { return shortest(out, value, form); }
char* write_fixed(char* out, double value, int decimals) {
  return std::to_chars(out, out + kMost, value, std::chars_format::fixed, decimals).ptr;
}
char* write_significant(char* out, double value, int digits) {
  return std::to_chars(out, out + kRealText, value, std::chars_format::general, digits).ptr;
}

}  // namespace assay
