// The suites of a lane, by their numbers (Suite.scala), and the time that their ciphers and hashes take.
#pragma once

#include <array>
#include <cstdint>

namespace sallyport::model {

enum class Cipher : uint8_t { kNone, kAes, kSm4, kChaCha20 };
enum class Auth : uint8_t { kGhash, kGmac, kPoly1305, kSha256, kSha1, kSm3 };

struct Suite {
  Cipher cipher;
  uint8_t keyBytes;
  bool cbc;
  Auth auth;

  constexpr bool fast() const { return auth == Auth::kGhash || auth == Auth::kGmac; }
  constexpr bool hmac() const { return auth >= Auth::kSha256; }
  // Bytes in front of the text: SPI, sequence number, IV.
  constexpr uint32_t headBytes() const { return cbc ? 24 : cipher == Cipher::kNone ? 8 : 16; }
  constexpr uint32_t padTo() const { return cbc ? 16 : 4; }
  // Bytes of the ICV; `icv` is the key row's, which counts with SM3 alone.
  constexpr uint32_t icvBytes(uint32_t icv) const {
    if (auth == Auth::kSm3) return icv == 0 ? 12 : icv == 1 ? 16 : 32;
    return auth == Auth::kSha1 ? 12 : 16;
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

inline constexpr std::array<Suite, 16> kSuites{{
    {Cipher::kNone, 0, false, Auth::kGhash},
    {Cipher::kAes, 16, false, Auth::kGhash},
    {Cipher::kAes, 32, false, Auth::kGhash},
    {Cipher::kAes, 16, false, Auth::kSha256},
    {Cipher::kAes, 32, false, Auth::kSha256},
    {Cipher::kAes, 16, true, Auth::kSha256},
    {Cipher::kAes, 32, true, Auth::kSha256},
    {Cipher::kAes, 32, true, Auth::kSha1},
    {Cipher::kNone, 0, false, Auth::kSha256},
    {Cipher::kAes, 32, false, Auth::kGmac},
    {Cipher::kChaCha20, 32, false, Auth::kPoly1305},
    {Cipher::kSm4, 16, false, Auth::kGhash},
    {Cipher::kSm4, 16, true, Auth::kSm3},
    {Cipher::kSm4, 16, false, Auth::kSm3},
    {Cipher::kAes, 24, false, Auth::kGhash},
}};

}  // namespace sallyport::model
