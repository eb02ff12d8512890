// SPDX-License-Identifier: Apache-2.0
// The steps of all packets of a lane, one a cycle (LaneSequence.scala).
#pragma once

#include "model/chain_sequence.h"
#include "model/stream_sequence.h"

namespace sallyport::model {

class LaneSequence {
 public:
  LaneSequence(bool encrypt, Slots& slots) : slots_(slots), stream_(encrypt, slots), chain_(slots), encrypt_(encrypt) {}

  // Runs cycle `now` and gives the step that begins in it; none has slot -1. `start`: a packet's
  // slot, or none;
  // `length`: a length comes, of the packet in `start` if it is chained.
  Op tick(uint32_t now, int16_t start, bool length, uint32_t entered, bool clear);

 private:
  // No other step, begun before with a cipher that takes longer, meets it at the exit.
  bool free(const Op& op) const { return (exits_ >> op.cipherLatency & 1) == 0; }

  Slots& slots_;
  StreamSequence stream_;
  ChainSequence chain_;
  Skid streamed_, links_;
  bool encrypt_, chainFirst_ = false;
  // Bit k: a step leaves its cipher in k cycles.
  uint64_t exits_ = 0;
  uint32_t phase_ = 0;
};

}  // namespace sallyport::model
