// SPDX-License-Identifier: Apache-2.0
// The exit of a lane (LaneOutlet.scala): sends finished packets as they are granted.
#pragma once

#include "model/lane_intake.h"
#include "model/lane_retire.h"
#include "model/rings.h"

namespace sallyport::model {

// A beat as it leaves.
struct OutBeat {
  std::array<uint8_t, 64> data;
  uint8_t bytes;
  bool last;
  Verdict verdict;
  // Metadata: see Job.
  uint8_t nextHeader;
  uint16_t length;
  std::array<uint32_t, 4> passed;
};

class LaneOutlet {
 public:
  LaneOutlet(const Shape& shape, Slots& slots, LaneRetire& retire);

  struct Moves {
    LaneIntake::Release release;
    // The slot of a fast packet that leaves its slot, or -1.
    int16_t leaves;
    // The slots' memories were this outlet's.
    bool turn;
  };
  // Runs a cycle. `grants`: bit 0 slow, bit 1 fast; `stops`: the outlet reads no beat.
  Moves tick(uint32_t grants, bool stops);

  // Registers.
  // A fast packet more is finished.
  bool done() const { return done_; }
  bool valid() const { return underWay_ >> 1 & 1; }
  bool pending() const { return waits_ || active_ || (underWay_ & 3) != 0; }
  // The beat that leaves, if `valid`.
  const OutBeat& out() const { return beats_[(read_ + 1) & 1]; }

 private:
  void read();

  const bool encrypt_;
  const bool alternates_;
  Slots& slots_;
  LaneRetire& retire_;
  Pointer telling_, taking_;
  uint32_t toldOf_ = 0;
  uint8_t tookFast_ = 0;
  Fifo<bool, 32> granted_;
  LanePacket waiting_{}, sent_{};
  bool done_ = false, turn_, waits_ = false, active_ = false;
  size_t at_ = 0;

  // The beats read in the last two cycles, and in which of them one was read. The older one leaves.
  std::array<OutBeat, 2> beats_{};
  uint32_t read_ = 0;
  uint8_t underWay_ = 0;
};

}  // namespace sallyport::model
