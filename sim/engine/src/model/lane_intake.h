// SPDX-License-Identifier: Apache-2.0
// The entrance of a lane (LaneIntake.scala): slots, room, and the report on a packet three
// cycles later.
#pragma once

#include "model/slot.h"

namespace sallyport::model {

class LaneIntake {
 public:
  LaneIntake(const Shape& shape, Slots& slots);

  // What a beat was, three cycles ago.
  struct Told {
    int16_t slot = 0;
    bool opens = false, arrived = false, opened = false, malformed = false;
    uint8_t entered = 0;
  };
  // The room of a packet that leaves: its beats, and the slot of a fast one.
  struct Release {
    bool valid, fast;
    uint8_t beats;
  };

  // A beat comes in this cycle, with its job if it is the first one.
  void begin(const Job& job);
  void beat(const uint8_t* data, uint32_t bytes, bool last, bool error);

  // Ends cycle `now`. `hold`: no packet begins, and no beat comes in the next cycle; `pause`: no
  // beat alone; `retired`: a slow packet has left its slot.
  void tick(uint32_t now, bool hold, bool pause, const Release& release, bool retired);

  // For this cycle, before `tick`: the report, and the slot of a packet that begins, or -1.
  const Told& told(uint32_t now) const { return told_[(now - 3) % 4]; }
  int16_t begins() const { return begins_; }

  // Registers.
  bool ready() const { return ready_; }
  bool room(size_t fast) const { return room_[fast]; }
  bool inside() const { return inside_; }
  // Two thirds of the slots for slow packets have one.
  bool crowded() const { return crowded_; }
  bool occupied() const { return occupied_; }

 private:
  struct Ring {
    uint32_t slots, beats, usedSlots = 0, usedBeats = 0;
  };
  void findSlot();
  Ring& ring() { return rings_[fast_]; }

  const bool encrypt_;
  Slots& slots_;
  Ring rings_[2];
  Pointer nextFast_;
  // The slot of the next slow packet, if it is known.
  int16_t nextSlow_ = 0;
  bool slowReady_, slowBegan_ = false, crowded_ = false;
  std::array<Told, 4> told_{};
  bool ready_ = false, room_[2] = {}, inside_ = false;

  // Of the packet that comes in, and of the beat that does.
  bool fast_ = false;
  uint8_t fullBeats_ = 0;
  int16_t slot_ = 0, begins_ = -1;
  bool takes_ = false, ends_ = false, occupied_ = false;
  Told taken_{};
};

}  // namespace sallyport::model
