// SPDX-License-Identifier: Apache-2.0
// Operands and results of the models as byte strings and words.
//
// Verilator hands a vector over as 32-bit words, the lowest first; byte 0 of a block or key is in
// bits 7:0 (Chisel side: LaneModel). On a little-endian machine that is the byte string itself, and
// no other kind of machine runs this.
#pragma once

#include <cstdint>
#include <cstring>

namespace sallyport::model {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "vectors are taken for byte strings");

inline uint32_t load32(const void* bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}
inline uint64_t load64(const void* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}
inline void store32(void* bytes, uint32_t word) { std::memcpy(bytes, &word, sizeof word); }
inline void store64(void* bytes, uint64_t word) { std::memcpy(bytes, &word, sizeof word); }

inline uint32_t loadBig32(const void* bytes) { return __builtin_bswap32(load32(bytes)); }
inline void storeBig32(void* bytes, uint32_t word) { store32(bytes, __builtin_bswap32(word)); }

inline uint32_t rotateLeft(uint32_t word, int by) { return word << by | word >> (32 - by); }

}  // namespace sallyport::model
