// SPDX-License-Identifier: Apache-2.0
#include "model/lane_outlet.h"

#include <algorithm>
#include <utility>

namespace sallyport::model {

LaneOutlet::LaneOutlet(const Shape& shape, Slots& slots) : encrypt_(shape.encrypt), slots_(slots) {
  for (auto* pointers : {granting_, taking_}) {
    pointers[0] = {shape.slots[1], shape.slots[0], 0};
    pointers[1] = {0, shape.slots[1], 0};
  }
}

// What leaves of the packet in a slot: its verdict alone, as an empty beat, if there is anything
// wrong with it.
void LaneOutlet::finish(const Slot& slot, bool fast) {
  waiting_.fast = fast;
  waiting_.beats = slot.beats;
  waiting_.passed = slot.job.passed;
  waiting_.length = slot.job.length;
  waiting_.nextHeader = slot.job.nextHeader;
  waiting_.verdict = slot.killed ? Verdict::kZeroized : slot.malformed ? Verdict::kTruncated : Verdict::kOk;
  if (waiting_.verdict == Verdict::kOk) {
    if (encrypt_) {
      seal(slot.job, slot.bytes, waiting_.bytes);
    } else {
      const Opened opened = open(slot.job, slot.bytes, waiting_.bytes);
      waiting_.verdict = opened.verdict;
      if (opened.verdict == Verdict::kOk) waiting_.nextHeader = opened.nextHeader;
    }
  }
  if (waiting_.verdict == Verdict::kOk)
    waiting_.length = static_cast<uint16_t>(waiting_.bytes.size());
  else
    waiting_.bytes.assign(1, 0);
}

void LaneOutlet::read() {
  OutBeat& beat = beats_[read_++ % kBeats];
  const size_t here = std::min<size_t>(64, sent_.bytes.size() - at_);
  std::copy_n(sent_.bytes.begin() + static_cast<long>(at_), here, beat.data.begin());
  std::fill(beat.data.begin() + static_cast<long>(here), beat.data.end(), uint8_t{0});
  at_ += 64;
  beat.bytes = static_cast<uint8_t>(here);
  beat.last = at_ >= sent_.bytes.size();
  beat.verdict = sent_.verdict;
  beat.nextHeader = sent_.nextHeader;
  beat.length = sent_.length;
  beat.passed = sent_.passed;
}

LaneOutlet::Moves LaneOutlet::tick(uint32_t grants, bool ready, bool pause) {
  Moves moves{{false, false, 0}, -1, false};
  for (size_t i = 0; i < 2; i++) {
    const bool granted = grants >> i & 1;
    offer_[i] = granting_[i].slots > 0 && slots_[static_cast<size_t>(granting_[i].slot())].done && !granted;
    if (granted) granting_[i].move();
  }
  const bool outGoes = outValid_ && ready;
  const bool issue = active_ && free_ > 0 && !pause;
  const bool last = at_ + 64 >= sent_.bytes.size();
  const bool begin = waits_ && (!active_ || (issue && last));
  const bool taken = !granted_.empty() && (!waits_ || begin);

  // The end of the way first.
  queued_ += underWay_ >> 1 & 1;
  const bool leaves = queued_ > 0 && (!outValid_ || ready);
  if (leaves) {
    out_ = taken_++;
    queued_--;
    moves.fresh = true;
  }
  if (!outValid_ || ready) outValid_ = leaves;
  underWay_ = static_cast<uint8_t>(underWay_ << 1 | issue);
  free_ = free_ - issue + leaves;
  pending_ = pending_ + issue - outGoes;

  if (issue) {
    read();
    if (last) {
      moves.release = {true, sent_.fast, sent_.beats};
      active_ = false;
    }
  }
  if (begin) {
    std::swap(sent_, waiting_);
    at_ = 0;
    active_ = true;
    waits_ = false;
  }
  if (taken) {
    const bool fast = granted_.pop();
    Pointer& pointer = taking_[fast];
    moves.leaves = pointer.slot();
    finish(slots_[static_cast<size_t>(moves.leaves)], fast);
    pointer.move();
    waits_ = true;
  }
  if (grants) granted_.push(grants >> 1 & 1);
  return moves;
}

}  // namespace sallyport::model
