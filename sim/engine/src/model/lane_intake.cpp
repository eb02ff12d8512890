// SPDX-License-Identifier: Apache-2.0
#include "model/lane_intake.h"

namespace sallyport::model {

LaneIntake::LaneIntake(const Shape& shape, Slots& slots)
    : encrypt_(shape.encrypt),
      slots_(slots),
      slowSlots_(shape.slots[0]),
      fastSlots_(shape.slots[1]),
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
  beat_ = {slot_, fast_, last, false};
  if (!last) return;
  const size_t length = slot.bytes.size();
  slot.text = encrypt_ ? textOf(slot.job, length) : textWithin(slot.job, length);
  slot.beats = static_cast<uint8_t>((length + 63) / 64 + encrypt_);
  beat_.malformed = error || (!encrypt_ && !isLength(slot.job, length));
}

void LaneIntake::findSlot() {
  for (size_t i = fastSlots_; i < slots_.size() && !slowReady_; i++) {
    if (slots_[i].occupied) continue;
    slowReady_ = true;
    nextSlow_ = static_cast<int16_t>(i);
  }
}

// The beat that has waited longest goes into the buffer, if nothing else uses that.
void LaneIntake::write(uint32_t now) {
  Told told{written_, false, false, false, false, fullBeats_};
  if (!entering_.empty() && !(paused_ >> 1 & 1)) {
    const Entering beat = entering_.pop();
    written_ = beat.slot;
    told = {beat.slot,      beat.fast && !open_ && !beat.last,
            beat.last,      beat.fast && open_,
            beat.malformed, static_cast<uint8_t>(fullBeats_ + !beat.last)};
    open_ = !beat.last;
    fullBeats_ = beat.last ? 0 : static_cast<uint8_t>(fullBeats_ + 1);
  }
  told_[now % 4] = told;
}

void LaneIntake::tick(uint32_t now, bool pause, const Release& release, bool retired) {
  ready_ = slowSlots_ == 0 || entering_.size() <= kWaiting - kLate - 2;
  const bool used = used_[0].beats + used_[1].beats > 0;
  const bool slowBegins = begins_ >= 0 && !fast_;
  crowded_ = used_[0].slots >= slowSlots_ * 2 / 3;
  if (slowBegins)
    slowReady_ = false;
  else if (!slowReady_ && !slowBegan_)
    findSlot();
  slowBegan_ = slowBegins;
  write(now);
  paused_ = static_cast<uint8_t>(paused_ << 1 | pause);
  if (takes_) {
    entering_.push(beat_);
    Use& mine = used_[fast_];
    mine.slots += begins_ >= 0;
    mine.beats += ends_ ? 1u + encrypt_ : 1u;
    if (ends_ && fast_) nextFast_.move();
    inside_ = !ends_;
  }
  occupied_ = used || !entering_.empty();
  if (release.valid) {
    used_[release.fast].beats -= release.beats;
    if (release.fast) used_[1].slots--;
  }
  if (retired) used_[0].slots--;
  takes_ = ends_ = false;
  begins_ = -1;
}

}  // namespace sallyport::model
