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
    // A new beat is there to go.
    bool fresh;
  };
  // Runs a cycle. `grants`: bit 0 slow, bit 1 fast; `ready`: the consumer takes `out`; `pause`: the
  // outlet reads no beat.
  Moves tick(uint32_t grants, bool ready, bool pause);

  // Registers.
  bool offer(size_t fast) const { return offer_[fast]; }
  bool valid() const { return outValid_; }
  bool pending() const { return waits_ || active_ || pending_ > 0; }
  const OutBeat& out() const { return beats_[out_ % kBeats]; }

 private:
  static constexpr uint32_t kFree = 6;  // beats read and not in the output register
  static constexpr uint32_t kBeats = 8;

  void read();

  const bool encrypt_;
  const bool alternates_;
  Slots& slots_;
  LaneRetire& retire_;
  Pointer granting_, taking_;
  Fifo<bool, 16> granted_;
  LanePacket waiting_{}, sent_{};
  bool offer_[2] = {}, promised_ = false, turn_, waits_ = false, active_ = false;
  size_t at_ = 0;

  // Beats read, the oldest first: in the output register if `outValid_`, queued, and on their way
  // for two cycles.
  std::array<OutBeat, kBeats> beats_{};
  uint32_t read_ = 0, out_ = 0, taken_ = 0, queued_ = 0, free_ = kFree, pending_ = 0;
  bool outValid_ = false;
  uint8_t underWay_ = 0;
};

}  // namespace sallyport::model
