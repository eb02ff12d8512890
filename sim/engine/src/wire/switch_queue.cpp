// SPDX-License-Identifier: Apache-2.0
#include "wire/switch_queue.h"

#include <algorithm>

namespace sallyport::sim {

bool SwitchQueue::enqueue(Frame& frame) {
  const Tick arrived = frame.lastBit() + latency_;
  while (!held_.empty() && held_.front().until <= arrived) {
    inside_ -= held_.front().bytes;
    held_.pop_front();
  }
  if (inside_ + frame.length() > limit_) {
    dropped_++;
    return false;
  }
  inside_ += frame.length();
  deepest_ = std::max(deepest_, inside_);
  frame.start = std::max(arrived, lineFree_);
  lineFree_ = frame.start + slotTicks(frame.length());
  held_.push_back({frame.lastBit(), frame.length()});
  forwarded_++;
  return true;
}

}  // namespace sallyport::sim
