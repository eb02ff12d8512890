// SPDX-License-Identifier: Apache-2.0
// The MAC's slots of line: frame rates of IEEE 802.3 at 100 Gb/s (docs/reference/simulator.md).
#include <gtest/gtest.h>

#include "base/chip_fault.h"
#include "test/wire/endless.h"
#include "wire/mac_model.h"

namespace sallyport::sim {
namespace {

class Keep : public FrameSink {
 public:
  void receive(Frame frame, int64_t) override { frames.push_back(std::move(frame)); }
  std::vector<Frame> frames;
};

TEST(Mac, LineRateIsThatOfEthernet) {
  // Frame size and Mpps: 100e9 / (8 * (size + 20)), as RFC 2544 appendix B scaled to 100 Gb/s.
  const std::pair<int64_t, double> rates[] = {{64, 148.81}, {65, 147.06}, {69, 140.45}, {512, 23.496}, {1518, 8.1274}};
  for (const auto& [size, mpps] : rates) {
    Endless source(size);
    MacReceiver mac(&source);
    const Cycle cycles = 300'000;  // 1 ms
    int64_t frames = 0, beats = 0;
    for (Cycle now = 0; now < cycles; now++) {
      const MacBeat* beat = mac.cycle(now, [](const Frame&) {});
      if (!beat) continue;
      beats++;
      frames += beat->last;
    }
    EXPECT_NEAR(static_cast<double>(frames) / 1000, mpps, mpps * 5e-4) << size;
    EXPECT_NEAR(static_cast<double>(beats) / frames, (size - 4 + 63) / 64, 0.01) << size;
  }
}

TEST(Mac, ReceiveLatencyCountsFromTheFcs) {
  Endless source(64);
  MacReceiver mac(&source);
  Cycle first = 0;
  while (!mac.cycle(first, [](const Frame&) {})) first++;
  // 8 + 64 bytes are 216 ticks: within the second cycle, so beat 0 is due 2 + 54 cycles after
  // the start.
  EXPECT_EQ(first, 2 + coreClock.macRxLatency);
}

TEST(Mac, BadFcsIsMarkedOnTheLastBeatAlone) {
  struct Once : FrameSource {
    bool sent = false;
    Tick nextStart() override { return sent ? kNever : 0; }
    Frame pop() override {
      sent = true;
      return {std::vector<uint8_t>(130, 7), true, 0};
    }
  } source;
  MacReceiver mac(&source);
  std::vector<MacBeat> beats;
  for (Cycle now = 0; now < 200; now++)
    if (const MacBeat* beat = mac.cycle(now, [](const Frame&) {})) beats.push_back(*beat);
  ASSERT_EQ(beats.size(), 3u);
  EXPECT_FALSE(beats[0].error || beats[1].error || beats[0].last || beats[1].last);
  EXPECT_TRUE(beats[2].error && beats[2].last);
  EXPECT_EQ(beats[2].bytes, 2);
  EXPECT_EQ(beats[2].data.unit[0], 0x0707u);
  EXPECT_EQ(beats[2].data.unit[7], 0u);
}

MacBeat beatOf(int bytes, bool last) {
  MacBeat beat;
  beat.bytes = static_cast<uint8_t>(bytes);
  beat.last = last;
  return beat;
}

TEST(Mac, TransmitsAtLineRateAndHoldsTheCoreBack) {
  Keep sink;
  MacTransmitter mac(&sink, "test");
  const Cycle cycles = 300'000;
  for (Cycle now = 0; now < cycles; now++)
    if (mac.ready(now)) mac.push(beatOf(60, true), now, 0);
  int64_t onLine = 0;
  for (size_t i = 0; i < sink.frames.size(); i++) {
    if (i) EXPECT_GE(sink.frames[i].start - sink.frames[i - 1].start, slotTicks(64));
    onLine += sink.frames[i].start < cycles * coreClock.ticksPerCycle;
  }
  EXPECT_NEAR(static_cast<double>(onLine) / 1000, 148.81, 0.08);
}

TEST(Mac, WaitsForTheWholeFrameAndPadsIt) {
  Keep sink;
  MacTransmitter mac(&sink, "test");
  ASSERT_TRUE(mac.ready(0));
  EXPECT_EQ(mac.push(beatOf(64, false), 0, 0), nullptr);
  EXPECT_TRUE(sink.frames.empty());
  EXPECT_NE(mac.push(beatOf(1, true), 100, 0), nullptr);
  ASSERT_EQ(sink.frames.size(), 1u);
  EXPECT_EQ(sink.frames[0].start, (101 + coreClock.macTxLatency) * coreClock.ticksPerCycle);
  EXPECT_EQ(sink.frames[0].length(), 69);
  mac.push(beatOf(20, true), 200, 0);
  EXPECT_EQ(sink.frames[1].length(), 64);
}

TEST(Mac, RefusesBrokenBeats) {
  Keep sink;
  MacTransmitter mac(&sink, "test");
  EXPECT_THROW(mac.push(beatOf(63, false), 0, 0), ChipFault);
  EXPECT_THROW(mac.push(beatOf(0, true), 0, 0), ChipFault);
}

}  // namespace
}  // namespace sallyport::sim
