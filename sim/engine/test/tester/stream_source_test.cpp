// SPDX-License-Identifier: Apache-2.0
// When the frames of streams are due, and how they share a line.
#include "tester/stream_source.h"

#include <gtest/gtest.h>

#include "test/tester/streams.h"

namespace sallyport::sim {
namespace {

TEST(StreamSource, PacingIsExact) {
  StreamSpec spec = base();
  spec.loadMicroPercent = 60'870'000;
  spec.to_tick = 1'000'000 * coreClock.ticksPerCycle;
  StreamSource source({&spec}, 0);
  int64_t frames = 0;
  Tick last = -1;
  while (source.nextStart() != kNever) {
    const Frame frame = source.pop();
    if (last >= 0) EXPECT_GE(frame.start - last, slotTicks(64));
    last = frame.start;
    frames++;
  }
  // One frame is due every 252 / 0.6087 ticks.
  EXPECT_EQ(frames, static_cast<int64_t>(125'000'000.0L * 0.6087L / 252.0L) + 1);
}

TEST(StreamSource, TwoStreamsShareTheLine) {
  StreamSpec small = base(), big = base();
  small.loadMicroPercent = big.loadMicroPercent = 50'000'000;
  big.id = 4;
  big.sizes = {1518};
  small.to_tick = big.to_tick = 300'000 * coreClock.ticksPerCycle;
  StreamSource source({&small, &big}, 0);
  Tick free = 0;
  while (source.nextStart() != kNever) {
    const Frame frame = source.pop();
    EXPECT_GE(frame.start, free);
    free = frame.start + slotTicks(frame.length());
  }
  EXPECT_NEAR(static_cast<double>(source.senders()[0].sent()) * 84 * 3, 150'000.0 * 125, 2000);
  EXPECT_NEAR(static_cast<double>(source.senders()[1].sent()) * 1538 * 3, 150'000.0 * 125, 10000);
}

}  // namespace
}  // namespace sallyport::sim
