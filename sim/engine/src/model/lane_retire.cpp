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
  const bool idle = !(asks_ || granted_ || reading_ || writing_ || arrives_);
  const bool room = queued_ < kAhead;
  const bool joins = comes_ || judged_;
  const bool moves = known && turn_ && idle && !joins && room;
  const bool marking = (granted_ && !reads_) || writing_;
  const bool fetching = ((asks_ || granted_) && reads_) || reading_ || arrives_ || joins;
  const bool looks = !marking && !fetching && !in.clearing;
  const bool exists = next_ - oldest_ < packets_.size();
  const bool found = looks && looksBefore_ && exists && of(next_).marked;
  const bool wantsRead = there_ && room;
  const bool settled = !joins && !joinedBefore_;
  const bool wantsWrite = known && settled && !marking && (!turn_ || (in.crowded && !room));
  const bool begins = !asks_ && (wantsRead || wantsWrite) && !in.clearing;
  const bool leaves = picked_ >= 0 && !held_ && !in.hold;
  const bool tells = !told_ && (there_ || (known && turn_) || judged_);
  const Moves moved{leaves ? picked_ : int16_t{-1}, asks_};

  // The queue, whose front is here once it has been looked at.
  const bool fetched = queued_ > 0 && !front_ && !checking_;
  front_ = checking_ || (front_ && !taken_);
  checking_ = fetched;
  queued_ += judged_;
  queued_ -= fetched;

  done_ = tells;
  told_ = (told_ || tells) && !judged_;
  there_ = (there_ || found) && !(begins && wantsRead) && !joins;
  looksBefore_ = looks;
  joinedBefore_ = joins;
  turn_ = heldNumber_ == next_;
  if (writing_) of(heldNumber_).marked = true;
  if (reading_) of(next_).marked = false;
  heldBefore_ = held_;
  held_ = leaves || (held_ && !moves && !writing_);
  if (judged_) next_++;
  judged_ = comes_;
  comes_ = moves || arrives_;
  arrives_ = reading_;
  reading_ = granted_ && reads_;
  writing_ = granted_ && !reads_;
  granted_ = asks_ && !in.busy;
  if (begins) {
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
