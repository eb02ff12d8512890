// SPDX-License-Identifier: Apache-2.0
#include "fuzz/link/frame.h"

#include <array>
#include <cstring>

namespace sallyport::fuzz {
namespace {

// IEEE 802.3's, reflected, from the state before to the state behind.
uint32_t crc32(uint32_t state, const void* data, size_t length) {
  static const auto table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < 256; i++) {
      made[i] = i;
      for (int bit = 0; bit < 8; bit++) made[i] = made[i] >> 1 ^ (made[i] & 1 ? 0xedb88320u : 0);
    }
    return made;
  }();
  const auto* bytes = static_cast<const uint8_t*>(data);
  for (size_t i = 0; i < length; i++) state = state >> 8 ^ table[(state ^ bytes[i]) & 255];
  return state;
}

uint32_t crcOf(const Units& frame, unsigned head) {
  static constexpr std::array<uint8_t, 64> zeros{};
  uint32_t state = ~0u;
  if (const size_t payload = 8 * (frame.size() - head); payload > 0) {
    state = crc32(state, frame.data() + head, payload);
    state = crc32(state, zeros.data(), 64 * beatsOf(payload) - payload);
  }
  if (head > 2) state = crc32(state, frame.data() + 2, 8);
  return ~crc32(state, frame.data(), 12);
}

void finish(Units& frame, unsigned head) {
  frame[0] = (frame[0] & ~uint64_t{0xf0}) | uint64_t{checkOf(frame[0])} << 4;
  frame[1] = (frame[1] & 0xffffffffu) | uint64_t{crcOf(frame, head)} << 32;
}

}  // namespace

uint8_t checkOf(uint64_t firstUnit) {
  const uint64_t covered = (firstUnit & 15) | firstUnit >> 8 << 4;
  unsigned state = 0;
  for (int i = 0; i < 60; i++) {
    const unsigned feedback = (state ^ static_cast<unsigned>(covered >> i)) & 1;
    state = state >> 1 ^ (feedback ? 0xc : 0);
  }
  return static_cast<uint8_t>(state);
}

Units seal(uint64_t first, uint64_t second) {
  Units frame{first, second};
  finish(frame, 2);
  return frame;
}

Units encode(const Header& h, const Bytes& payload, std::optional<uint64_t> sequence) {
  const unsigned head = sequence ? 3 : 2;
  Units frame(head + unitsOf(payload.size()));
  frame[0] = h.type | uint64_t{h.bypass} << 8 | uint64_t{h.transport} << 9 | uint64_t{h.moved} << 10 |
             uint64_t{h.df} << 11 | uint64_t{h.locked} << 12 | uint64_t{h.fresh} << 13 |
             uint64_t{h.length & 0x3fffu} << 14 | uint64_t{h.sa} << 28 | uint64_t{h.tos} << 44 |
             uint64_t{h.sent & kBeatMask} << 52;
  frame[1] =
      h.nextHeader | uint64_t{h.peerTag} << 8 | uint64_t{h.freed & kBeatMask} << 16 | uint64_t{h.reserved & 15u} << 28;
  if (sequence) frame[2] = *sequence;
  if (!payload.empty()) std::memcpy(frame.data() + head, payload.data(), payload.size());
  finish(frame, head);
  return frame;
}

Units encode(const Resync& r) {
  return seal(
      r.type | uint64_t{r.sent & kBeatMask} << 8 | uint64_t{r.epoch & kBeatMask} << 20 | uint64_t{r.nonce} << 32,
      r.packets);
}

Header headerOf(uint64_t first, uint64_t second) {
  Header h;
  h.type = typeOf(first);
  h.bypass = first >> 8 & 1;
  h.transport = first >> 9 & 1;
  h.moved = first >> 10 & 1;
  h.df = first >> 11 & 1;
  h.locked = first >> 12 & 1;
  h.fresh = first >> 13 & 1;
  h.length = first >> 14 & 0x3fff;
  h.sa = static_cast<uint16_t>(first >> 28);
  h.tos = static_cast<uint8_t>(first >> 44);
  h.sent = first >> 52;
  h.nextHeader = static_cast<uint8_t>(second);
  h.peerTag = static_cast<uint8_t>(second >> 8);
  h.freed = second >> 16 & kBeatMask;
  h.reserved = second >> 28 & 15;
  return h;
}

Resync resyncOf(uint64_t first, uint64_t second) {
  return {typeOf(first), static_cast<uint16_t>(first >> 8 & kBeatMask), static_cast<uint16_t>(first >> 20 & kBeatMask),
          static_cast<uint32_t>(first >> 32), static_cast<uint32_t>(second)};
}

bool crcGood(const Units& frame, unsigned head) { return crcOf(frame, head) == frame[1] >> 32; }

}  // namespace sallyport::fuzz
