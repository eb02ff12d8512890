// SPDX-License-Identifier: Apache-2.0
#include "model/lane_intake.h"

namespace sallyport::model {
namespace {

constexpr uint32_t kMostBeats = 152;  // LaneFrame.most

}  // namespace

LaneIntake::LaneIntake(const Shape& shape, Slots& slots)
    : encrypt_(shape.encrypt),
      slots_(slots),
      rings_{{shape.slots[0], shape.beats[0]}, {shape.slots[1], shape.beats[1]}},
      nextFast_(Pointer::of(shape)),
      slowReady_(shape.slots[0] == 0) {}

void LaneIntake::begin(const Job& job) {
  fast_ = job.of().fast();
  slot_ = begins_ = fast_ ? nextFast_.slot() : nextSlow_;
  Slot& slot = slots_[static_cast<size_t>(slot_)];
  slot.job = job;
  slot.bytes.clear();
}

void LaneIntake::beat(const uint8_t* data, uint32_t bytes, bool last, bool error) {
  Slot& slot = slots_[static_cast<size_t>(slot_)];
  slot.bytes.insert(slot.bytes.end(), data, data + (last ? bytes : 64));
  takes_ = true;
  ends_ = last;
  taken_ = {slot_, begins_ >= 0 && fast_ && !last, last, fast_ && begins_ < 0, false, 0};
  if (!last) return;
  const size_t length = slot.bytes.size();
  slot.text = encrypt_ ? textOf(slot.job, length) : textWithin(slot.job, length);
  slot.beats = static_cast<uint8_t>(fullBeats_ + 1 + encrypt_);
  taken_.malformed = error || (!encrypt_ && !isLength(slot.job, length));
}

void LaneIntake::findSlot() {
  for (size_t i = rings_[1].slots; i < slots_.size() && !slowReady_; i++) {
    if (slots_[i].occupied) continue;
    slowReady_ = true;
    nextSlow_ = static_cast<int16_t>(i);
  }
}

void LaneIntake::tick(uint32_t now, bool hold, bool pause, const Release& release, bool retired) {
  for (size_t i = 0; i < 2; i++) {
    const Ring& each = rings_[i];
    room_[i] = !hold && each.usedSlots + 3 <= each.slots && each.usedBeats + kMostBeats + 8 <= each.beats;
  }
  occupied_ = takes_ || rings_[0].usedBeats + rings_[1].usedBeats > 0;
  const bool slowBegins = begins_ >= 0 && !fast_;
  const bool insideNext = takes_ ? !ends_ : inside_;
  ready_ = !hold && !pause && (insideNext || (slowReady_ && !slowBegins));
  crowded_ = rings_[0].usedSlots >= rings_[0].slots * 2 / 3;
  if (slowBegins)
    slowReady_ = false;
  else if (!slowReady_ && !slowBegan_)
    findSlot();
  slowBegan_ = slowBegins;
  taken_.entered = static_cast<uint8_t>(fullBeats_ + (takes_ && !ends_));
  told_[now % 4] = taken_;
  taken_ = {slot_, false, false, false, false, 0};
  if (takes_) {
    Ring& mine = ring();
    mine.usedSlots += begins_ >= 0;
    mine.usedBeats += ends_ ? 1u + encrypt_ : 1u;
    if (ends_ && fast_) nextFast_.move();
    fullBeats_ = ends_ ? 0 : static_cast<uint8_t>(fullBeats_ + 1);
    inside_ = !ends_;
  }
  if (release.valid) {
    rings_[release.fast].usedBeats -= release.beats;
    if (release.fast) rings_[1].usedSlots--;
  }
  if (retired) rings_[0].usedSlots--;
  takes_ = ends_ = false;
  begins_ = -1;
}

}  // namespace sallyport::model
