// SPDX-License-Identifier: Apache-2.0
// When the chained hashes of a lane's packets are done (HashEngine.scala, HashSchedule.scala).
#pragma once

#include "model/rings.h"
#include "model/slot.h"

namespace sallyport::model {

class HashEngine {
 public:
  explicit HashEngine(Slots& slots) : slots_(slots) {}

  struct Events {
    // Keys of a packet have come in, of any suite.
    bool load;
    // A packet, its message whole from the start or not; another whole beat of one, or its last.
    // Slots or -1.
    int16_t start;
    bool complete;
    int16_t grown;
    bool last;
    bool wipe;
  };
  // Runs cycle `now` of the lane and gives the slot of the packet that is done in it, or -1.
  int16_t tick(uint32_t now, const Events& events);

  // A packet was picked in the cycle that `tick` ran, and not for its outer hash.
  bool picked() const { return picked_; }

 private:
  struct Ready {
    int16_t slot;
    bool first;
  };
  void begin(Slot& slot, bool complete);
  void pick(uint32_t now);
  void comesBack(int16_t slot, int16_t grown);
  void grow(int16_t slot, bool last);

  Slots& slots_;
  // Chains that have come back, packets that waited, new ones: in this order.
  std::array<Fifo<Ready, kMostSlots>, 3> queues_;
  Line<256> returned_, done_;
  uint32_t packets_ = 0;
  // Counts the cycles in which the engine's own clock runs, modulo 4.
  uint32_t phase_ = 0;
  bool picked_ = false;
};

}  // namespace sallyport::model
