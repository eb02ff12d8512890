// SPDX-License-Identifier: Apache-2.0
// The wiring of a cluster: nodes that are one gateway without a dispatcher, and as many that are
// the far one. Each switch floods what it gets to all nodes of a side, and merges what they send.
//
//   tester - near.red - { box 0 … N-1 } - black - { box N … 2N-1 } - far.red - tester
//
// The outputs of the switches are "tester>near", "near>far", "far>tester", and the way back. Each
// port of a box has a cable each way, "box0.red>switch" and "switch>box0.red", with faults of
// its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wire/cable.h"
#include "world/switch_output.h"

namespace sallyport::sim {

struct ClusterOptions {
  int nodes = 0;                    // of a side; 0: no cluster
  int64_t switchLatencyNs = 500;    // from a frame's last bit in to its first bit out
  int64_t queueBytes = 512 * 1024;  // of each output of a switch
};

class Cluster {
 public:
  static constexpr int kMostNodes = 128;

  // The tester's ports are behind the switches "near.red" and "far.red". Throws
  // std::invalid_argument with a sentence.
  Cluster(const ClusterOptions& options, FrameSource* nearSource, FrameSink* nearSink, FrameSource* farSource,
          FrameSink* farSink);

  struct Port {
    FrameSource* source;
    FrameSink* sink;
  };
  Port red(int box) const { return port(2 * box); }
  Port black(int box) const { return port(2 * box + 1); }

  // No frame is on a cable or in a switch.
  bool quiet() const;
  const std::vector<std::unique_ptr<SwitchOutput>>& outputs() const { return outputs_; }

  struct NamedCable {
    std::string name;
    CableSender* sender;
  };
  std::vector<NamedCable> cables() const;
  // The cables of all ports of a box, both ways.
  std::vector<CableSender*> cablesOf(int box) const;

 private:
  // One port of a box: its cables to the switch and back.
  struct Cabled {
    explicit Cabled(uint64_t number)
        : toSwitch(&up, kFirstNumber + 2 * number), toBox(&down, kFirstNumber + 2 * number + 1), fromSwitch(&down, 0) {}
    FrameChannel up, down;
    CableSender toSwitch, toBox;
    CableReceiver fromSwitch;
  };
  // Behind the numbers of the two directions of the cable between two boxes.
  static constexpr uint64_t kFirstNumber = 2;

  Port port(int number) const { return {&ports_.at(number)->fromSwitch, &ports_.at(number)->toSwitch}; }
  // The switch output from the ports `from` (or the tester) to the ports `to` (or the tester).
  void join(const std::string& name, const std::vector<int>& from, FrameSource* tester, const std::vector<int>& to,
            FrameSink* sink);

  ClusterOptions options_;
  std::vector<std::unique_ptr<Cabled>> ports_;  // red and black of box 0, of box 1, …
  std::vector<std::unique_ptr<SwitchOutput>> outputs_;
};

}  // namespace sallyport::sim
