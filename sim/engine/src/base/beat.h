// SPDX-License-Identifier: Apache-2.0
// A beat of 512 bits at a port of a chip. MacBeat carries a frame; Word alone carries a link.
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
  // Of an injected frame.
  bool encrypt = false;
};

}  // namespace sallyport::sim
