// SPDX-License-Identifier: Apache-2.0
// Software's frames for a chip's inject stream. Software puts them in between epochs; in an epoch
// the chip's node takes each as soon as the stream is free.
#pragma once

#include <deque>
#include <utility>

#include "base/frame.h"

namespace sallyport::sim {

class InjectQueue : public FrameSource {
 public:
  // Software has to wait while so many do.
  static constexpr size_t kMost = 64;

  bool full() const { return frames_.size() >= kMost; }
  size_t size() const { return frames_.size(); }
  void push(std::vector<uint8_t> bytes, bool encrypt) {
    frames_.emplace_back();
    frames_.back().bytes = std::move(bytes);
    frames_.back().encrypt = encrypt;
  }

  Tick nextStart() override { return frames_.empty() ? kNever : 0; }
  Frame pop() override {
    Frame frame = std::move(frames_.front());
    frames_.pop_front();
    return frame;
  }

 private:
  std::deque<Frame> frames_;
};

}  // namespace sallyport::sim
