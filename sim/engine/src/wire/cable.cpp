// SPDX-License-Identifier: Apache-2.0
#include "wire/cable.h"

#include <algorithm>

namespace sallyport::sim {

void CableSender::setFault(const CableFault& fault, uint64_t seed) {
  fault_ = fault;
  dice_.emplace(seed, 0x300 + number_);
}

void CableSender::receive(Frame frame, int64_t epoch) {
  for (const auto& [from, to] : cuts_)
    if (frame.start >= from && frame.start < to) {
      cutOff_++;
      return;
    }
  if (dice_) {
    if (dice_->chance(fault_.loss)) {
      lost_++;
      return;
    }
    if (dice_->chance(fault_.duplicate)) {
      duplicated_++;
      channel_->put(epoch, frame);
    }
    if (dice_->chance(fault_.reorder)) {
      reordered_++;
      frame.start += fault_.reorderDelay;
    }
  }
  channel_->put(epoch, std::move(frame));
}

void CableReceiver::beginEpoch(int64_t epoch) {
  channel_->take(epoch, [this](Frame frame) {
    frame.start += latency_ * coreClock.ticksPerCycle;
    auto later = [](const Frame& a, const Frame& b) { return a.start < b.start; };
    underway_.insert(std::upper_bound(underway_.begin(), underway_.end(), frame, later), std::move(frame));
  });
}

Tick CableReceiver::nextStart() { return underway_.empty() ? kNever : std::max(underway_.front().start, lineFree_); }

Frame CableReceiver::pop() {
  Frame frame = std::move(underway_.front());
  underway_.pop_front();
  frame.start = std::max(frame.start, lineFree_);
  lineFree_ = frame.start + slotTicks(frame.length());
  return frame;
}

}  // namespace sallyport::sim
