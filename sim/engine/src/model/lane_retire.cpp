// SPDX-License-Identifier: Apache-2.0
#include "model/lane_retire.h"

#include <utility>

namespace sallyport::model {

void LaneRetire::take(LanePacket& packet) {
  packet = std::move(packets_.front().packet);
  packets_.pop_front();
  oldest_++;
  if (doomed_ > 0) packet.refuse(Verdict::kZeroized);
  taken_ = true;
}

// A slot whose packet is done, or a new batch of these.
void LaneRetire::pick() {
  if (!batch_.empty()) {
    picked_ = batch_.pop();
    return;
  }
  for (size_t i = first_; i < slots_.size(); i++)
    if (slots_[i].done) batch_.push(static_cast<int16_t>(i));
}

LaneRetire::Moves LaneRetire::tick(const In& in) {
  const bool known = held_ && heldBefore_;
  const bool frontFree = !front_ && !checking_;
  const bool idle = !(asks_ || granted_ || reading_ || writing_ || arrives_);
  const bool moves = known && turn_ && frontFree && idle;
  const bool wantsRead = there_ && frontFree;
  const bool wantsWrite = known && !moves && (!turn_ || in.crowded);
  const bool leaves = picked_ >= 0 && !held_ && !in.hold;
  const Moves moved{leaves ? picked_ : int16_t{-1}, asks_};

  ahead_ = !checking_ && (ahead_ || there_ || (known && turn_));
  const bool quiet = idle && !checking_ && !in.clearing;
  const bool exists = next_ - oldest_ < packets_.size();
  there_ = quiet && quietBefore_ && exists && of(next_).marked;
  quietBefore_ = quiet;
  turn_ = heldNumber_ == next_;
  if (writing_) of(heldNumber_).marked = true;
  if (reading_) of(next_).marked = false;
  heldBefore_ = held_;
  held_ = leaves || (held_ && !moves && !writing_);
  front_ = checking_ || (front_ && !taken_);
  if (checking_) next_++;
  checking_ = moves || arrives_;
  arrives_ = reading_;
  reading_ = granted_ && reads_;
  writing_ = granted_ && !reads_;
  granted_ = asks_ && !in.busy;
  if (idle && (wantsRead || wantsWrite) && !in.clearing) {
    asks_ = true;
    reads_ = wantsRead;
  } else if (!in.busy) {
    asks_ = false;
  }

  if (leaves) {
    const Slot& slot = slots_[static_cast<size_t>(picked_)];
    heldNumber_ = slot.number;
    of(heldNumber_).packet.finish(slot, encrypt_, false);
    picked_ = -1;
  } else if (picked_ < 0 && !leftBefore_) {
    pick();
  }
  leftBefore_ = leaves;
  if (in.begins >= 0) {
    slots_[static_cast<size_t>(in.begins)].number = oldest_ + static_cast<uint32_t>(packets_.size());
    packets_.emplace_back();
  }
  if (in.zeroize)
    doomed_ = static_cast<uint32_t>(packets_.size());
  else if (taken_ && doomed_ > 0)
    doomed_--;
  taken_ = false;
  return moved;
}

}  // namespace sallyport::model
