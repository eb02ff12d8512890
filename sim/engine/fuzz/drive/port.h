// SPDX-License-Identifier: Apache-2.0
// The neighbours of an interface chip beside its link: the MAC at its port, and the CPU's ends of
// the punt and the inject stream.
#pragma once

#include <deque>
#include <functional>

#include "base/random.h"
#include "chip/chip.h"
#include "fuzz/link/frame.h"

namespace sallyport::fuzz {

class Port {
 public:
  // A frame has left, whole and without FCS, or was given to the CPU.
  std::function<void(const Bytes&)> onFrame, onPunt;
  // Chance of each cycle that MAC or CPU take nothing for up to 1,500 cycles.
  double stalls = 0;

  explicit Port(uint64_t seed) : random_(seed, 0x30) {}

  void receive(Bytes frame, bool badFcs) { frames_.push_back({std::move(frame), badFcs, false}); }
  void inject(Bytes frame, bool error, bool encrypt) { injected_.push_back({std::move(frame), error, encrypt}); }
  size_t waiting() const { return frames_.size(); }
  void clear() {
    frames_.resize(std::min<size_t>(frames_.size(), at_ > 0 ? 1 : 0));
    injected_.resize(std::min<size_t>(injected_.size(), injectedAt_ > 0 ? 1 : 0));
  }
  // Frames that have entered by the wire, and those that left by it.
  int64_t entered() const { return entered_; }
  int64_t left() const { return left_; }
  int64_t punted() const { return punted_; }
  bool quiet() const { return frames_.empty() && injected_.empty() && frame_.empty() && punt_.empty(); }

  // Around the chip's settle(). Throws std::runtime_error on a beat that no stream has.
  void drive(sim::ChipInputs& in);
  void take(const sim::ChipInputs& in, const sim::ChipOutputs& out);

 private:
  struct Entering {
    Bytes bytes;
    bool error;
    bool encrypt;
  };
  static void collect(Bytes& frame, const sim::MacBeat& beat);

  sim::Random random_;
  std::deque<Entering> frames_, injected_;
  size_t at_ = 0, injectedAt_ = 0;
  Bytes frame_, punt_;
  // Bytes that the line has had time for.
  double line_ = 0;
  int macStall_ = 0, cpuStall_ = 0;
  int64_t entered_ = 0, left_ = 0, punted_ = 0;
};

}  // namespace sallyport::fuzz
