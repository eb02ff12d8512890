// SPDX-License-Identifier: Apache-2.0
#include "fuzz/judge/row.h"

#include <algorithm>

namespace sallyport::fuzz {

uint64_t field(const Row& row, unsigned lsb, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width; i++) value |= uint64_t{row[(lsb + i) / 32] >> (lsb + i) % 32 & 1} << i;
  return value;
}

void put(Row& row, unsigned lsb, unsigned width, uint64_t value) {
  for (unsigned i = 0; i < width; i++) {
    uint32_t& word = row[(lsb + i) / 32];
    const uint32_t bit = 1u << (lsb + i) % 32;
    word = value >> i & 1 ? word | bit : word & ~bit;
  }
}

void put(Row& row, Field field, uint64_t value) {
  put(row, field.lsb, std::min(field.width, 64u), value);
  for (unsigned i = 64; i < field.width; i++) put(row, field.lsb + i, 1, 0);
}

}  // namespace sallyport::fuzz
