// SPDX-License-Identifier: Apache-2.0
// A source that fills the line, for tests of its rate.
#pragma once

#include "base/frame.h"
#include "wire/mac_model.h"

namespace sallyport::sim {

// Back-to-back frames of one size.
class Endless : public FrameSource {
 public:
  explicit Endless(int64_t length) : length_(length) {}
  Tick nextStart() override { return next_; }
  Frame pop() override {
    Frame frame;
    frame.bytes.assign(length_ - kFcsBytes, 0);
    frame.start = next_;
    next_ += slotTicks(length_);
    return frame;
  }

 private:
  int64_t length_;
  Tick next_ = 0;
};

}  // namespace sallyport::sim
