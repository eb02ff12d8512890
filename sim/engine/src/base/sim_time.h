// SPDX-License-Identifier: Apache-2.0
// Units of simulated time. A tick is 1/37.5 GHz, so one byte at 100 Gb/s (80 ps) takes exactly
// three. A cycle is one period of the core clock, a whole number of ticks: 125 at 300 MHz.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sallyport::sim {

using Cycle = int64_t;
using Tick = int64_t;
using Femtoseconds = int64_t;

inline constexpr int64_t kTicksPerSecond = 37'500'000'000;
inline constexpr Tick kTicksPerByte = 3;
static_assert(kTicksPerSecond * 8 == 100'000'000'000 * kTicksPerByte, "three ticks are a byte at 100 Gb/s");

// Ethernet (IEEE 802.3) around a frame, in bytes.
inline constexpr int kPreambleBytes = 8;
inline constexpr int kFcsBytes = 4;
inline constexpr int kGapBytes = 12;
inline constexpr int kSlotOverhead = kPreambleBytes + kGapBytes;
inline constexpr int kMinFrameBytes = 64;

// The clock of all cores, and the times that depend on it, in cycles.
class CoreClock {
 public:
  static constexpr Tick kFastest = 125, kSlowest = 250;  // 300 and 150 MHz

  constexpr explicit CoreClock(Tick ticks) : ticksPerCycle(ticks) {}

  // The fastest clock that is no faster than `mhz`.
  static CoreClock atMost(double mhz) {
    // A clock of whole ticks that was rounded is the same one.
    const double ticks = static_cast<double>(kTicksPerSecond) / (mhz * 1e6);
    return CoreClock(static_cast<Tick>(std::ceil(ticks - 1e-6)));
  }

  double hz() const { return static_cast<double>(kTicksPerSecond) / static_cast<double>(ticksPerCycle); }
  double mhz() const { return hz() / 1e6; }
  uint32_t khz() const { return static_cast<uint32_t>(hz() / 1e3 + 0.5); }
  Femtoseconds period() const { return ticksPerCycle * 80'000 / 3; }

  Tick ticksPerCycle;

  // Parts outside the cores: the MAC of a shell (120 ns out, 180 ns in), and Aurora with its clock
  // crossings (54 user clocks, 137 ns).
  Cycle macTxLatency = wholeCycles(4500), macRxLatency = wholeCycles(6750), linkLatency = wholeCycles(5125);

  // Chips advance this many cycles between exchanges of tokens: never more than the shortest way
  // from one chip to another, so that no link word or frame is due before its exchange.
  Cycle lookahead = std::min<Cycle>({32, linkLatency, macTxLatency + macRxLatency});

 private:
  constexpr Cycle wholeCycles(Tick ticks) const { return (ticks + ticksPerCycle - 1) / ticksPerCycle; }
};

// Of the run: a program sets it before it makes the first chip.
inline CoreClock coreClock{125};

// 1 tick = 2/75 ns.
inline constexpr double ticksToNs(Tick ticks) { return static_cast<double>(ticks) * 2.0 / 75.0; }
inline constexpr int64_t ticksToWholeNs(Tick ticks) { return ticks * 2 / 75; }
inline constexpr Tick nsToTicks(int64_t ns) { return ns * 75 / 2; }
// Rounded up.
inline Cycle nanosecondsToCycles(int64_t ns) {
  return (ns * 75 + 2 * coreClock.ticksPerCycle - 1) / (2 * coreClock.ticksPerCycle);
}
inline Cycle microsecondsToCycles(double us) { return static_cast<Cycle>(us * coreClock.mhz() + 0.5); }
inline double cyclesToMicroseconds(Cycle cycles) { return static_cast<double>(cycles) / coreClock.mhz(); }

// Ticks the line is taken by a frame of this many bytes, FCS included.
inline constexpr Tick slotTicks(int64_t frameBytes) { return (frameBytes + kSlotOverhead) * kTicksPerByte; }

}  // namespace sallyport::sim
