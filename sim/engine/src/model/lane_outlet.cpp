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
      granting_(Pointer::of(shape)),
      taking_(granting_),
      turn_(shape.slots[1] > 0 && !alternates_) {}

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
  Moves moves{{false, false, 0}, -1, turn_, false};
  const bool grantsSlow = grants & 1, grantsFast = grants >> 1 & 1;
  offer_[0] = retire_.front() && !promised_ && !grantsSlow;
  offer_[1] = granting_.slots > 0 && slots_[static_cast<size_t>(granting_.slot())].done && !grantsFast;
  if (grantsFast) granting_.move();
  const bool outGoes = outValid_ && ready;
  const bool issue = active_ && free_ > 0 && !pause;
  const bool last = at_ + 64 >= sent_.bytes.size();
  const bool begin = waits_ && (!active_ || (issue && last));
  const bool taken = !granted_.empty() && (!waits_ || begin) && (turn_ || !granted_.front());

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
  promised_ = promised_ || grantsSlow;
  if (taken) {
    if (granted_.pop()) {
      moves.leaves = taking_.slot();
      waiting_.finish(slots_[static_cast<size_t>(moves.leaves)], encrypt_, true);
      taking_.move();
    } else {
      retire_.take(waiting_);
      promised_ = false;
    }
    waits_ = true;
  }
  if (alternates_) turn_ = !turn_;
  if (grants) granted_.push(grants >> 1 & 1);
  return moves;
}

}  // namespace sallyport::model
