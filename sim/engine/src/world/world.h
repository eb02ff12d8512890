// SPDX-License-Identifier: Apache-2.0
// Boxes of three chips, wired: links inside a box, the cable between two boxes, the tester
// everywhere else.
//
//   1 box:   tester - red [inner = crypto = outer] black - tester
//   2 boxes: tester - red [box 0] black - cable - black [box 1] red - tester
//
// Or a cluster of them (world/cluster.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wire/cable.h"
#include "world/cluster.h"
#include "world/node.h"
#include "world/port_name.h"
#include "world/scheduler.h"

namespace sallyport::sim {

// A port with the tester on it. Trials and replays plug in a source and a sink between epochs.
// Without them no frame comes in, and frames that go out are dropped (and captured, if a capture
// is on).
class TesterPort : public FrameSource, public FrameSink {
 public:
  void plug(FrameSource* source, FrameSink* sink) {
    source_ = source;
    sink_ = sink;
  }
  void beginEpoch(int64_t epoch) override {
    if (source_) source_->beginEpoch(epoch);
  }
  Tick nextStart() override { return source_ ? source_->nextStart() : kNever; }
  Frame pop() override { return source_->pop(); }
  void receive(Frame frame, int64_t epoch) override {
    if (sink_) sink_->receive(std::move(frame), epoch);
  }

 private:
  FrameSource* source_ = nullptr;
  FrameSink* sink_ = nullptr;
};

struct WorldOptions {
  int boxes = 1;
  int threads = 0;               // 0: as many as chips or cores, whichever is less
  int64_t cableLatencyNs = 100;  // 20 m of fibre
  bool lockStep = false;         // one thread, chips cycle by cycle
  ClusterOptions cluster{};      // of `cluster.nodes` boxes a side, whatever `boxes` says
};

class World {
 public:
  static constexpr Cycle kReadyLimit = 10'000'000;

  explicit World(const WorldOptions& options);

  // Runs until every chip says ready and the links are up. Throws when a chip does not within
  // kReadyLimit.
  void reset();
  // Resets the chips of a box, as its reset button does, and lets time pass by calling `epoch`
  // until they are ready.
  void resetBox(int box, const std::function<void()>& epoch);

  void runEpoch() {
    scheduler_->runEpoch();
    if (betweenEpochs_) betweenEpochs_();
  }
  // Ends the worker threads until the next epoch: fork() takes the calling thread alone along.
  void restThreads() { scheduler_->rest(); }
  // Called after each epoch with every node at rest; may be empty.
  void setBetweenEpochs(std::function<void()> hook) { betweenEpochs_ = std::move(hook); }

  Cycle now() const { return nodes_.front()->now(); }
  Tick tick() const { return now() * coreClock.ticksPerCycle; }

  // No tester has frames left, no frame is on a cable or in a switch, and no beat crossed a port
  // in the last `cycles`.
  bool quietFor(Cycle cycles) const;

  int boxes() const { return options_.boxes; }
  int threads() const { return scheduler_->threads(); }
  bool lockStep() const { return scheduler_->lockStep(); }
  Node& node(int box, ChipKind chip) { return *nodes_.at(box * 3 + static_cast<int>(chip)); }
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  // Null if this is none.
  Cluster* cluster() { return cluster_.get(); }
  // The node behind a port; throws std::invalid_argument with a sentence when there is no
  // such port.
  Node& portNode(const PortName& port);
  // Throws the same when the tester is not on that port.
  TesterPort& testerPort(const PortName& port);
  std::vector<PortName> testerPorts() const;
  // All ports, those of the cable too.
  std::vector<PortName> ports() const;
  // A memory, "box0.inner.paths.encrypt.flows.ways_memory.banks_0.memory", and its node; throws the
  // same when there is no such memory.
  std::pair<Node*, ChipMemory> memory(const std::string& name);
  // The node of an inject stream, "box0.inner.inject"; throws the same when there is no such box.
  Node& injectNode(const PortName& stream);

  // Takes the tester off its ports at the end of a scope, also after an exception.
  struct Unplug {
    World& world;
    ~Unplug() {
      for (const auto& port : world.testerPorts()) world.testerPort(port).plug(nullptr, nullptr);
      for (const auto& node : world.nodes()) node->inject().plug(nullptr);
    }
  };

  struct NamedLink {
    std::string name;  // "box0.inner>crypto"
    LinkTransmitter* transmitter;
  };
  std::vector<NamedLink> links();
  using NamedCable = Cluster::NamedCable;
  std::vector<NamedCable> cables();  // "box0>box1", or those of a cluster

 private:
  void addCable();
  void addCluster();
  void addBox(int box);
  // Calls `epoch` at least once, and until every chip says ready. Throws when a chip does not
  // within kReadyLimit.
  void untilReady(const std::function<void()>& epoch);

  WorldOptions options_;
  std::vector<std::unique_ptr<LinkChannel>> linkChannels_;
  std::vector<std::unique_ptr<FrameChannel>> cableChannels_;
  std::vector<std::unique_ptr<CableSender>> senders_;
  std::vector<std::unique_ptr<CableReceiver>> receivers_;
  std::vector<std::unique_ptr<TesterPort>> red_, black_;
  std::unique_ptr<Cluster> cluster_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unique_ptr<Scheduler> scheduler_;
  std::function<void()> betweenEpochs_;
};

}  // namespace sallyport::sim
