// SPDX-License-Identifier: Apache-2.0
#include "model/lane_outlet.h"

#include <algorithm>
#include <utility>

namespace sallyport::model {

LaneOutlet::LaneOutlet(const Shape& shape, Slots& slots, LaneRetire& retire)
    : encrypt_(shape.encrypt),
      alternates_(shape.slots[0] > 0 && shape.slots[1] > 0),
      slots_(slots),
      retire_(retire),
      telling_(Pointer::of(shape)),
      taking_(telling_),
      turn_(shape.slots[1] > 0 && !alternates_) {}

void LaneOutlet::read() {
  OutBeat& beat = beats_[read_ & 1];
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

LaneOutlet::Moves LaneOutlet::tick(uint32_t grants, bool stops) {
  Moves moves{{false, false, 0}, -1, turn_};
  done_ = toldOf_ < telling_.slots && slots_[static_cast<size_t>(telling_.slot())].done;
  if (done_) telling_.move();
  toldOf_ += done_;
  toldOf_ -= tookFast_ >> 1 & 1;
  const bool issue = active_ && !stops;
  const bool last = at_ + 64 >= sent_.bytes.size();
  const bool begin = waits_ && (!active_ || (issue && last));
  const bool taken =
      !granted_.empty() && (!waits_ || begin) && (granted_.front() ? turn_ && !(tookFast_ & 1) : retire_.front());

  underWay_ = static_cast<uint8_t>(underWay_ << 1 | issue);
  tookFast_ = static_cast<uint8_t>(tookFast_ << 1 | (taken && granted_.front()));
  read_++;
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
    if (granted_.pop()) {
      moves.leaves = taking_.slot();
      waiting_.finish(slots_[static_cast<size_t>(moves.leaves)], encrypt_, true);
      taking_.move();
    } else {
      retire_.take(waiting_);
    }
    waits_ = true;
  }
  if (alternates_) turn_ = !turn_;
  if (grants) granted_.push(grants >> 1 & 1);
  return moves;
}

}  // namespace sallyport::model
