// SPDX-License-Identifier: Apache-2.0
// Lanes of ideal ciphers, in the place of src/model/esp_transform.cpp: ciphertext, ICV and verdict
// depend on suite, SPI, sequence number, IV and length alone, never on a key or on the text. For
// packets of the chip's self-test it takes that file's ciphers, or no lane would stay in service.
#include "model/esp_transform.h"

#define seal sealByCipher
#define open openByCipher
#include "model/esp_transform.cpp"
#undef seal
#undef open

#include "base/random.h"
#include "fuzz/ideal/self_test.h"

namespace sallyport::model {
namespace {

uint64_t stream(const Job& job, const uint8_t* packet) {
  return sim::mix64(load64(packet) ^ sim::mix64(load64(packet + 8) ^ sim::mix64(job.suite + (job.sequence >> 32))));
}

void fill(uint64_t from, uint8_t* at, size_t length) {
  for (size_t i = 0; i < length; i++) at[i] = static_cast<uint8_t>(sim::mix64(from + i / 8) >> 8 * (i % 8));
}

bool isOfTest(const Job& job) { return job.spi == self_test::kSpi && job.sequence == self_test::kSequence; }

}  // namespace

void seal(const Job& job, const std::vector<uint8_t>& payload, std::vector<uint8_t>& packet) {
  if (isOfTest(job)) return sealByCipher(job, payload, packet);
  packet.resize(job.of().headBytes() + textOf(job, payload.size()) + job.of().icvBytes(job.icv));
  storeBig32(&packet[0], job.spi);
  storeBig32(&packet[4], static_cast<uint32_t>(job.sequence));
  store64(&packet[8], __builtin_bswap64(job.iv));
  fill(stream(job, packet.data()), &packet[16], packet.size() - 16);
}

Opened open(const Job& job, const std::vector<uint8_t>& packet, std::vector<uint8_t>& payload) {
  if (isOfTest(job)) return openByCipher(job, packet, payload);
  std::vector<uint8_t> whole(packet.begin(), packet.begin() + 16);
  whole.resize(packet.size());
  fill(stream(job, whole.data()), &whole[16], whole.size() - 16);
  payload.resize(textWithin(job, packet.size()) - 2);
  if (payload.empty()) return {Verdict::kDummy, 0};
  fill(~stream(job, whole.data()), payload.data(), payload.size());
  return {whole == packet ? Verdict::kOk : Verdict::kBadIcv, 4};
}

}  // namespace sallyport::model
