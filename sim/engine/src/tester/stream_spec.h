// SPDX-License-Identifier: Apache-2.0
// A stream of test frames: its ports, sizes, flows and load.
//
// Size, flow and payload of frame n follow from the specification and n alone, so that a receiver
// can check each byte without being told.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/frame.h"
#include "wire/pcap_reader.h"
#include "world/port_name.h"

namespace sallyport::sim {

// An address of either IP version, as it stands in a header.
struct IpAddress {
  bool v6 = false;
  std::array<uint8_t, 16> bytes{};  // the first 4 of an IPv4 address

  static IpAddress v4(uint32_t value);
  int size() const { return v6 ? 16 : 4; }
  // Its last 32 bits plus `step`, modulo 2^32.
  IpAddress plus(uint32_t step) const;
};

// Flow i of n: each field is its base plus i times its step.
struct FlowSpec {
  uint32_t count = 1;
  bool random = false;
  IpAddress srcIp = IpAddress::v4(0x0A000001), dstIp = IpAddress::v4(0x0A010001);  // of one version
  uint32_t srcIpStep = 0, dstIpStep = 0;
  uint16_t srcPort = 1024, dstPort = 5000, srcPortStep = 1, dstPortStep = 0;
};

struct StreamSpec {
  // What the receiving side does with it: read signatures, pair ESP packets with sent frames by
  // their order, or count frames.
  enum class Expect { kSignature, kEsp, kCount };

  uint16_t id = 0;
  PortName from, to;
  Expect expect = Expect::kSignature;
  // Intended load: 1e6 is 1 % of line rate.
  int64_t loadMicroPercent = 100'000'000;
  // Frame sizes with FCS, repeated in this order.
  std::vector<uint16_t> sizes{64};
  FlowSpec flow;
  std::array<uint8_t, 6> srcMac{0x02, 0, 0, 0, 0, 1}, dstMac{0x02, 0, 0, 0, 0, 2};
  uint8_t tos = 0, ttl = 64;
  bool dontFragment = false;
  // Only bridges are on the way: frames must arrive as they were sent, byte for byte.
  bool bridged = false;
  uint64_t seed = 1;
  // Sent in this order and over again instead of made frames. With kSignature, frame n of the file
  // carries frame n of this stream inside, as a box encrypted it in an earlier run.
  std::vector<CapturedFrame> capture;
  // Every n-th frame has a bad FCS (and is not counted as sent); 0: none.
  int64_t badFcsEvery = 0;
  // Relative to the beginning of the trial; `frames` < 0 means no limit.
  Tick from_tick = 0, to_tick = kNever;
  int64_t frames = -1;

  bool isV6() const { return flow.srcIp.v6; }
  uint16_t sizeOf(uint32_t sequence) const { return sizes[sequence % sizes.size()]; }
  // Bytes with FCS of frame n as it is sent.
  int64_t sentLength(size_t n) const {
    if (capture.empty()) return sizeOf(static_cast<uint32_t>(n));
    return static_cast<int64_t>(capture[n % capture.size()].bytes.size()) + kFcsBytes;
  }
  uint32_t flowOf(uint32_t sequence) const;
};

// Sizes in a repeated order in which each appears as often as its weight says, spread evenly
// (smooth weighted round robin).
std::vector<uint16_t> spreadSizes(const std::vector<std::pair<uint16_t, uint32_t>>& weighted);

}  // namespace sallyport::sim
