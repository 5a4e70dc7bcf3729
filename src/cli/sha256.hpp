// SPDX-License-Identifier: Apache-2.0
// SHA-256 of bytes that come in pieces, by OpenSSL's libcrypto: it uses the processor's own instructions.
#pragma once

#include <memory>
#include <span>
#include <string>

namespace assay::cli {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void add(std::span<const std::byte> bytes);
  /// 64 lower-case hexadecimal digits. Ends the computation.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::cli
