// SPDX-License-Identifier: Apache-2.0
#include "live/live_port.h"

#include <algorithm>
#include <utility>

namespace sallyport::sim {

void LivePort::schedule(Cycle cycle, std::vector<uint8_t> bytes) {
  const Cycle free = (lineFree_ + coreClock.ticksPerCycle - 1) / coreClock.ticksPerCycle;
  Frame frame;
  frame.bytes = std::move(bytes);
  frame.start = std::max(cycle, free) * coreClock.ticksPerCycle;
  lineFree_ = frame.start + slotTicks(frame.length());
  coming_.push_back(std::move(frame));
}

void LivePort::take(Cycle now) {
  std::vector<uint8_t> frame;
  while (device_ && lineFree_ <= (now + coreClock.lookahead - 1) * coreClock.ticksPerCycle && device_->read(frame))
    schedule(now, std::move(frame));
}

void LivePort::deliver() {
  const auto frames = std::exchange(leaving_, {});
  for (const Frame& frame : frames)
    if (frame.badFcs || !device_->write(frame.bytes)) undelivered_++;
}

Frame LivePort::pop() {
  Frame frame = std::move(coming_.front());
  coming_.pop_front();
  return frame;
}

void LivePort::receive(Frame frame, int64_t) {
  if (device_) leaving_.push_back(std::move(frame));
}

}  // namespace sallyport::sim
