// SPDX-License-Identifier: Apache-2.0
#include "fuzz/drive/port.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace sallyport::fuzz {
namespace {

// 100 Gb/s at 300 MHz; FCS, preamble and gap of a frame.
constexpr double kBytesPerCycle = 125.0 / 3;
constexpr double kAround = 24, kLongest = 16384;
constexpr int kStall = 1500;

// The beat of a frame from byte `at` on.
sim::MacBeat beatOf(const Bytes& frame, size_t at, bool error) {
  sim::MacBeat beat{};
  const size_t bytes = std::min<size_t>(64, frame.size() - at);
  beat.bytes = static_cast<uint8_t>(bytes);
  beat.last = at + bytes == frame.size();
  beat.error = beat.last && error;
  std::memcpy(beat.data.unit.data(), &frame[at], bytes);
  return beat;
}

}  // namespace

void Port::drive(sim::ChipInputs& in) {
  line_ = std::min(line_ + kBytesPerCycle, 64.0);
  in.macRxValid = !frames_.empty() && line_ >= 0;
  if (in.macRxValid) {
    const Entering& frame = frames_.front();
    in.macRx = beatOf(frame.bytes, at_, frame.error);
    at_ += in.macRx.bytes;
    line_ -= in.macRx.bytes;
    if (in.macRx.last) {
      line_ -= kAround;
      at_ = 0;
      entered_++;
      frames_.pop_front();
    }
  }
  in.injectValid = !injected_.empty();
  if (in.injectValid) {
    in.inject = beatOf(injected_.front().bytes, injectedAt_, injected_.front().error);
    in.inject.encrypt = injected_.front().encrypt;
  }
  for (int* stall : {&macStall_, &cpuStall_}) {
    if (*stall > 0)
      (*stall)--;
    else if (random_.chance(stalls))
      *stall = static_cast<int>(random_.below(kStall));
  }
  in.macTxReady = macStall_ == 0 && random_.chance(0.65);
  in.puntReady = cpuStall_ == 0;
}

void Port::take(const sim::ChipInputs& in, const sim::ChipOutputs& out) {
  if (in.injectValid && out.injectReady) {
    injectedAt_ += in.inject.bytes;
    if (in.inject.last) {
      injected_.pop_front();
      injectedAt_ = 0;
    }
  }
  if (out.macTxValid && in.macTxReady) {
    collect(frame_, out.macTx);
    if (out.macTx.last) {
      left_++;
      onFrame(frame_);
      frame_.clear();
    }
  }
  if (out.puntValid && in.puntReady) {
    collect(punt_, out.punt);
    if (out.punt.last) {
      punted_++;
      onPunt(punt_);
      punt_.clear();
    }
  }
}

void Port::collect(Bytes& frame, const sim::MacBeat& beat) {
  if (beat.bytes < 1 || beat.bytes > 64 || (!beat.last && beat.bytes != 64) || frame.size() > kLongest)
    throw std::runtime_error("WRONG PACKET: a beat of " + std::to_string(beat.bytes) + " bytes behind " +
                             std::to_string(frame.size()));
  const auto* data = reinterpret_cast<const uint8_t*>(beat.data.unit.data());
  frame.insert(frame.end(), data, data + beat.bytes);
}

}  // namespace sallyport::fuzz
