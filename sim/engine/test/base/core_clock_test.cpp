// SPDX-License-Identifier: Apache-2.0
// Clocks of the cores other than 300 MHz: the wire keeps its rate, and times their nanoseconds.
#include <gtest/gtest.h>

#include "base/sim_time.h"
#include "test/wire/endless.h"
#include "wire/link_model.h"
#include "wire/mac_model.h"

namespace sallyport::sim {
namespace {

// The run's clock, until the end of a test.
class With {
 public:
  explicit With(CoreClock clock) : before_(coreClock) { coreClock = clock; }
  ~With() { coreClock = before_; }

 private:
  CoreClock before_;
};

TEST(CoreClock, IsTheNextOneOfWholeTicks) {
  const std::pair<double, Tick> clocks[] = {{300, 125},   {299.9, 126},         {297.6, 127},
                                            {297.7, 126}, {37500.0 / 151, 151}, {248.344371, 151},
                                            {250, 150},   {249.9, 151},         {150, 250}};
  for (const auto& [mhz, ticks] : clocks) {
    EXPECT_EQ(CoreClock::atMost(mhz).ticksPerCycle, ticks) << mhz;
    EXPECT_LE(CoreClock::atMost(mhz).mhz(), mhz + 1e-6);
  }
  EXPECT_EQ(CoreClock(125).khz(), 300'000u);
  EXPECT_EQ(CoreClock(150).khz(), 250'000u);
  EXPECT_EQ(CoreClock(140).khz(), 267'857u);
}

TEST(CoreClock, LatenciesAreTimes) {
  for (Tick ticks = CoreClock::kFastest; ticks <= CoreClock::kSlowest; ticks++) {
    const CoreClock clock(ticks);
    const std::pair<Cycle, double> latencies[] = {
        {clock.macTxLatency, 120}, {clock.macRxLatency, 180}, {clock.linkLatency, 5125 * 2.0 / 75}};
    for (const auto& [cycles, ns] : latencies) {
      EXPECT_GE(ticksToNs(cycles * ticks), ns - 1e-9);
      EXPECT_LT(ticksToNs((cycles - 1) * ticks), ns);
    }
    // No token is due before the exchange that carries it.
    EXPECT_LE(clock.lookahead, clock.linkLatency);
    EXPECT_LE(clock.lookahead, clock.macTxLatency + clock.macRxLatency);
  }
  EXPECT_EQ(CoreClock(125).lookahead, 32);
}

TEST(CoreClock, TimesBecomeCycles) {
  const With slow(CoreClock(150));
  EXPECT_EQ(microsecondsToCycles(200), 50'000);
  EXPECT_EQ(cyclesToMicroseconds(50'000), 200);
  EXPECT_EQ(nanosecondsToCycles(4), 1);
  EXPECT_EQ(nanosecondsToCycles(5), 2);
}

TEST(CoreClock, TheWireKeepsItsRate) {
  const With slow(CoreClock(150));
  Endless source(kMinFrameBytes);
  MacReceiver mac(&source);
  int64_t frames = 0;
  for (Cycle now = 0; now < 250'000; now++) {  // 1 ms
    const MacBeat* beat = mac.cycle(now, [](const Frame&) {});
    frames += beat && beat->last;
  }
  EXPECT_NEAR(static_cast<double>(frames) / 1000, 148.81, 0.1);
}

TEST(CoreClock, TheLinkKeepsItsRate) {
  const With slow(CoreClock(150));
  LinkChannel channel;
  LinkTransmitter link(&channel, 0);
  const Word word{};
  for (Cycle now = 0; now < 250'000; now++) link.cycle(now, 0, link.ready() ? &word : nullptr);
  // 402.83203125 MHz, but for a clock in 33 and 8 in 4992: half a word each.
  EXPECT_NEAR(static_cast<double>(link.words()) / 1000, 402.83203125 / 2 * 32 / 33 * 4984 / 4992, 0.1);
}

// Below 201 MHz Aurora sends two words in some core cycles, and a core takes one in each.
TEST(CoreClock, EveryWordOfTheLinkArrives) {
  const With slow(CoreClock(250));
  LinkChannel channel;
  LinkTransmitter link(&channel, 0);
  LinkReceiver receiver(&channel);
  Word word{};
  int64_t arrived = 0;
  const Cycle cycles = 1000 * coreClock.lookahead;
  for (Cycle now = 0; now < cycles; now++) {
    const int64_t epoch = now / coreClock.lookahead;
    if (now % coreClock.lookahead == 0) receiver.beginEpoch(epoch);
    arrived += receiver.arrival(now) != nullptr;
    link.cycle(now, epoch, link.ready() ? &word : nullptr);
  }
  EXPECT_GT(arrived, cycles * 9 / 10);
  EXPECT_LE(link.words() - arrived, 2 * coreClock.linkLatency);
}

}  // namespace
}  // namespace sallyport::sim
