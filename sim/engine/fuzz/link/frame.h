// SPDX-License-Identifier: Apache-2.0
// Frames of a link between two chips (docs/reference/link.md), as their far end writes and
// reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sallyport::fuzz {

using Bytes = std::vector<uint8_t>;
using Units = std::vector<uint64_t>;

enum FrameType : uint8_t { kIdle, kPacket, kCredit, kRequest, kResync, kMessage };

inline constexpr unsigned kMaxBytes = 9600;
// `sent` and `freed` count modulo this.
inline constexpr unsigned kBeatMask = 4095;

// The header of a packet or of a credit.
struct Header {
  uint8_t type = kPacket;
  bool bypass = false, transport = false, moved = false, df = false, locked = false, fresh = false;
  uint16_t length = 0, sa = 0, sent = 0, freed = 0;
  uint8_t tos = 0, nextHeader = 0, peerTag = 0, reserved = 0;
};

// The header of a request or of a resync.
struct Resync {
  uint8_t type = kRequest;
  uint16_t sent = 0, epoch = 0;
  uint32_t nonce = 0, packets = 0;
};

inline unsigned beatsOf(size_t bytes) { return static_cast<unsigned>((bytes + 63) / 64); }
inline unsigned unitsOf(size_t bytes) { return static_cast<unsigned>((bytes + 7) / 8); }

// CRC-4-ITU of a first unit, and whether it holds it.
uint8_t checkOf(uint64_t firstUnit);
inline bool isHeader(uint64_t firstUnit) { return checkOf(firstUnit) == (firstUnit >> 4 & 15); }
inline uint8_t typeOf(uint64_t firstUnit) { return firstUnit & 15; }

// Units of a whole frame with check and CRC; `sequence` stands between header and payload.
Units encode(const Header& header, const Bytes& payload, std::optional<uint64_t> sequence = {});
Units encode(const Resync& resync);
// Any two units, made a header that stands alone by its check and its CRC.
Units seal(uint64_t first, uint64_t second);

Header headerOf(uint64_t first, uint64_t second);
Resync resyncOf(uint64_t first, uint64_t second);
// Whether the CRC of a frame is right; `head` are the units before the payload.
bool crcGood(const Units& frame, unsigned head);

}  // namespace sallyport::fuzz
