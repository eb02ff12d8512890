// SPDX-License-Identifier: Apache-2.0
// Computes the bytes that come out of a lane from the packet that went in. It models no time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/suite_list.h"

namespace sallyport::model {

// The fields beside a packet (LaneJob): byte strings with byte 0 first, numbers as numbers.
struct Job {
  uint8_t suite;
  uint8_t icv;
  bool esn;
  // Encrypt: for the trailer.
  uint8_t nextHeader;
  std::array<uint8_t, 32> key;
  std::array<uint8_t, 64> auth;
  std::array<uint8_t, 4> salt;
  uint64_t sequence;
  uint64_t iv;
  uint32_t spi;
  // Metadata: the length, and words that pass unchanged.
  uint16_t length;
  std::array<uint32_t, 4> passed;

  const Suite& of() const { return kSuites[suite % kSuites.size()]; }
};

// As Verdict of LanePorts.scala.
enum class Verdict : uint8_t { kOk, kBadIcv, kBadPadding, kTruncated, kDummy, kZeroized };

// Bytes of the text: payload, padding and trailer (RFC 4303 2.4). textOf: for a payload of so many
// bytes (encrypt). textWithin: in an ESP packet of so many bytes (decrypt). isLength: whether an
// ESP packet of the suite can have that length.
uint32_t textOf(const Job& job, size_t payloadBytes);
uint32_t textWithin(const Job& job, size_t packetBytes);
bool isLength(const Job& job, size_t packetBytes);

// The ESP packet from its SPI to its ICV for a payload.
void seal(const Job& job, const std::vector<uint8_t>& payload, std::vector<uint8_t>& packet);

struct Opened {
  Verdict verdict;
  uint8_t nextHeader;
};
// The payload of an ESP packet with a possible length (isLength). If the verdict is not kOk, do not
// use `payload`.
Opened open(const Job& job, const std::vector<uint8_t>& packet, std::vector<uint8_t>& payload);

}  // namespace sallyport::model
