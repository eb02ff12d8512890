// SPDX-License-Identifier: Apache-2.0
// An output of a switch with its inputs: a frame that comes in at any of them goes out at all of
// its receivers at the same time, as a switch floods frames to a group of ports.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "wire/cable.h"
#include "wire/switch_queue.h"
#include "world/actor.h"

namespace sallyport::sim {

class SwitchOutput final : public Actor {
 public:
  // Throws std::invalid_argument for a latency that is shorter than an epoch: a receiver would get
  // frames after their time.
  SwitchOutput(std::string name, int64_t latencyNs, int64_t queueBytes);

  // Building: inputs are numbered in this order. `tester` is an input without a cable.
  void addInput(FrameChannel* channel) { inputs_.push_back(channel); }
  void setTester(FrameSource* tester) { tester_ = tester; }
  void addReceiver(FrameSink* receiver) { receivers_.push_back(receiver); }

  void runEpoch() override { run(now_ / coreClock.lookahead, coreClock.lookahead); }
  void runCycle() override { run(now_, 1); }
  int64_t busyNs() const override { return 0; }

  const std::string& name() const { return name_; }
  const SwitchQueue& queue() const { return queue_; }
  bool quiet() const;

 private:
  void run(int64_t epoch, Cycle cycles);

  std::string name_;
  SwitchQueue queue_;
  std::vector<FrameChannel*> inputs_;
  FrameSource* tester_ = nullptr;
  std::vector<FrameSink*> receivers_;
  Cycle now_ = 0;
};

}  // namespace sallyport::sim
