// SPDX-License-Identifier: Apache-2.0
// The queue in front of an output of a switch: it merges the frames of several inputs into one
// line of full rate, and stores each frame whole before it forwards it.
//
// Frames go out in the order of the ticks in which their last bits came in; of one tick, that of
// the input with the lower number is first. So the order depends on times alone, not on which
// thread handed a frame over first.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>

#include "base/frame.h"

namespace sallyport::sim {

class SwitchQueue {
 public:
  // A frame starts at the output `latency` after its last bit came in, or when the line is free.
  // Until its last bit has left it takes its bytes of the queue. One that finds no room is dropped.
  SwitchQueue(Tick latency, int64_t bytes) : latency_(latency), limit_(bytes) {}

  void take(int input, Frame frame) {
    const std::pair<Tick, int> order{frame.lastBit(), input};
    incoming_.emplace(order, std::move(frame));
  }

  // Forwards every frame whose last bit came in before `horizon`. The caller knows that no other
  // frame will be taken whose last bit came in before that.
  template <class Forward>
  void release(Tick horizon, Forward forward) {
    while (!incoming_.empty() && incoming_.begin()->first.first < horizon) {
      Frame frame = std::move(incoming_.begin()->second);
      incoming_.erase(incoming_.begin());
      if (enqueue(frame)) forward(frame);
    }
  }

  // Nothing is inside, and the line is free at that tick.
  bool idle(Tick now) const { return incoming_.empty() && lineFree_ <= now; }
  int64_t forwarded() const { return forwarded_; }
  int64_t dropped() const { return dropped_; }
  // The most bytes that were in the queue at once.
  int64_t deepest() const { return deepest_; }

 private:
  struct Held {
    Tick until;
    int64_t bytes;
  };

  bool enqueue(Frame& frame);

  Tick latency_;
  int64_t limit_;
  std::multimap<std::pair<Tick, int>, Frame> incoming_;
  std::deque<Held> held_;
  Tick lineFree_ = 0;
  int64_t inside_ = 0, forwarded_ = 0, dropped_ = 0, deepest_ = 0;
};

}  // namespace sallyport::sim
