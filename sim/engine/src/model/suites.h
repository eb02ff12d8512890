// SPDX-License-Identifier: Apache-2.0
// A suite as a lane knows it (Suite.scala), and the time that its cipher and hash take.
// suite_list.h has all of them.
#pragma once

#include <cstdint>

namespace sallyport::model {

enum class Cipher : uint8_t { kNone, kAes, kSm4, kChaCha20 };
enum class Auth : uint8_t { kGhash, kGmac, kPoly1305, kSha256, kSha1, kSm3 };

struct Suite {
  Cipher cipher = Cipher::kNone;
  uint8_t keyBytes = 0;
  bool cbc = false;
  Auth auth = Auth::kGhash;
  uint8_t ivBytes = 0;
  // Payload and trailer are padded to a multiple of this many bytes.
  uint8_t padTo = 4;
  // Bytes of the ICV; 0 where the key row says them.
  uint8_t fixedIcvBytes = 16;

  constexpr bool fast() const { return auth == Auth::kGhash || auth == Auth::kGmac; }
  constexpr bool hmac() const { return auth >= Auth::kSha256; }
  // Bytes in front of the text: SPI, sequence number, IV.
  constexpr uint32_t headBytes() const { return 8 + ivBytes; }
  // Bytes of the ICV; `icv` is the key row's.
  constexpr uint32_t icvBytes(uint32_t icv) const {
    if (fixedIcvBytes) return fixedIcvBytes;
    return icv == 0 ? 12 : icv == 1 ? 16 : 32;
  }
  // Cycles from a block's entry to its result; without a cipher as with AES (LaneCipher.latency).
  constexpr uint32_t cipherLatency() const {
    return cipher == Cipher::kSm4 ? 32 : cipher == Cipher::kChaCha20 ? 45 : 15;
  }
  // Cycles of the hash's pipe (HashEngine.latency).
  constexpr uint32_t hashLatency() const {
    return auth == Auth::kSha256 ? 69 : auth == Auth::kSha1 ? 86 : auth == Auth::kSm3 ? 135 : 40;
  }
};

}  // namespace sallyport::model
