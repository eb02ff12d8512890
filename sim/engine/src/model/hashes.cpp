// SPDX-License-Identifier: Apache-2.0
// Compression functions from a state: libcrypto's of SHA-1 and SHA-256, one of our own of SM3,
// whose state libcrypto keeps to itself.
#define OPENSSL_SUPPRESS_DEPRECATED  // nothing else goes on from a state
#include "model/hashes.h"

#include <openssl/sha.h>

#include "model/bytes.h"

namespace sallyport::model {
namespace {

using State = std::array<uint32_t, 8>;

void sha1(State& state, const uint8_t* block) {
  SHA_CTX context{};
  context.h0 = state[0], context.h1 = state[1], context.h2 = state[2], context.h3 = state[3], context.h4 = state[4];
  SHA1_Transform(&context, block);
  state = {context.h0, context.h1, context.h2, context.h3, context.h4, 0, 0, 0};
}

void sha256(State& state, const uint8_t* block) {
  SHA256_CTX context{};
  std::memcpy(context.h, state.data(), sizeof state);
  SHA256_Transform(&context, block);
  std::memcpy(state.data(), context.h, sizeof state);
}

uint32_t p0(uint32_t x) { return x ^ rotateLeft(x, 9) ^ rotateLeft(x, 17); }
uint32_t p1(uint32_t x) { return x ^ rotateLeft(x, 15) ^ rotateLeft(x, 23); }

// GB/T 32905-2016 5.3.
void sm3(State& state, const uint8_t* block) {
  std::array<uint32_t, 68> w;
  for (int j = 0; j < 16; j++) w[j] = loadBig32(block + 4 * j);
  for (int j = 16; j < 68; j++)
    w[j] = p1(w[j - 16] ^ w[j - 9] ^ rotateLeft(w[j - 3], 15)) ^ rotateLeft(w[j - 13], 7) ^ w[j - 6];
  auto [a, b, c, d, e, f, g, h] = state;
  uint32_t t = 0x79cc4519;
  for (int j = 0; j < 64; j++) {
    if (j == 16) t = rotateLeft(0x7a879d8a, 16);
    const uint32_t ss1 = rotateLeft(rotateLeft(a, 12) + e + t, 7);
    const uint32_t ff = j < 16 ? a ^ b ^ c : (a & b) | (a & c) | (b & c);
    const uint32_t gg = j < 16 ? e ^ f ^ g : (e & f) | (~e & g);
    const uint32_t tt1 = ff + d + (ss1 ^ rotateLeft(a, 12)) + (w[j] ^ w[j + 4]);
    const uint32_t tt2 = gg + h + ss1 + w[j];
    d = c;
    c = rotateLeft(b, 9);
    b = a;
    a = tt1;
    h = g;
    g = rotateLeft(f, 19);
    f = e;
    e = p0(tt2);
    t = rotateLeft(t, 1);
  }
  state = {state[0] ^ a, state[1] ^ b, state[2] ^ c, state[3] ^ d,
           state[4] ^ e, state[5] ^ f, state[6] ^ g, state[7] ^ h};
}

auto* compressionOf(Auth hash) { return hash == Auth::kSha1 ? sha1 : hash == Auth::kSha256 ? sha256 : sm3; }

State load(const uint8_t* digest) {
  State state;
  for (size_t i = 0; i < 8; i++) state[i] = loadBig32(digest + 4 * i);
  return state;
}

Digest store(const State& state) {
  Digest digest;
  for (size_t i = 0; i < 8; i++) storeBig32(&digest[4 * i], state[i]);
  return digest;
}

// A digest from a state that 64 bytes have led to, with the padding of FIPS 180-4 5.1.1, which GB/T
// 32905 shares.
Digest goOn(Auth hash, const uint8_t* from, const uint8_t* message, size_t length) {
  auto* const step = compressionOf(hash);
  State state = load(from);
  size_t at = 0;
  for (; at + 64 <= length; at += 64) step(state, message + at);
  std::array<uint8_t, 128> end{};
  const size_t rest = length - at, all = rest + 9 <= 64 ? 64 : 128;
  std::memcpy(end.data(), message + at, rest);
  end[rest] = 0x80;
  storeBig32(&end[all - 4], static_cast<uint32_t>((64 + length) * 8));
  for (at = 0; at < all; at += 64) step(state, &end[at]);
  return store(state);
}

}  // namespace

void compress(Auth hash, Digest& state, const uint8_t* block) {
  State words = load(state.data());
  compressionOf(hash)(words, block);
  state = store(words);
}

Digest hmac(Auth hash, const uint8_t* states, const uint8_t* message, size_t length) {
  const Digest inner = goOn(hash, states, message, length);
  return goOn(hash, states + 32, inner.data(), hash == Auth::kSha1 ? 20 : 32);
}

}  // namespace sallyport::model
