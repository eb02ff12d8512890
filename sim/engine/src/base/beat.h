// SPDX-License-Identifier: Apache-2.0
// A beat of 512 bits, as chips hand data over at their ports: of a frame with MacBeat, of a link
// with Word alone.
#pragma once

#include <array>
#include <cstdint>

namespace sallyport::sim {

// unit[0] holds bits 63:0.
struct Word {
  std::array<uint64_t, 8> unit{};
  bool operator==(const Word& other) const { return unit == other.unit; }
};

struct MacBeat {
  Word data;
  bool last = false;
  uint8_t bytes = 0;
  bool error = false;
};

}  // namespace sallyport::sim
