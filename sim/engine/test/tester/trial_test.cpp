// SPDX-License-Identifier: Apache-2.0
// Trials over whole topologies: loss, faults of a cable, pairing, refusals.
#include "tester/trial.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "test/tester/trials.h"
#include "tester/test_packet.h"

namespace sallyport::sim {
namespace {

using nlohmann::json;

TEST(Trial, TwoBoxesCarryTrafficBothWays) {
  World world({2, 1, 30});
  world.reset();
  const json result = run(world, bothWays(64, 60));
  EXPECT_TRUE(result["passed"]);
  EXPECT_EQ(result["total"]["lost_total"], 0);
  // 60 % of 148.81 Mpps each way.
  EXPECT_NEAR(result["total"]["mpps"].get<double>(), 2 * 89.29, 0.2);
  // Three links' and three cables' latency are the least there can be.
  EXPECT_GT(result["total"]["latency_ns"]["fifo"]["min"].get<double>(), 4 * 137 + 2 * 300);
}

TEST(Trial, OverloadIsSeenAsLoss) {
  World world({2, 1, 30});
  world.reset();
  const json result = run(world, bothWays(1400, 100));
  EXPECT_FALSE(result["passed"]);
  EXPECT_GT(result["total"]["lost"].get<int64_t>(), 0);
  EXPECT_TRUE(result["total"]["last_loss_ns"].is_number());
}

// The stand-ins need two link words a frame, so 65.5 % of 64 B line rate is their limit. Their
// queue takes the rest for a while.
TEST(Trial, AGrowingQueueFailsATrialWithoutLoss) {
  World world({2, 1, 30});
  world.reset();
  TrialSpec trial = bothWays(64, 68);
  trial.measure = microsecondsToCycles(10);
  const json result = run(world, trial);
  EXPECT_EQ(result["total"]["lost_total"], 0);
  EXPECT_TRUE(result["total"]["queue_growing"]);
  EXPECT_FALSE(result["passed"]);
}

TEST(Trial, CableFaultsAreCounted) {
  World world({2, 1, 30});
  world.reset();
  CableFault fault;
  fault.loss = 0.02;
  fault.duplicate = 0.02;
  fault.reorder = 0.05;
  auto* sender = world.cables()[0].sender;
  sender->setFault(fault, 5);
  const json result = run(world, bothWays(512, 50));
  const json& forward = result["streams"][0];
  EXPECT_GT(sender->lost(), 0);
  EXPECT_EQ(forward["lost_total"], sender->lost());
  EXPECT_EQ(forward["duplicated"], sender->duplicated());
  EXPECT_GT(forward["reordered"].get<int64_t>(), 0);
  EXPECT_LE(forward["reordered"].get<int64_t>(), sender->reordered());
  EXPECT_EQ(result["streams"][1]["lost_total"], 0);
}

// The stand-ins do not encrypt; ESP packets that the tester sends itself do as well.
TEST(Trial, EspIsPairedByItsOrder) {
  World world({1, 1, 30});
  world.reset();
  StreamSpec esp = stream(1, {0, "red"}, {0, "black"}, 64, 40);
  esp.expect = StreamSpec::Expect::kEsp;
  for (uint8_t n = 1; n <= 100; n++) {
    std::vector<uint8_t> frame(n % 2 ? 118 : 1454, 0);
    frame[12] = 0x08;
    frame[14] = 0x45;
    frame[23] = 50;
    frame[37] = 7;  // SPI
    frame[41] = n;
    esp.capture.push_back({0, frame});
  }
  esp.frames = 100;
  TrialSpec trial;
  trial.warmup = 0;
  trial.streams = {esp};
  const json result = run(world, trial);
  EXPECT_TRUE(result["passed"]) << result.dump();
  EXPECT_EQ(result["streams"][0]["rx_frames"], 100);
  EXPECT_EQ(result["streams"][0]["reordered"], 0);
  EXPECT_EQ(result["ports"][1]["rx_esp"], 100);
  EXPECT_EQ(result["total"]["latency_ns"]["fifo"]["count"], 100);

  std::swap(esp.capture[10], esp.capture[11]);
  esp.badFcsEvery = 4;
  esp.frames = 100;
  trial.streams = {esp};
  const json second = run(world, trial);
  EXPECT_EQ(second["total"]["tx_frames"], 75);
  EXPECT_EQ(second["total"]["lost"], 0);
  EXPECT_EQ(second["streams"][0]["reordered"], 1);
}

// Frames of an earlier run carry that run's times; this run must measure its own.
TEST(Trial, RecordedFramesAreRecognised) {
  World world({1, 1, 30});
  world.reset();
  StreamSpec live = stream(1, {0, "black"}, {0, "red"}, 512, 40), recorded = live;
  live.frames = 100;
  for (uint32_t n = 0; n < 100; n++) {
    recorded.capture.emplace_back();
    buildPacket(recorded, n, 1'000'000'000, recorded.capture.back().bytes);
  }
  recorded.frames = 100;
  TrialSpec trial;
  trial.warmup = 0;
  trial.streams = {live};
  const json first = run(world, trial);
  trial.streams = {recorded};
  const json second = run(world, trial);
  EXPECT_TRUE(second["passed"]) << second.dump();
  EXPECT_EQ(second["total"]["rx_frames"], 100);
  // The second run begins at another place in a cycle.
  const auto average = [](const json& result) { return result["total"]["latency_ns"]["fifo"]["avg"].get<double>(); };
  EXPECT_NEAR(average(second), average(first), 2);

  std::swap(recorded.capture[10], recorded.capture[11]);
  recorded.capture[20] = recorded.capture[99];
  recorded.capture.pop_back();
  recorded.frames = 99;
  trial.streams = {recorded};
  const json third = run(world, trial);
  EXPECT_EQ(third["streams"][0]["reordered"], 79);
  EXPECT_EQ(third["streams"][0]["corrupted"], 1);
  EXPECT_FALSE(third["passed"]);
}

TEST(Trial, ImpossibleTrialsAreRefused) {
  World world({2, 1, 30});
  TrialSpec trial = bothWays(64, 10);
  trial.streams[1].to = {0, "black"};
  EXPECT_THROW(run(world, trial), std::invalid_argument);
  trial = bothWays(60, 10);
  EXPECT_THROW(run(world, trial), std::invalid_argument);
  trial = bothWays(64, 10);
  trial.streams[1].id = 1;
  EXPECT_THROW(run(world, trial), std::invalid_argument);
}

}  // namespace
}  // namespace sallyport::sim
