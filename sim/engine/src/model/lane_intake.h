// SPDX-License-Identifier: Apache-2.0
// The entrance of a lane (LaneIntake.scala): slots, room, beats that wait to be written, and the
// report on a packet two cycles after that.
#pragma once

#include "model/rings.h"
#include "model/slot.h"

namespace sallyport::model {

class LaneIntake {
 public:
  LaneIntake(const Shape& shape, Slots& slots);

  // What a beat was that was written two cycles ago.
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

  // Ends cycle `now`. `pause`: no beat is written in two cycles; `retired`: a slow packet has left
  // its slot.
  void tick(uint32_t now, bool pause, const Release& release, bool retired);

  // For this cycle, before `tick`: the report, and the slot of a packet that begins, or -1.
  const Told& told(uint32_t now) const { return told_[(now - 2) % 4]; }
  int16_t begins() const { return begins_; }

  // Registers.
  bool ready() const { return ready_; }
  bool inside() const { return inside_; }
  // Two thirds of the slots for slow packets have one.
  bool crowded() const { return crowded_; }
  bool occupied() const { return occupied_; }

 private:
  // Slots and beats of a class that are taken.
  struct Use {
    uint32_t slots, beats;
  };
  // A beat that waits to be written.
  struct Entering {
    int16_t slot;
    bool fast, last, malformed;
  };
  static constexpr size_t kWaiting = 32, kLate = 10;
  void findSlot();
  void write(uint32_t now);

  const bool encrypt_;
  Slots& slots_;
  const uint32_t slowSlots_, fastSlots_;
  Use used_[2]{};
  Pointer nextFast_;
  // The slot of the next slow packet, if it is known.
  int16_t nextSlow_ = 0;
  bool slowReady_, slowBegan_ = false, crowded_ = false;
  std::array<Told, 4> told_{};
  Fifo<Entering, 2 * kWaiting> entering_;
  uint8_t paused_ = 0;
  bool ready_ = true, inside_ = false, open_ = false;

  // Of the packet that comes in, and of the beat that does.
  bool fast_ = false;
  uint8_t fullBeats_ = 0;
  int16_t slot_ = 0, begins_ = -1, written_ = 0;
  bool takes_ = false, ends_ = false, occupied_ = false;
  Entering beat_{};
};

}  // namespace sallyport::model
