// SPDX-License-Identifier: Apache-2.0
#include "model/esp_transform.h"

#include <algorithm>

#include "model/block_ciphers.h"
#include "model/bytes.h"
#include "model/chacha_poly.h"
#include "model/ghash.h"
#include "model/hashes.h"

namespace sallyport::model {
namespace {

using Tag = std::array<uint8_t, 32>;
constexpr uint32_t kLengthMask = 0x3fff;  // lengths have 14 bits
constexpr uint8_t kNoNextHeader = 59;

// What an AEAD suite covers beside the text: SPI and sequence number (RFC 4106 5, RFC 7634 2.1).
struct Aad {
  std::array<uint8_t, 12> bytes;
  size_t length;

  Aad(const Job& job, const uint8_t* packet) : length(job.esn ? 12 : 8) {
    std::memcpy(bytes.data(), packet, 4);
    if (job.esn) storeBig32(&bytes[4], static_cast<uint32_t>(job.sequence >> 32));
    std::memcpy(&bytes[length - 4], packet + 4, 4);
  }
};

struct Nonce {
  std::array<uint8_t, 12> bytes;

  Nonce(const Job& job, const uint8_t* packet) {
    std::copy(job.salt.begin(), job.salt.end(), bytes.begin());
    std::memcpy(&bytes[4], packet + 8, 8);
  }
};

// Blocks of key stream: the nonce and a counter, `first` and on, through the cipher.
const uint8_t* keyStream(const Job& job, const Nonce& nonce, uint32_t first, size_t blocks) {
  thread_local std::vector<uint8_t> stream;
  stream.resize(16 * blocks);
  for (size_t i = 0; i < blocks; i++) {
    std::copy(nonce.bytes.begin(), nonce.bytes.end(), &stream[16 * i]);
    storeBig32(&stream[16 * i + 12], static_cast<uint32_t>(first + i));
  }
  encryptBlocks(job.of(), job.key.data(), stream.data(), blocks, stream.data());
  return stream.data();
}

void mix(const uint8_t* a, const uint8_t* b, size_t length, uint8_t* out) {
  for (size_t i = 0; i < length; i++) out[i] = static_cast<uint8_t>(a[i] ^ b[i]);
}

void putBits(uint8_t* at, size_t bytes) { store64(at, __builtin_bswap64(static_cast<uint64_t>(bytes) * 8)); }

// GCM's (NIST SP 800-38D 7.1) or GMAC's (RFC 4543 3.3) tag but for E(K, J0), of a packet with
// its ciphertext.
std::array<uint8_t, 16> ghash(const Job& job, const uint8_t* packet, size_t text) {
  const Aad aad(job, packet);
  Ghash sum(job.auth.data());
  std::array<uint8_t, 16> lengths{};
  if (job.of().auth == Auth::kGmac) {
    thread_local std::vector<uint8_t> all;
    all.assign(aad.bytes.begin(), aad.bytes.begin() + static_cast<long>(aad.length));
    all.insert(all.end(), packet + 8, packet + 16 + text);
    sum.update(all.data(), all.size());
    putBits(&lengths[0], all.size());
  } else {
    sum.update(aad.bytes.data(), aad.length);
    sum.update(packet + 16, text);
    putBits(&lengths[0], aad.length);
    putBits(&lengths[8], text);
  }
  sum.update(lengths.data(), lengths.size());
  return sum.sum();
}

Tag hmacTag(const Job& job, const uint8_t* packet, size_t text) {
  thread_local std::vector<uint8_t> message;
  message.assign(packet, packet + job.of().headBytes() + text);
  if (job.esn) {
    message.resize(message.size() + 4);
    storeBig32(&message[message.size() - 4], static_cast<uint32_t>(job.sequence >> 32));
  }
  return hmac(job.of().auth, job.auth.data(), message.data(), message.size());
}

size_t blocksOf(size_t bytes) { return (bytes + 15) / 16; }

// Text in the clear behind the packet's head becomes ciphertext; gives the ICV.
Tag encrypt(const Job& job, uint8_t* packet, size_t text) {
  const Suite& suite = job.of();
  uint8_t* const at = packet + suite.headBytes();
  const Nonce nonce(job, packet);
  if (suite.auth == Auth::kPoly1305) {
    const Aad aad(job, packet);
    const auto made = sealChaChaPoly(job.key.data(), nonce.bytes.data(), aad.bytes.data(), aad.length, at, text, at);
    Tag tag{};
    std::copy(made.begin(), made.end(), tag.begin());
    return tag;
  }
  if (suite.fast()) {
    const bool gmac = suite.auth == Auth::kGmac;
    const uint8_t* stream = keyStream(job, nonce, 1, gmac ? 1 : 1 + blocksOf(text));
    if (!gmac) mix(at, stream + 16, text, at);
    const auto sum = ghash(job, packet, text);
    Tag tag{};
    mix(sum.data(), stream, 16, tag.data());
    return tag;
  }
  if (suite.cbc) {
    // The IV is the encrypted counter (NIST SP 800-38A appendix C): the first block of a chain that
    // begins with zeros.
    std::memset(packet + 16, 0, 8);
    encryptChained(suite, job.key.data(), packet + 8, 1 + text / 16, packet + 8);
  } else if (suite.cipher != Cipher::kNone) {
    mix(at, keyStream(job, nonce, 1, blocksOf(text)), text, at);
  }
  return hmacTag(job, packet, text);
}

// Whether the ICV is right; `out` gets the text then.
bool decrypt(const Job& job, const uint8_t* packet, size_t text, uint8_t* out) {
  const Suite& suite = job.of();
  const uint8_t* const at = packet + suite.headBytes();
  const uint8_t* const icv = at + text;
  const Nonce nonce(job, packet);
  if (suite.auth == Auth::kPoly1305) {
    const Aad aad(job, packet);
    return openChaChaPoly(job.key.data(), nonce.bytes.data(), aad.bytes.data(), aad.length, at, text, icv, out);
  }
  if (suite.fast()) {
    const bool gmac = suite.auth == Auth::kGmac;
    const uint8_t* stream = keyStream(job, nonce, 1, gmac ? 1 : 1 + blocksOf(text));
    std::array<uint8_t, 16> tag;
    mix(ghash(job, packet, text).data(), stream, 16, tag.data());
    if (std::memcmp(tag.data(), icv, 16) != 0) return false;
    if (gmac)
      std::memcpy(out, at, text);
    else
      mix(at, stream + 16, text, out);
    return true;
  }
  if (std::memcmp(hmacTag(job, packet, text).data(), icv, suite.icvBytes(job.icv)) != 0) return false;
  if (suite.cbc) {
    decryptBlocks(suite, job.key.data(), at, text / 16, out);
    mix(out, at - 16, text, out);
  } else if (suite.cipher == Cipher::kNone) {
    std::memcpy(out, at, text);
  } else {
    mix(at, keyStream(job, nonce, 1, blocksOf(text)), text, out);
  }
  return true;
}

}  // namespace

uint32_t textOf(const Job& job, size_t payloadBytes) {
  const uint32_t to = job.of().padTo;
  return (static_cast<uint32_t>(payloadBytes) + 2 + to - 1) / to * to;
}

uint32_t textWithin(const Job& job, size_t packetBytes) {
  return (static_cast<uint32_t>(packetBytes) - job.of().headBytes() - job.of().icvBytes(job.icv)) & kLengthMask;
}

bool isLength(const Job& job, size_t packetBytes) {
  const Suite& suite = job.of();
  const size_t overhead = suite.headBytes() + suite.icvBytes(job.icv);
  return packetBytes >= overhead + suite.padTo && (packetBytes - overhead) % suite.padTo == 0;
}

void seal(const Job& job, const std::vector<uint8_t>& payload, std::vector<uint8_t>& packet) {
  const size_t head = job.of().headBytes(), text = textOf(job, payload.size()), icv = job.of().icvBytes(job.icv);
  packet.resize(head + text + icv);
  storeBig32(&packet[0], job.spi);
  storeBig32(&packet[4], static_cast<uint32_t>(job.sequence));
  store64(&packet[8], __builtin_bswap64(job.iv));
  // RFC 4303 2.4.
  std::copy(payload.begin(), payload.end(), packet.begin() + static_cast<long>(head));
  const size_t pad = text - 2 - payload.size();
  for (size_t i = 0; i < pad; i++) packet[head + payload.size() + i] = static_cast<uint8_t>(i + 1);
  packet[head + text - 2] = static_cast<uint8_t>(pad);
  packet[head + text - 1] = job.nextHeader;
  const Tag tag = encrypt(job, packet.data(), text);
  std::copy_n(tag.begin(), icv, packet.begin() + static_cast<long>(head + text));
}

Opened open(const Job& job, const std::vector<uint8_t>& packet, std::vector<uint8_t>& payload) {
  const size_t text = textWithin(job, packet.size());
  payload.resize(text);
  if (!decrypt(job, packet.data(), text, payload.data())) return {Verdict::kBadIcv, 0};
  const size_t most = text - 2, pad = payload[text - 2];
  const uint8_t nextHeader = payload[text - 1];
  if (pad > most) return {Verdict::kTruncated, 0};
  for (size_t i = 0; i < pad; i++)
    if (payload[most - pad + i] != i + 1) return {Verdict::kBadPadding, 0};
  if (nextHeader == kNoNextHeader || pad == most) return {Verdict::kDummy, 0};
  payload.resize(most - pad);
  return {Verdict::kOk, nextHeader};
}

}  // namespace sallyport::model
