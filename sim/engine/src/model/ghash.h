// SPDX-License-Identifier: Apache-2.0
// GHASH (NIST SP 800-38D 6.4) with the powers of H that a key row has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sallyport::model {

class Ghash {
 public:
  // H, H^2, H^3, H^4 in 16 bytes each.
  explicit Ghash(const uint8_t* powers);

  // More bytes, filled up with zeros to whole blocks.
  void update(const uint8_t* bytes, size_t length);
  std::array<uint8_t, 16> sum() const;

 private:
  struct Polynomial {
    uint64_t low, high;
  };
  static Polynomial load(const uint8_t* block);
  static Polynomial multiply(const Polynomial& a, const Polynomial& b);

  // Blocks that wait for the next four: what a block counts with is known at the end alone.
  std::array<Polynomial, 4> powers_;
  std::array<Polynomial, 4> chains_{};
  uint32_t blocks_ = 0;
};

}  // namespace sallyport::model
