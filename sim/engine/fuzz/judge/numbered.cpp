// SPDX-License-Identifier: Apache-2.0
#include "fuzz/judge/numbered.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"

namespace sallyport::fuzz {
namespace {
constexpr unsigned kPacketBits = 27, kWordBits = 11, kPlaceBits = kPacketBits + kWordBits;
constexpr uint64_t kKey = 0x5a11'9077'f0e1'd2c3;
}  // namespace

uint64_t numberedWord(Place place) {
  const uint64_t low = uint64_t{place.word} << kPacketBits | place.packet;
  return low | sim::mix64(low ^ kKey) >> kPlaceBits << kPlaceBits;
}

Bytes numbered(uint32_t packet, size_t length) {
  Bytes bytes(length);
  for (size_t i = 0; i < length; i += 8) {
    const uint64_t word = numberedWord({packet, static_cast<unsigned>(i / 8)});
    std::memcpy(&bytes[i], &word, std::min<size_t>(8, length - i));
  }
  return bytes;
}

std::optional<Place> placeAt(const uint8_t* eight) {
  uint64_t word;
  std::memcpy(&word, eight, 8);
  const Place place{static_cast<uint32_t>(word & ((1u << kPacketBits) - 1)),
                    static_cast<unsigned>(word >> kPacketBits & ((1u << kWordBits) - 1))};
  if (numberedWord(place) != word) return {};
  return place;
}

}  // namespace sallyport::fuzz
