// SPDX-License-Identifier: Apache-2.0
// The queue in front of an output of a switch: order, times and drops.
#include "wire/switch_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace sallyport::sim {
namespace {

constexpr Tick kLatency = 10'000;

Frame frame(int64_t length, Tick start, uint8_t mark) {
  Frame made;
  made.bytes.assign(length - kFcsBytes, mark);
  made.start = start;
  return made;
}

std::vector<Frame> released(SwitchQueue& queue, Tick horizon) {
  std::vector<Frame> frames;
  queue.release(horizon, [&](const Frame& each) { frames.push_back(each); });
  return frames;
}

TEST(SwitchQueue, ForwardsInTheOrderOfLastBitsThenOfInputs) {
  SwitchQueue queue(kLatency, 1 << 20);
  queue.take(2, frame(100, 5000, 2));
  queue.take(1, frame(1000, 4000, 1));
  queue.take(0, frame(100, 5000, 0));
  const auto frames = released(queue, 100'000);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].bytes[0], 0);
  EXPECT_EQ(frames[1].bytes[0], 2);
  EXPECT_EQ(frames[2].bytes[0], 1);
  EXPECT_EQ(frames[0].start, 5000 + (kPreambleBytes + 100) * kTicksPerByte + kLatency);
  EXPECT_EQ(frames[1].start, frames[0].start + slotTicks(100));
}

// A frame whose last bit is beyond the horizon waits: one from another input may overtake it.
TEST(SwitchQueue, ReleasesNothingBeyondTheHorizon) {
  SwitchQueue queue(kLatency, 1 << 20);
  queue.take(0, frame(1000, 0, 0));
  const Tick last = (kPreambleBytes + 1000) * kTicksPerByte;
  EXPECT_TRUE(released(queue, last).empty());
  queue.take(1, frame(64, 10, 1));
  const auto frames = released(queue, last + 1);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].bytes[0], 1);
}

TEST(SwitchQueue, DropsWhatFindsNoRoom) {
  SwitchQueue queue(kLatency, 2500);
  for (int input = 0; input < 4; input++) queue.take(input, frame(1000, 0, static_cast<uint8_t>(input)));
  auto frames = released(queue, 1'000'000);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1].bytes[0], 1);
  EXPECT_EQ(queue.dropped(), 2);
  EXPECT_EQ(queue.deepest(), 2000);
  // Once the first has left there is room again.
  queue.take(3, frame(1000, slotTicks(1000), 9));
  EXPECT_EQ(released(queue, 1'000'000).size(), 1u);
  EXPECT_EQ(queue.forwarded(), 3);
}

}  // namespace
}  // namespace sallyport::sim
