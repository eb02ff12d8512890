// SPDX-License-Identifier: Apache-2.0
// The payload of a packet in a lane: what comes out of it, from what came in. It knows nothing of time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/suite_list.h"

namespace sallyport::model {

// What comes with a packet (LaneJob): byte strings with byte 0 first, numbers as numbers.
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
  // Metadata: the length, and what goes through as it is.
  uint16_t length;
  std::array<uint32_t, 4> passed;

  const Suite& of() const { return kSuites[suite % kSuites.size()]; }
};

// As Verdict of LanePorts.scala.
enum class Verdict : uint8_t { kOk, kBadIcv, kBadPadding, kTruncated, kDummy, kZeroized };

// Bytes of the text, which is payload, padding and trailer (RFC 4303 2.4): encrypt, of a payload of so many bytes;
// decrypt, of an ESP packet of so many, unless none of the suite has that length.
uint32_t textOf(const Job& job, size_t payloadBytes);
uint32_t textWithin(const Job& job, size_t packetBytes);
bool isLength(const Job& job, size_t packetBytes);

// The ESP packet from its SPI to its ICV for a payload.
void seal(const Job& job, const std::vector<uint8_t>& payload, std::vector<uint8_t>& packet);

struct Opened {
  Verdict verdict;
  uint8_t nextHeader;
};
// The payload of an ESP packet whose length is one (isLength). If the verdict is not kOk, `payload` is of no meaning.
Opened open(const Job& job, const std::vector<uint8_t>& packet, std::vector<uint8_t>& payload);

}  // namespace sallyport::model
