// SPDX-License-Identifier: Apache-2.0
// Bit i of a polynomial is its coefficient i. The sum has four chains, as in GhashSum.scala. So a
// key row with wrong powers of H gives the same wrong tag as the hardware.
#include "model/ghash.h"

#include <algorithm>

#include "model/bytes.h"

#if defined(__PCLMUL__)
#include <immintrin.h>
#endif

namespace sallyport::model {
namespace {

struct Product {
  uint64_t low, high;
};

// Without carries.
Product multiply64(uint64_t a, uint64_t b) {
#if defined(__PCLMUL__)
  const __m128i product =
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(a)), _mm_cvtsi64_si128(static_cast<int64_t>(b)), 0);
  return {static_cast<uint64_t>(_mm_cvtsi128_si64(product)), static_cast<uint64_t>(_mm_extract_epi64(product, 1))};
#else
  Product sum{0, 0};
  for (int i = 0; i < 64; i++) {
    const uint64_t mask = -(b >> i & 1);
    sum.low ^= a << i & mask;
    sum.high ^= (i ? a >> (64 - i) : 0) & mask;
  }
  return sum;
#endif
}

// The bits of each byte turned round: a block's first coefficient is the highest bit of its
// first byte.
uint64_t reflect(uint64_t x) {
  x = (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1;
  x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
  return (x >> 4 & 0x0f0f0f0f0f0f0f0f) | (x & 0x0f0f0f0f0f0f0f0f) << 4;
}

}  // namespace

Ghash::Polynomial Ghash::load(const uint8_t* block) { return {reflect(load64(block)), reflect(load64(block + 8))}; }

Ghash::Polynomial Ghash::multiply(const Polynomial& a, const Polynomial& b) {
  const Product low = multiply64(a.low, b.low), high = multiply64(a.high, b.high),
                both = multiply64(a.low ^ a.high, b.low ^ b.high);
  const uint64_t x0 = low.low;
  const uint64_t x1 = low.high ^ both.low ^ low.low ^ high.low;
  const uint64_t x2 = high.low ^ both.high ^ low.high ^ high.high;
  const uint64_t x3 = high.high;
  // x^128 = x^7 + x^2 + x + 1: each bit above 127 is added at four lower places. Bits that this
  // carries above 127 are added down once more.
  const uint64_t over = x3 >> 63 ^ x3 >> 62 ^ x3 >> 57;
  const uint64_t again = over ^ over << 1 ^ over << 2 ^ over << 7;
  return {x0 ^ x2 ^ x2 << 1 ^ x2 << 2 ^ x2 << 7 ^ again,
          x1 ^ x3 ^ (x3 << 1 | x2 >> 63) ^ (x3 << 2 | x2 >> 62) ^ (x3 << 7 | x2 >> 57)};
}

Ghash::Ghash(const uint8_t* powers) {
  for (size_t i = 0; i < 4; i++) powers_[i] = load(powers + 16 * i);
}

void Ghash::update(const uint8_t* bytes, size_t length) {
  for (size_t at = 0; at < length; at += 16) {
    Polynomial x;
    if (length - at >= 16) {
      x = load(bytes + at);
    } else {
      std::array<uint8_t, 16> rest{};
      std::memcpy(rest.data(), bytes + at, length - at);
      x = load(rest.data());
    }
    Polynomial& chain = chains_[blocks_ % 4];
    if (blocks_ >= 4) {
      const Polynomial y = multiply(chain, powers_[3]);
      x = {x.low ^ y.low, x.high ^ y.high};
    }
    chain = x;
    blocks_++;
  }
}

std::array<uint8_t, 16> Ghash::sum() const {
  Polynomial sum{0, 0};
  for (uint32_t left = 1; left <= std::min<uint32_t>(4, blocks_); left++) {
    const Polynomial y = multiply(chains_[(blocks_ - left) % 4], powers_[left - 1]);
    sum = {sum.low ^ y.low, sum.high ^ y.high};
  }
  std::array<uint8_t, 16> block;
  store64(block.data(), reflect(sum.low));
  store64(block.data() + 8, reflect(sum.high));
  return block;
}

}  // namespace sallyport::model
