// SPDX-License-Identifier: Apache-2.0
// Replays run until no frame moves; punted frames are captured.
#include "tester/replay.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "wire/capture.h"

namespace sallyport::sim {
namespace {

using nlohmann::json;

TEST(Replay, RunsUntilQuietAndPuntsAreCaptured) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("sallyport-punt-" + std::to_string(::getpid()) + ".pcapng");
  World world({1, 1, 30});
  world.reset();
  world.node(0, ChipKind::kInner).punt().setCapture(std::make_unique<Capture>(path, "punt", Capture::Choice{}));
  ReplaySpec spec;
  ReplayInput input;
  input.port = {0, "red"};
  std::vector<uint8_t> arp(42, 1), other(100, 2);
  arp[12] = 8;
  arp[13] = 6;
  for (int i = 0; i < 10; i++) input.frames.push_back({i * 100'000, i % 5 == 0 ? arp : other});
  input.original = true;
  input.badFcs = {2};
  spec.inputs = {input};
  RunMeter meter(world);
  const json result = runReplay(world, spec, meter);
  EXPECT_TRUE(result["quiescent"]);
  EXPECT_GT(meter.cycles(), 9 * 100 * 300);
  EXPECT_EQ(result["ports"][1]["rx_frames"], 7);
  EXPECT_EQ(world.node(0, ChipKind::kInner).punt().frames()[1], 2);
  world.node(0, ChipKind::kInner).punt().capture()->close();
  EXPECT_EQ(readCapture(path).size(), 2u);
  std::filesystem::remove(path);
}

TEST(Replay, InjectedFramesLeaveByTheirOwnChipsPort) {
  World world({1, 1, 30});
  world.reset();
  ReplaySpec spec;
  ReplayInput input;
  input.port = {0, "outer.inject"};
  input.pad = false;
  for (int i = 0; i < 7; i++) input.frames.push_back({0, std::vector<uint8_t>(20 + 50 * i, 3)});
  spec.inputs = {input};
  RunMeter meter(world);
  const json result = runReplay(world, spec, meter);
  EXPECT_TRUE(result["quiescent"]);
  EXPECT_EQ(result["ports"][0]["rx_frames"], 0);
  EXPECT_EQ(result["ports"][1]["rx_frames"], 7);
  EXPECT_EQ(result["ports"][2]["tx_frames"], 7);
  EXPECT_EQ(result["ports"][2]["port"], "box0.outer.inject");
  spec.inputs = {input, input};
  EXPECT_THROW(runReplay(world, spec, meter), std::invalid_argument);
  spec.inputs = {input};
  spec.inputs[0].port.box = 1;
  EXPECT_THROW(runReplay(world, spec, meter), std::invalid_argument);
}

}  // namespace
}  // namespace sallyport::sim
