// SPDX-License-Identifier: Apache-2.0
// Clocks of a card, in femtoseconds. No clock is a multiple of another, and each oscillator has its
// own error in parts per million.
#pragma once

#include <cstdint>

#include "base/sim_time.h"

namespace sallyport::sim {

// Edges of one clock, in the order of time.
class CardClock {
 public:
  // `ppm`: how much faster than its name this oscillator is; IEEE 802.3 and PCIe allow 100 and 300.
  CardClock(double megahertz, int ppm)
      : period_(static_cast<Femtoseconds>(1e9 / (megahertz * (1 + ppm * 1e-6)) + 0.5)), next_(period_) {}

  Femtoseconds next() const { return next_; }
  void advance() { next_ += period_; }

 private:
  Femtoseconds period_, next_;
};

}  // namespace sallyport::sim
