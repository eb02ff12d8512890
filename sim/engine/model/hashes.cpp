// The compression functions: libcrypto's of SHA-1 and SHA-256, one of our own of SM3.
#define OPENSSL_SUPPRESS_DEPRECATED  // nothing else gives a single compression
#include <openssl/sha.h>

#include <array>

#include "bytes.h"
#include "pipes.h"

namespace sallyport::model {
namespace {

template <size_t N>
std::array<uint32_t, N> bigWords(const uint32_t* bytes) {
  std::array<uint32_t, N> words;
  for (size_t i = 0; i < N; i++) words[i] = __builtin_bswap32(bytes[i]);
  return words;
}

// What the pipe gives of a shorter state has zeros above it.
template <size_t N>
void putBigWords(const std::array<uint32_t, N>& words, uint32_t* result) {
  for (size_t i = 0; i < 8; i++) result[i] = i < N ? __builtin_bswap32(words[i]) : 0;
}

uint32_t p0(uint32_t x) { return x ^ rotateLeft(x, 9) ^ rotateLeft(x, 17); }
uint32_t p1(uint32_t x) { return x ^ rotateLeft(x, 15) ^ rotateLeft(x, 23); }

// GB/T 32905-2016 5.3.
std::array<uint32_t, 8> sm3(const std::array<uint32_t, 8>& state, const std::array<uint32_t, 16>& block) {
  std::array<uint32_t, 68> w;
  for (int j = 0; j < 16; j++) w[j] = block[j];
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
  return {state[0] ^ a, state[1] ^ b, state[2] ^ c, state[3] ^ d,
          state[4] ^ e, state[5] ^ f, state[6] ^ g, state[7] ^ h};
}

}  // namespace
}  // namespace sallyport::model

using namespace sallyport::model;

void sallyport_Sha1Pipe(const uint32_t* state, const uint32_t* block, uint32_t* result) {
  const auto in = bigWords<5>(state);
  SHA_CTX context{};
  context.h0 = in[0], context.h1 = in[1], context.h2 = in[2], context.h3 = in[3], context.h4 = in[4];
  SHA1_Transform(&context, reinterpret_cast<const uint8_t*>(block));
  putBigWords(std::array<uint32_t, 5>{context.h0, context.h1, context.h2, context.h3, context.h4}, result);
}

void sallyport_Sha256Pipe(const uint32_t* state, const uint32_t* block, uint32_t* result) {
  const auto in = bigWords<8>(state);
  SHA256_CTX context{};
  std::memcpy(context.h, in.data(), sizeof in);
  SHA256_Transform(&context, reinterpret_cast<const uint8_t*>(block));
  std::array<uint32_t, 8> out;
  std::memcpy(out.data(), context.h, sizeof out);
  putBigWords(out, result);
}

void sallyport_Sm3Pipe(const uint32_t* state, const uint32_t* block, uint32_t* result) {
  putBigWords(sm3(bigWords<8>(state), bigWords<16>(block)), result);
}
