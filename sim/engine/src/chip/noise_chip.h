// SPDX-License-Identifier: Apache-2.0
// The board's noise chip: a bit that the crypto chip samples when it likes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/random.h"

namespace sallyport::sim {

// Seeded, so that a simulation repeats itself: what software takes from it is no secret and
// seeds nothing.
class NoiseChip {
 public:
  void seed(uint64_t seed, uint64_t sequence) { random_ = Random(seed, sequence); }
  // Broken: always this bit.
  void stick(std::optional<bool> bit) { stuck_ = bit; }

  // Once a clock of the chip that samples it, whether simulated time passes or not.
  bool clock() {
    if (clocks_++ % kHold == 0) bit_ = random_.next() & 1;
    return stuck_.value_or(bit_);
  }

 private:
  // Clocks of a bit: fewer than from one sample to the next.
  static constexpr uint64_t kHold = 64;

  Random random_{1, 0};
  std::optional<bool> stuck_;
  uint64_t clocks_ = 0;
  bool bit_ = false;
};

}  // namespace sallyport::sim
