// SPDX-License-Identifier: Apache-2.0
// The tester's packets: Ethernet, IPv4 or IPv6, UDP, a signature, and a payload that follows from
// stream and sequence number.
//
// Signature, 16 bytes, big-endian: magic "SLPY", stream (2), sequence number (4), time of the
// frame's first bit (6, in ticks).
#pragma once

#include <cstdint>
#include <vector>

#include "tester/stream_spec.h"

namespace sallyport::sim {

inline constexpr int kMinStreamFrame = 64;
// Headers, signature and FCS over IPv6 (RFC 5180, 5.1.1, has 78 bytes without ports).
inline constexpr int kMinStreamFrameV6 = 82;
inline constexpr int kMaxStreamFrame = 16384;

// Fills `out` with the frame without FCS; its length is spec.sizeOf(sequence) - 4.
void buildPacket(const StreamSpec& spec, uint32_t sequence, Tick firstBit, std::vector<uint8_t>& out);

struct Signature {
  uint16_t stream = 0;
  uint32_t sequence = 0;
  Tick firstBit = 0;
};

// True if the frame carries a signature; says nothing yet about the rest of it.
bool readSignature(const std::vector<uint8_t>& frame, Signature& signature);

// True if the frame is the one of buildPacket, except for fields that routers may change. These are
// MAC addresses, TOS or traffic class, TTL or hop limit, and the IPv4 checksum (which must be
// right). Minimum-size padding may follow. A frame of a bridged stream must be equal in every byte.
bool isIntact(const StreamSpec& spec, const Signature& signature, const std::vector<uint8_t>& frame);

struct EspPacket {
  uint32_t spi = 0, sequence = 0;
};

// True if the frame is ESP over IPv4, or IPv6 without extension headers, bare or in UDP port 4500.
bool readEsp(const std::vector<uint8_t>& frame, EspPacket& esp);

// RFC 1071, over big-endian 16-bit words; not yet complemented.
uint32_t sum16(const uint8_t* data, size_t bytes, uint32_t sum = 0);
uint16_t fold16(uint32_t sum);

}  // namespace sallyport::sim
