// SPDX-License-Identifier: Apache-2.0
#include "model/chain_sequence.h"

namespace sallyport::model {

void ChainSequence::make() {
  Slot& slot = slots_[static_cast<size_t>(chosen_)];
  const bool text = !starts_ && slot.chainText;
  op_ = {chosen_,
         static_cast<uint8_t>(starts_ ? kHead
                              : text  ? kText
                                      : kIv),
         text && slot.chainLeft == 1,
         text ? slot.chainIndex : uint16_t{0},
         static_cast<uint8_t>(slot.job.of().cipherLatency()),
         false};
  slot.chainIndex = text ? static_cast<uint16_t>(slot.chainIndex + 1) : uint16_t{0};
  slot.chainLeft = text ? static_cast<uint16_t>(slot.chainLeft - 1) : static_cast<uint16_t>(slot.text / 16);
  slot.chainText = !starts_;
}

void ChainSequence::tick(uint32_t now, bool ready, const Op* issued, int16_t start, bool clear) {
  const bool free = !valid_ || ready;
  const bool picks = !picked_ || free;
  if (free && picked_) make();
  if (free) valid_ = picked_;
  if (picks) {
    picked_ = false;
    for (size_t i = 0; i < queues_.size() && !picked_; i++) {
      if (queues_[i].empty()) continue;
      picked_ = true;
      chosen_ = queues_[i].pop();
      starts_ = i == 3;
    }
  }
  if (clear) {
    valid_ = picked_ = false;
    packets_ = 0;
    for (auto& queue : queues_) queue.clear();
    for (auto& line : woken_) line.clear();
    return;
  }
  for (size_t i = 0; i < woken_.size(); i++)
    if (const int16_t slot = woken_[i].take(now); slot >= 0) queues_[i].push(slot);
  if (issued) {
    if (issued->step == kHead)
      queues_[2].push(issued->slot);
    else if (!issued->last)
      // So that the next step enters the cipher as this one's block leaves it.
      woken_[slots_[static_cast<size_t>(issued->slot)].job.of().cipher == Cipher::kSm4].put(
          now + issued->cipherLatency - 3, issued->slot);
    else
      packets_--;
  }
  if (start >= 0) {
    queues_[3].push(start);
    packets_++;
  }
}

}  // namespace sallyport::model
