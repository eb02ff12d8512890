// SPDX-License-Identifier: Apache-2.0
// A whole lane, with the same values at its ports as Lane.scala in every cycle of its clock.
// LaneModel.scala makes the calls.
//
// The model computes a packet's bytes once, when the packet leaves, and counts cycles to know when
// it may leave. It models the steps as they enter the ciphers, one a cycle. The effect of a step
// comes a fixed number of cycles later and waits in a `Line`.
#pragma once

#include "model/hash_engine.h"
#include "model/lane_intake.h"
#include "model/lane_outlet.h"
#include "model/lane_sequence.h"

namespace sallyport::model {

class Lane {
 public:
  explicit Lane(const Shape& shape);

  // A beat comes in the cycle that `tick` is called for next, with its job if it is the first one.
  void begin(const Job& job) { intake_.begin(job); }
  void beat(const uint8_t* data, uint32_t bytes, bool last, bool error) { intake_.beat(data, bytes, last, error); }

  // Runs a cycle. `grants`: bit 0 slow, bit 1 fast.
  void tick(uint32_t grants, bool stop, bool zeroize);

  // Registers, from the cycle after `tick`.
  bool ready() const { return intake_.ready(); }
  bool inside() const { return intake_.inside(); }
  bool done(size_t fast) const { return fast ? outlet_.done() : retire_.done(); }
  const LaneIntake::Release& released() const { return released_; }
  bool retired() const { return left_[1] >= 0; }
  bool valid() const { return outlet_.valid(); }
  const OutBeat& out() const { return outlet_.out(); }
  bool busy() const { return intake_.occupied() || outlet_.pending() || wiping_ > 0; }
  // The lane's clock runs in this cycle, even without input.
  bool awake() const { return busy() || clears_ > 0 || wasBusy_ != 0; }

 private:
  int16_t decide(int16_t hashed, bool wipe);
  void schedule(const Op& op);
  void wipe(bool wipe);
  void leave(int16_t slot);

  const bool encrypt_;
  Slots slots_;
  LaneIntake intake_;
  LaneSequence sequence_;
  HashEngine hash_;
  LaneRetire retire_;
  LaneOutlet outlet_;
  uint32_t now_ = 0;
  uint32_t wiping_ = 0;
  // Cycles left from reset on in which the rows' marks are cleared.
  uint32_t clears_;
  // The buffers of a packet that leaves, and the slots of packets that do: of the last cycle.
  LaneIntake::Release released_{false, false, 0};
  std::array<int16_t, 2> left_{-1, -1};
  // In the last three cycles.
  uint8_t wasBusy_ = 7;
  // Whether the hashes picked a packet; they read a beat of it three cycles later. Bit 0: in the
  // last cycle.
  uint8_t picked_ = 0;

  // What the sequence gets in this cycle.
  int16_t start_ = -1;
  bool length_ = false;
  uint8_t entered_ = 0;

  // What follows from steps: GHASH's tags; starts of the chained hashes and their beats; decisions.
  Line<64> tags_, hashes_, grown_;
  Line<8> decided_;
  // Hashes that are done and wait for their turn (LaneAuth).
  Fifo<int16_t, 4> hashed_;
  std::array<bool, 64> grownLast_{};
};

}  // namespace sallyport::model
