// SPDX-License-Identifier: Apache-2.0
// The steps of the packets that are not chained (StreamSequence.scala).
#pragma once

#include "model/rings.h"
#include "model/slot.h"
#include "model/steps.h"

namespace sallyport::model {

class StreamSequence {
 public:
  StreamSequence(bool encrypt, const Slots& slots) : encrypt_(encrypt), slots_(slots) {}

  // The step that is offered in this cycle, and whether there is one.
  bool valid() const { return active_ && (known_ || enough_); }
  Op op() const;

  // Ends the cycle. `fire`: the step has been taken. `start`: a packet's slot, or none. `length`:
  // the missing length of the oldest packet has come.
  void tick(bool fire, int16_t start, bool length, uint32_t entered, bool clear);
  bool idle() const { return !active_ && plans_.empty() && extents_ == 0; }

 private:
  const Slot& now() const { return slots_[static_cast<size_t>(slot_)]; }
  void load();
  bool spills() const { return lags() && now().text % 16 == 0; }
  bool lags() const { return now().job.of().auth == Auth::kGmac && now().job.esn; }

  bool encrypt_;
  const Slots& slots_;
  Fifo<int16_t, kMostSlots> plans_;
  // Lengths that have come, of the packets next in order.
  uint32_t extents_ = 0;

  bool active_ = false, known_ = false, enough_ = false;
  int16_t slot_ = 0;
  uint8_t step_ = 0, rest_ = 0;
  uint32_t index_ = 0, left_ = 0, textBlocks_ = 0;
};

}  // namespace sallyport::model
