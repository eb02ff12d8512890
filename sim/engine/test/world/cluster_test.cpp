// SPDX-License-Identifier: Apache-2.0
// Clusters of stand-in chips: what the switches do to frames.
#include "world/cluster.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "control/status.h"
#include "test/tester/clusters.h"

namespace sallyport::sim {
namespace {

using nlohmann::json;

int64_t macFrames(World& world, int box, ChipKind chip, bool out = false) {
  const MacPort* port = world.node(box, chip).port();
  return out ? port->tx.frames() : port->rx.frames();
}

CableSender& cable(World& world, const std::string& name) {
  for (const auto& each : world.cables())
    if (each.name == name) return *each.sender;
  throw std::out_of_range(name);
}

json output(World& world, const std::string& name) {
  for (const auto& each : switchesOf(*world.cluster()))
    if (each["output"] == name) return each;
  throw std::out_of_range(name);
}

TEST(Cluster, OneNodeASideCarriesBothWays) {
  World world(clusterOf(1));
  world.reset();
  TrialSpec trial = oneWay(512, 50);
  trial.streams.push_back(stream(2, kFarRed, kNearRed, 512, 50));
  const json result = run(world, trial);
  EXPECT_TRUE(result["passed"]) << result.dump();
  EXPECT_TRUE(result["drained"]);
  // Three switches, each of 500 ns, on the way.
  EXPECT_GT(result["total"]["latency_ns"]["fifo"]["min"].get<double>(), 3 * 500 + 4 * 137 + 2 * 300);
}

TEST(Cluster, EveryNodeGetsEveryFrame) {
  World world(clusterOf(3));
  world.reset();
  const json result = run(world, oneWay(512, 10));
  const int64_t sent = result["total"]["tx_frames_total"];
  for (int box = 0; box < 3; box++) {
    EXPECT_EQ(macFrames(world, box, ChipKind::kInner), sent);
    EXPECT_EQ(macFrames(world, box, ChipKind::kOuter, true), sent);
    EXPECT_EQ(macFrames(world, 3 + box, ChipKind::kOuter), 3 * sent);
  }
  EXPECT_EQ(result["total"]["lost_total"], 0);
  EXPECT_EQ(result["total"]["duplicated"], 8 * sent);
  EXPECT_EQ(output(world, "near>far")["frames"], 3 * sent);
  EXPECT_EQ(output(world, "far>tester")["frames"], 9 * sent);
  EXPECT_EQ(output(world, "far>near")["frames"], 0);
}

TEST(Cluster, AQueueThatOverflowsCountsItsDrops) {
  WorldOptions options = clusterOf(3);
  options.cluster.queueBytes = 16'384;
  World world(options);
  world.reset();
  const json result = run(world, oneWay(1024, 50));
  const json full = output(world, "near>far");
  EXPECT_GT(full["dropped_queue_full"].get<int64_t>(), 0);
  EXPECT_LE(full["deepest_bytes"].get<int64_t>(), 16'384);
  EXPECT_EQ(full["frames"].get<int64_t>() + full["dropped_queue_full"].get<int64_t>(),
            3 * result["total"]["tx_frames_total"].get<int64_t>());
}

TEST(Cluster, LossOfANodeFollowsFromTheSeed) {
  const auto lost = [](uint64_t seed, const std::string& name) {
    World world(clusterOf(2));
    world.reset();
    CableFault fault;
    fault.loss = 0.05;
    cable(world, name).setFault(fault, seed);
    const json result = run(world, oneWay(512, 20));
    // The other node carries it.
    EXPECT_EQ(result["total"]["lost_total"], 0);
    return std::to_string(cable(world, name).lost()) + result["total"]["latency_ns"].dump();
  };
  EXPECT_EQ(lost(1, "switch>box1.red"), lost(1, "switch>box1.red"));
  EXPECT_NE(lost(1, "switch>box1.red"), lost(2, "switch>box1.red"));
  EXPECT_NE(lost(1, "box1.black>switch"), lost(1, "box0.black>switch"));
}

TEST(Cluster, ADeadNodeGetsAndSendsNothing) {
  World world(clusterOf(2));
  world.reset();
  const Tick from = world.tick() + 10 * microsecondsToCycles(1) * coreClock.ticksPerCycle;
  for (auto* each : world.cluster()->cablesOf(1)) each->cut(from, kNever);
  const json result = run(world, oneWay(512, 20));
  const int64_t sent = result["total"]["tx_frames_total"];
  const int64_t cut = cable(world, "switch>box1.red").cutOff();
  EXPECT_EQ(result["total"]["lost_total"], 0);
  EXPECT_GT(cut, sent / 2);
  EXPECT_EQ(macFrames(world, 1, ChipKind::kInner), sent - cut);
  EXPECT_EQ(macFrames(world, 0, ChipKind::kInner), sent);
  // And it comes back.
  for (auto* each : world.cluster()->cablesOf(1)) each->mend();
  const int64_t before = macFrames(world, 1, ChipKind::kInner);
  const json again = run(world, oneWay(512, 20));
  EXPECT_EQ(macFrames(world, 1, ChipKind::kInner) - before, again["total"]["tx_frames_total"]);
}

// Result and capture of a faulty run both ways.
std::string everything(int threads, bool lockStep = false) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("sallyport-cluster-" + std::to_string(::getpid()) + ".pcapng");
  World world(clusterOf(2, threads, lockStep));
  world.reset();
  world.portNode({3, "black"}).port()->capture =
      std::make_unique<Capture>(path, "box3.black", Capture::Choice{true, true});
  CableFault fault;
  fault.loss = 0.01;
  fault.reorder = 0.01;
  cable(world, "box0.black>switch").setFault(fault, 9);
  cable(world, "switch>box2.black").setFault(fault, 9);
  cable(world, "box2.red>switch").cut(world.tick(), world.tick() + 20'000);
  TrialSpec trial = oneWay(200, 20);
  trial.streams.push_back(stream(2, kFarRed, kNearRed, 64, 12));
  trial.streams[1].sizes = spreadSizes({{64, 7}, {594, 4}, {1518, 1}});
  std::string all = run(world, trial).dump() + statusOf(world).dump();
  world.portNode({3, "black"}).port()->capture->close();
  std::ifstream file(path, std::ios::binary);
  all.append(std::istreambuf_iterator<char>(file), {});
  std::filesystem::remove(path);
  return all;
}

TEST(Cluster, ResultsDoNotDependOnThreadsOrLockStep) {
  const std::string one = everything(1);
  EXPECT_GT(one.size(), 100000u);
  EXPECT_TRUE(everything(1) == one);
  for (int threads : {2, 4}) EXPECT_TRUE(everything(threads) == one) << threads << " threads";
  EXPECT_TRUE(everything(1, true) == one);
}

TEST(Cluster, ImpossibleClustersAreRefused) {
  EXPECT_THROW(World(clusterOf(129)), std::invalid_argument);
  WorldOptions hasty = clusterOf(1);
  hasty.cluster.switchLatencyNs = 50;
  EXPECT_THROW(World{hasty}, std::invalid_argument);
  World world(clusterOf(2));
  EXPECT_THROW(world.testerPort({0, "red"}), std::invalid_argument);
  EXPECT_THROW(world.portNode({4, "red"}), std::invalid_argument);
  EXPECT_THROW(World({2, 1, 30}).testerPort(kNearRed), std::invalid_argument);
}

}  // namespace
}  // namespace sallyport::sim
