// SPDX-License-Identifier: Apache-2.0
// A step of a packet, as far as its time matters (LaneOp.scala).
#pragma once

#include <cstdint>

namespace sallyport::model {

// One-hot, in the order of a packet's steps.
enum Step : uint8_t { kHead = 1, kIv = 2, kText = 4, kSpill = 8, kEnd = 16, kIcv = 32 };

struct Op {
  int16_t slot;
  uint8_t step;
  // Last block of text.
  bool last;
  uint16_t index;
  uint8_t cipherLatency;
  // It asks ChaCha20 for key stream.
  bool launches;
};

// Ends a path of `ready` (SkidBuffer.scala): `out` of this cycle, then `move`.
class Skid {
 public:
  bool ready() const { return !full_; }
  bool valid(bool in) const { return full_ || in; }
  const Op& out(const Op& in) const { return full_ ? kept_ : in; }
  void move(bool in, const Op& op, bool taken) {
    const bool stays = valid(in) && !taken;
    if (!full_) kept_ = op;
    full_ = stays;
  }
  bool idle() const { return !full_; }

 private:
  bool full_ = false;
  Op kept_{};
};

}  // namespace sallyport::model
