// SPDX-License-Identifier: Apache-2.0
// Bits of a chip's memories that flip at given cycles.
#pragma once

#include <map>

#include "base/sim_time.h"
#include "chip/memory.h"

namespace sallyport::sim {

class Upsets {
 public:
  void add(Cycle at, const ChipMemory& memory, int64_t row, int bit) { due_.insert({at, {memory, row, bit}}); }
  void clear() { due_.clear(); }

  // Before the chip's cycle `now`: flips the bits that are due.
  void apply(Cycle now) {
    while (!due_.empty() && due_.begin()->first <= now) {
      const Flip& flip = due_.begin()->second;
      flip.memory.flip(flip.row, flip.bit);
      due_.erase(due_.begin());
    }
  }

 private:
  struct Flip {
    ChipMemory memory;
    int64_t row;
    int bit;
  };
  std::multimap<Cycle, Flip> due_;
};

}  // namespace sallyport::sim
