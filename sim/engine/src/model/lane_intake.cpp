// SPDX-License-Identifier: Apache-2.0
#include "model/lane_intake.h"

namespace sallyport::model {
namespace {

constexpr uint32_t kMostBeats = 152;  // LaneFrame.most

}  // namespace

LaneIntake::LaneIntake(const Shape& shape, Slots& slots)
    : encrypt_(shape.encrypt),
      slots_(slots),
      rings_{{shape.slots[1], shape.slots[0], shape.beats[0]}, {0, shape.slots[1], shape.beats[1]}} {}

void LaneIntake::begin(const Job& job) {
  fast_ = job.of().fast();
  slot_ = begins_ = static_cast<int16_t>(ring().start + ring().next);
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

void LaneIntake::tick(uint32_t now, bool hold, bool pause, const Release& release) {
  for (size_t i = 0; i < 2; i++) {
    const Ring& each = rings_[i];
    room_[i] = !hold && each.usedSlots + 3 <= each.slots && each.usedBeats + kMostBeats + 8 <= each.beats;
  }
  ready_ = !hold && !pause;
  taken_.entered = static_cast<uint8_t>(fullBeats_ + (takes_ && !ends_));
  told_[now % 4] = taken_;
  taken_ = {slot_, false, false, false, false, 0};
  if (takes_) {
    Ring& mine = ring();
    mine.usedSlots += begins_ >= 0;
    mine.usedBeats += ends_ ? 1u + encrypt_ : 1u;
    if (ends_ && ++mine.next == mine.slots) mine.next = 0;
    fullBeats_ = ends_ ? 0 : static_cast<uint8_t>(fullBeats_ + 1);
    inside_ = !ends_;
  }
  if (release.valid) {
    rings_[release.fast].usedSlots--;
    rings_[release.fast].usedBeats -= release.beats;
  }
  takes_ = ends_ = false;
  begins_ = -1;
}

}  // namespace sallyport::model
