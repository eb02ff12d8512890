// SPDX-License-Identifier: Apache-2.0
// Punted frames that wait for software, each behind its header as on the stream. The chip's node
// writes them in an epoch; software takes them between epochs. A full queue drops its oldest
// frames, since software needs these least.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace sallyport::sim {

class PuntQueue {
 public:
  static constexpr size_t kMost = 256;

  void push(std::vector<uint8_t> punted) {
    if (frames_.size() == kMost) {
      frames_.pop_front();
      dropped_++;
    }
    frames_.push_back(std::move(punted));
  }

  bool empty() const { return frames_.empty(); }
  size_t size() const { return frames_.size(); }
  const std::vector<uint8_t>& front() const { return frames_.front(); }
  void pop() { frames_.pop_front(); }
  int64_t dropped() const { return dropped_; }

 private:
  std::deque<std::vector<uint8_t>> frames_;
  int64_t dropped_ = 0;
};

}  // namespace sallyport::sim
