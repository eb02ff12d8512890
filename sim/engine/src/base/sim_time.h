// SPDX-License-Identifier: Apache-2.0
// Units of simulated time. Every unit is an exact integer. A cycle is one period of the 300 MHz
// core clock, and a tick is 1/125 of it. So one byte at 100 Gb/s (80 ps) takes exactly three ticks.
#pragma once

#include <cstdint>

namespace sallyport::sim {

using Cycle = int64_t;
using Tick = int64_t;

inline constexpr int64_t kCoreHz = 300'000'000;
inline constexpr Tick kTicksPerCycle = 125;
inline constexpr Tick kTicksPerByte = 3;
static_assert(kCoreHz * kTicksPerCycle * 8 == 100'000'000'000 * kTicksPerByte, "three ticks are a byte at 100 Gb/s");

// Ethernet (IEEE 802.3) around a frame, in bytes.
inline constexpr int kPreambleBytes = 8;
inline constexpr int kFcsBytes = 4;
inline constexpr int kGapBytes = 12;
inline constexpr int kSlotOverhead = kPreambleBytes + kGapBytes;
inline constexpr int kMinFrameBytes = 64;

// Latency of the parts outside the cores, in cycles: the MAC of a shell (120 ns out, 180 ns in),
// and Aurora with its clock crossings (54 user clocks, 137 ns).
inline constexpr Cycle kMacTxLatency = 36;
inline constexpr Cycle kMacRxLatency = 54;
inline constexpr Cycle kLinkLatency = 41;

// Chips advance this many cycles between exchanges of tokens: never more than the shortest way from
// one chip to another.
inline constexpr Cycle kLookahead = 32;
static_assert(kLookahead <= kLinkLatency, "a link word must not be due before the exchange that carries it");
static_assert(kLookahead <= kMacTxLatency + kMacRxLatency,
              "a frame must not be due before the exchange that carries it");

// 1 tick = 2/75 ns.
inline constexpr double ticksToNs(Tick ticks) { return static_cast<double>(ticks) * 2.0 / 75.0; }
inline constexpr int64_t ticksToWholeNs(Tick ticks) { return ticks * 2 / 75; }
inline constexpr Tick nsToTicks(int64_t ns) { return ns * 75 / 2; }
inline constexpr Cycle nanosecondsToCycles(int64_t ns) { return (ns * 3 + 9) / 10; }  // rounded up
inline constexpr Cycle microsecondsToCycles(double us) { return static_cast<Cycle>(us * 300.0 + 0.5); }

// Ticks the line is taken by a frame of this many bytes, FCS included.
inline constexpr Tick slotTicks(int64_t frameBytes) { return (frameBytes + kSlotOverhead) * kTicksPerByte; }

}  // namespace sallyport::sim
