// SPDX-License-Identifier: Apache-2.0
// The cable between the outer ports of two boxes, one direction. Its faults stand for a WAN: loss,
// duplication, reordering.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/channel.h"
#include "base/frame.h"
#include "base/random.h"

namespace sallyport::sim {

// Probabilities of a frame; a reordered frame is held back for `reorderDelay`.
struct CableFault {
  double loss = 0, duplicate = 0, reorder = 0;
  Tick reorderDelay = nsToTicks(1000);
};

using FrameChannel = Channel<Frame>;

// The sender's end: dice are thrown here, in frame order.
class CableSender : public FrameSink {
 public:
  CableSender(FrameChannel* channel, uint64_t number) : channel_(channel), number_(number) {}

  void setFault(const CableFault& fault, uint64_t seed);
  // Nothing that starts from `from` on and before `to` gets through.
  void cut(Tick from, Tick to) { cuts_.emplace_back(from, to); }
  void mend() { cuts_.clear(); }
  void receive(Frame frame, int64_t epoch) override;

  int64_t cutOff() const { return cutOff_; }
  int64_t lost() const { return lost_; }
  int64_t duplicated() const { return duplicated_; }
  int64_t reordered() const { return reordered_; }

 private:
  FrameChannel* channel_;
  uint64_t number_;
  CableFault fault_;
  std::optional<Random> dice_;
  std::vector<std::pair<Tick, Tick>> cuts_;
  int64_t cutOff_ = 0, lost_ = 0, duplicated_ = 0, reordered_ = 0;
};

// The receiver's end: `latency` cycles later. The line never carries two frames at once; a
// duplicate or a late frame takes a slot of its own.
class CableReceiver : public FrameSource {
 public:
  CableReceiver(FrameChannel* channel, Cycle latency) : channel_(channel), latency_(latency) {}

  void beginEpoch(int64_t epoch) override;
  Tick nextStart() override;
  Frame pop() override;

 private:
  FrameChannel* channel_;
  Cycle latency_;
  // Sorted by start.
  std::deque<Frame> underway_;
  Tick lineFree_ = 0;
};

}  // namespace sallyport::sim
