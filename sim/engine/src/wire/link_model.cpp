// SPDX-License-Identifier: Apache-2.0
#include "wire/link_model.h"

namespace sallyport::sim {

namespace {
// User clocks a tick.
constexpr uint32_t kUserClocksNumerator = 11, kUserClocksDenominator = 1024;
constexpr uint32_t kGearboxPeriod = 33;
constexpr uint32_t kCompensationPeriod = 4992, kCompensationClocks = 8;
}  // namespace

LinkTransmitter::LinkTransmitter(LinkChannel* channel, uint32_t phase)
    : channel_(channel), gearbox_(phase * 7 % kGearboxPeriod), compensation_(phase * 1009 % kCompensationPeriod) {}

void LinkTransmitter::cycle(Cycle now, int64_t epoch, const Word* word) {
  if (fault.down(now)) {
    buffer_.clear();
    halfSent_ = false;
    return;
  }
  fraction_ += kUserClocksNumerator * static_cast<uint32_t>(coreClock.ticksPerCycle);
  for (; fraction_ >= kUserClocksDenominator; fraction_ -= kUserClocksDenominator) userClock(now, epoch);
  if (word) buffer_.push_back(*word);
}

void LinkTransmitter::userClock(Cycle now, int64_t epoch) {
  if (++gearbox_ == kGearboxPeriod) gearbox_ = 0;
  if (++compensation_ == kCompensationPeriod) compensation_ = 0;
  if (gearbox_ == 0 || compensation_ < kCompensationClocks || buffer_.empty()) return;
  halfSent_ = !halfSent_;
  if (halfSent_) return;
  Word word = buffer_.front();
  buffer_.pop_front();
  words_++;
  fault.apply(word);
  if (!fault.down(now + coreClock.linkLatency)) channel_->put(epoch, {now + coreClock.linkLatency, word});
}

void LinkReceiver::beginEpoch(int64_t epoch) {
  channel_->take(epoch, [this](LinkWord word) { underway_.push_back(word); });
}

const Word* LinkReceiver::arrival(Cycle now) {
  if (underway_.empty() || underway_.front().due > now) return nullptr;
  word_ = underway_.front().word;
  underway_.pop_front();
  return &word_;
}

}  // namespace sallyport::sim
