// SPDX-License-Identifier: Apache-2.0
// Payloads that say of themselves which packet they are from: each eight bytes hold the packet's
// number, their place in it, and a check that chance does not make.
#pragma once

#include <optional>

#include "fuzz/link/frame.h"

namespace sallyport::fuzz {

struct Place {
  uint32_t packet = 0;
  unsigned word = 0;
};

// Eight bytes of a packet; the last ones of a payload may be fewer.
uint64_t numberedWord(Place place);
Bytes numbered(uint32_t packet, size_t length);
std::optional<Place> placeAt(const uint8_t* eight);

}  // namespace sallyport::fuzz
