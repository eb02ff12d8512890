// SPDX-License-Identifier: Apache-2.0
// Lanes of ideal ciphers, in the place of src/model/esp_transform.cpp: ciphertext, ICV and verdict
// depend on suite, SPI, sequence number, IV and length alone, never on a key or on the text.
#include "model/esp_transform.h"

#include "base/random.h"
#include "model/bytes.h"

namespace sallyport::model {
namespace {

uint64_t stream(const Job& job, const uint8_t* packet) {
  return sim::mix64(load64(packet) ^ sim::mix64(load64(packet + 8) ^ sim::mix64(job.suite + (job.sequence >> 32))));
}

void fill(uint64_t from, uint8_t* at, size_t length) {
  for (size_t i = 0; i < length; i++) at[i] = static_cast<uint8_t>(sim::mix64(from + i / 8) >> 8 * (i % 8));
}

}  // namespace

uint32_t textOf(const Job& job, size_t payloadBytes) {
  const uint32_t to = job.of().padTo;
  return (static_cast<uint32_t>(payloadBytes) + 2 + to - 1) / to * to;
}

uint32_t textWithin(const Job& job, size_t packetBytes) {
  return (static_cast<uint32_t>(packetBytes) - job.of().headBytes() - job.of().icvBytes(job.icv)) & 0x3fff;
}

bool isLength(const Job& job, size_t packetBytes) {
  const size_t overhead = job.of().headBytes() + job.of().icvBytes(job.icv);
  return packetBytes >= overhead + job.of().padTo && (packetBytes - overhead) % job.of().padTo == 0;
}

void seal(const Job& job, const std::vector<uint8_t>& payload, std::vector<uint8_t>& packet) {
  packet.resize(job.of().headBytes() + textOf(job, payload.size()) + job.of().icvBytes(job.icv));
  storeBig32(&packet[0], job.spi);
  storeBig32(&packet[4], static_cast<uint32_t>(job.sequence));
  store64(&packet[8], __builtin_bswap64(job.iv));
  fill(stream(job, packet.data()), &packet[16], packet.size() - 16);
}

Opened open(const Job& job, const std::vector<uint8_t>& packet, std::vector<uint8_t>& payload) {
  std::vector<uint8_t> whole(packet.begin(), packet.begin() + 16);
  whole.resize(packet.size());
  fill(stream(job, whole.data()), &whole[16], whole.size() - 16);
  payload.resize(textWithin(job, packet.size()) - 2);
  if (payload.empty()) return {Verdict::kDummy, 0};
  fill(~stream(job, whole.data()), payload.data(), payload.size());
  return {whole == packet ? Verdict::kOk : Verdict::kBadIcv, 4};
}

}  // namespace sallyport::model
