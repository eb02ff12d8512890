// SPDX-License-Identifier: Apache-2.0
#include "wire/mac_model.h"

#include <algorithm>
#include <cstring>

#include "base/chip_fault.h"

namespace sallyport::sim {

void MacReceiver::split(const Frame& frame) {
  const auto size = static_cast<int64_t>(frame.bytes.size());
  for (int64_t from = 0; from < size; from += 64) {
    const int64_t bytes = std::min<int64_t>(64, size - from);
    TimedBeat timed{};
    timed.beat.last = from + bytes == size;
    timed.beat.bytes = static_cast<uint8_t>(bytes);
    timed.beat.error = timed.beat.last && frame.badFcs;
    std::memcpy(timed.beat.data.unit.data(), frame.bytes.data() + from, bytes);
    const Tick arrived = timed.beat.last ? frame.lastBit() : frame.firstBit() + (from + bytes) * kTicksPerByte;
    timed.due = (arrived + coreClock.ticksPerCycle - 1) / coreClock.ticksPerCycle + coreClock.macRxLatency;
    beats_.push_back(timed);
  }
  frames_++;
}

bool MacTransmitter::ready(Cycle now) {
  const Tick tick = now * coreClock.ticksPerCycle;
  while (!leaving_.empty() &&
         tick >= leaving_.front().start + (kPreambleBytes + leaving_.front().bytes) * kTicksPerByte) {
    held_ -= leaving_.front().bytes;
    leaving_.pop_front();
  }
  int64_t gone = 0;
  if (!leaving_.empty()) gone = std::max<int64_t>(0, (tick - leaving_.front().start) / kTicksPerByte - kPreambleBytes);
  return held_ - gone + 64 <= kFifoBytes;
}

void MacTransmitter::reset() {
  held_ -= static_cast<int64_t>(partial_.size());
  partial_.clear();
}

const Frame* MacTransmitter::push(const MacBeat& beat, Cycle now, int64_t epoch) {
  if (beat.bytes < 1 || beat.bytes > 64 || (!beat.last && beat.bytes != 64))
    throw ChipFault(name_ + ": macTx beat of " + std::to_string(beat.bytes) +
                    " bytes, last=" + std::to_string(beat.last) + ", at cycle " + std::to_string(now));
  const auto* data = reinterpret_cast<const uint8_t*>(beat.data.unit.data());
  partial_.insert(partial_.end(), data, data + beat.bytes);
  held_ += beat.bytes;
  if (static_cast<int64_t>(partial_.size()) + 64 > kFifoBytes)
    throw ChipFault(name_ + ": macTx frame does not fit the MAC's FIFO, at cycle " + std::to_string(now));
  if (!beat.last) return nullptr;

  Frame frame;
  frame.bytes = std::move(partial_);
  partial_.clear();
  const auto taken = static_cast<int64_t>(frame.bytes.size());
  if (frame.length() < kMinFrameBytes) frame.bytes.resize(kMinFrameBytes - kFcsBytes, 0);
  frame.badFcs = beat.error;
  const Tick start = std::max((now + 1) * coreClock.ticksPerCycle, lineFree_);
  lineFree_ = start + slotTicks(frame.length());
  leaving_.push_back({start, taken});
  frame.start = start + coreClock.macTxLatency * coreClock.ticksPerCycle;
  frames_++;
  lineBytes_ += frame.length() + kSlotOverhead;
  last_ = frame;
  sink_->receive(std::move(frame), epoch);
  return &last_;
}

}  // namespace sallyport::sim
