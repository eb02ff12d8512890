// SPDX-License-Identifier: Apache-2.0
// The steps of CBC from red to black, each from another packet (ChainSequence.scala).
#pragma once

#include "model/rings.h"
#include "model/slot.h"
#include "model/steps.h"

namespace sallyport::model {

class ChainSequence {
 public:
  explicit ChainSequence(Slots& slots) : slots_(slots) {}

  bool valid() const { return valid_; }
  const Op& op() const { return op_; }

  // Ends cycle `now`. `ready`: the offered step is taken. `issued`: the step that enters the
  // cipher's path in this cycle, or null. `start`: a packet's slot, or none.
  void tick(uint32_t now, bool ready, const Op* issued, int16_t start, bool clear);
  bool idle() const { return packets_ == 0; }

 private:
  void make();

  Slots& slots_;
  // Packets that may go on, the most urgent first: behind AES, behind SM4, behind the head, new.
  std::array<Fifo<int16_t, kMostSlots>, 4> queues_;
  std::array<Line<64>, 2> woken_;
  uint32_t packets_ = 0;
  bool valid_ = false, picked_ = false, starts_ = false;
  int16_t chosen_ = 0;
  Op op_{};
};

}  // namespace sallyport::model
