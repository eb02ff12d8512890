// SPDX-License-Identifier: Apache-2.0
// A memory of a chip, so that a fault may flip one of its bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sallyport::sim {

struct ChipMemory {
  std::string name;  // "paths.encrypt.flows.ways_memory.banks_0.memory"
  int64_t rows = 0;
  int bits = 0;
  uint8_t* data = nullptr;
  size_t stride = 0;  // bytes from a row to the next; bit 0 of a row is bit 0 of its first byte

  bool holds(int64_t row) const {
    const uint8_t* first = data + static_cast<size_t>(row) * stride;
    return std::any_of(first, first + stride, [](uint8_t byte) { return byte != 0; });
  }
  // Between the chip's edges. `row` and `bit` are of this memory.
  void flip(int64_t row, int bit) const {
    data[static_cast<size_t>(row) * stride + static_cast<size_t>(bit) / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
};

}  // namespace sallyport::sim
