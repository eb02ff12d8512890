// ChaCha20's block function and Poly1305 by the block (RFC 8439).
#include <algorithm>
#include <array>

#include "bytes.h"
#include "pipes.h"

namespace sallyport::model {
namespace {

void quarterRound(std::array<uint32_t, 16>& x, int a, int b, int c, int d) {
  x[d] = rotateLeft(x[d] ^ (x[a] += x[b]), 16);
  x[b] = rotateLeft(x[b] ^ (x[c] += x[d]), 12);
  x[d] = rotateLeft(x[d] ^ (x[a] += x[b]), 8);
  x[b] = rotateLeft(x[b] ^ (x[c] += x[d]), 7);
}

// A number below 2^192, the lowest word first.
using Number = std::array<uint64_t, 3>;

Number add(const Number& a, const Number& b) {
  Number sum;
  unsigned __int128 carry = 0;
  for (int i = 0; i < 3; i++) {
    carry += static_cast<unsigned __int128>(a[i]) + b[i];
    sum[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  return sum;
}

// Below 2^130 + 2^66, and congruent modulo 2^130 - 5: what is above bit 129 counts five times at the bottom.
Number fold(const Number& x) {
  const uint64_t over = x[2] >> 2;
  const auto times5 = static_cast<unsigned __int128>(over) * 5;
  return add({x[0], x[1], x[2] & 3}, {static_cast<uint64_t>(times5), static_cast<uint64_t>(times5 >> 64), 0});
}

// Below 2^130 - 5.
Number reduce(Number x) {
  x = fold(fold(x));
  const Number more = add(x, {5, 0, 0});
  return more[2] >> 2 ? Number{more[0], more[1], more[2] & 3} : x;
}

// a below 2^131 times b below 2^124, modulo 2^130 - 5 but not below it.
Number multiply(const Number& a, const Number& b) {
  using Wide = unsigned __int128;
  std::array<uint64_t, 5> product{};
  for (int i = 0; i < 3; i++) {
    Wide carry = 0;
    for (int j = 0; j < 2; j++) {
      carry += static_cast<Wide>(a[i]) * b[j] + product[i + j];
      product[i + j] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
    product[i + 2] = static_cast<uint64_t>(carry);
  }
  // What is above bit 129, four times and once.
  const Number low{product[0], product[1], product[2] & 3};
  const Number four{product[2] & ~uint64_t{3}, product[3], product[4]};
  const Number once{product[2] >> 2 | product[3] << 62, product[3] >> 2 | product[4] << 62, product[4] >> 2};
  return fold(add(add(low, four), once));
}

}  // namespace
}  // namespace sallyport::model

using namespace sallyport::model;

void sallyport_ChaChaPipe(const uint32_t* key, const uint32_t* nonce, const uint32_t* counter, uint32_t* result) {
  std::array<uint32_t, 16> start{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  std::copy_n(key, 8, &start[4]);
  start[12] = *counter;
  std::copy_n(nonce, 3, &start[13]);
  std::array<uint32_t, 16> x = start;
  for (int i = 0; i < 10; i++) {
    for (int j = 0; j < 4; j++) quarterRound(x, j, 4 + j, 8 + j, 12 + j);
    for (int j = 0; j < 4; j++) quarterRound(x, j, 4 + (j + 1) % 4, 8 + (j + 2) % 4, 12 + (j + 3) % 4);
  }
  for (int i = 0; i < 16; i++) result[i] = x[i] + start[i];
}

void sallyport_Poly1305Pipe(const uint32_t* acc, const uint32_t* r, const uint32_t* s, const uint32_t* data,
                            const uint32_t* blocks, uint32_t* result) {
  const Number clamped{load64(r) & 0x0ffffffc0fffffff, load64(r + 2) & 0x0ffffffc0ffffffc, 0};
  Number x{load64(acc), load64(acc + 2), acc[4]};
  for (uint32_t i = 0; i < *blocks && i < 4; i++)
    x = reduce(multiply(add(x, {load64(data + 4 * i), load64(data + 4 * i + 2), 1}), clamped));
  x = reduce(x);
  const Number tag = add(x, {load64(s), load64(s + 2), 0});
  store64(result, tag[0]);
  store64(result + 2, tag[1]);
  // The accumulator begins behind the tag's 128 bits and has 130.
  store64(result + 4, x[0]);
  store64(result + 6, x[1]);
  result[8] = static_cast<uint32_t>(x[2]);
}
