// SPDX-License-Identifier: Apache-2.0
// Where finished slow packets wait for their grant, out of their slots (LaneRetire.scala).
#pragma once

#include <deque>

#include "model/lane_packet.h"
#include "model/rings.h"

namespace sallyport::model {

class LaneRetire {
 public:
  LaneRetire(const Shape& shape, Slots& slots) : encrypt_(shape.encrypt), first_(shape.slots[1]), slots_(slots) {}

  struct In {
    // The slots' memories are another's; the buffer's port is; many slots are taken; the marks are
    // cleared.
    bool hold, busy, crowded, clearing;
    // The slot of a slow packet that begins, or -1.
    int16_t begins;
    bool zeroize;
  };
  struct Moves {
    // The slot of a packet that leaves its slot, or -1.
    int16_t leaves;
    // The buffer's port for beats is asked for.
    bool soon;
  };
  // Runs a cycle, after `take`.
  Moves tick(const In& in);

  // Registers: the oldest packet is here; a packet more is finished.
  bool front() const { return front_; }
  bool done() const { return done_; }
  // The oldest packet goes in this cycle.
  void take(LanePacket& packet);

 private:
  struct Entry {
    LanePacket packet;
    // It is in the buffer.
    bool marked = false;
  };
  Entry& of(uint32_t number) { return packets_[number - oldest_]; }
  void pick();

  const bool encrypt_;
  const size_t first_;
  Slots& slots_;
  // Packets in the queue at most.
  static constexpr uint32_t kAhead = 16;
  // All slow packets of the lane in the order in which they came. The oldest one's number, that of
  // the oldest one that has not joined the queue, and the held one's.
  std::deque<Entry> packets_;
  uint32_t oldest_ = 0, next_ = 0, heldNumber_ = 0;
  int16_t picked_ = -1;
  // Slots whose packets were done at one time, and are not picked.
  Fifo<int16_t, kMostSlots> batch_;
  // Registers of that name in LaneRetire.scala; `before` is RegNext.
  uint32_t queued_ = 0;
  bool front_ = false, checking_ = false, comes_ = false, judged_ = false, held_ = false, heldBefore_ = false,
       turn_ = false;
  bool asks_ = false, reads_ = false, granted_ = false, reading_ = false, writing_ = false, arrives_ = false;
  bool there_ = false, told_ = false, done_ = false, looksBefore_ = false, joinedBefore_ = false, leftBefore_ = false;
  // The front goes in this cycle.
  bool taken_ = false;
  uint32_t doomed_ = 0;
};

}  // namespace sallyport::model
