// Multiplication in GCM's field, of polynomials whose coefficient i is bit i (Gf128.scala).
#include "bytes.h"
#include "pipes.h"

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

}  // namespace
}  // namespace sallyport::model

using namespace sallyport::model;

void sallyport_GhashMultiply(const uint32_t* a, const uint32_t* b, uint32_t* result) {
  const uint64_t a0 = load64(a), a1 = load64(a + 2), b0 = load64(b), b1 = load64(b + 2);
  const Product low = multiply64(a0, b0), high = multiply64(a1, b1), both = multiply64(a0 ^ a1, b0 ^ b1);
  const uint64_t x0 = low.low;
  const uint64_t x1 = low.high ^ both.low ^ low.low ^ high.low;
  const uint64_t x2 = high.low ^ both.high ^ low.high ^ high.high;
  const uint64_t x3 = high.high;
  // x^128 = x^7 + x^2 + x + 1: what is above bit 127 comes down at four places, and what that lifts above it once more.
  const uint64_t over = x3 >> 63 ^ x3 >> 62 ^ x3 >> 57;
  const uint64_t again = over ^ over << 1 ^ over << 2 ^ over << 7;
  store64(result, x0 ^ x2 ^ x2 << 1 ^ x2 << 2 ^ x2 << 7 ^ again);
  store64(result + 2, x1 ^ x3 ^ (x3 << 1 | x2 >> 63) ^ (x3 << 2 | x2 >> 62) ^ (x3 << 7 | x2 >> 57));
}
