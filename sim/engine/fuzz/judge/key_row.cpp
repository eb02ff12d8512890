// SPDX-License-Identifier: Apache-2.0
#include "fuzz/judge/key_row.h"

#include <cstring>

#include "fuzz/judge/watch.h"
#include "model/block_ciphers.h"
#include "model/bytes.h"

namespace sallyport::fuzz {
namespace {

constexpr unsigned kSpi = 800, kIvMask = 832, kWindow = 832, kEsn = 1009, kIcv = 1010;
constexpr uint8_t kDummy = 59;

// x^i H in GF(2^128) as GCM orders bits; here bit by bit, apart from the model's multiplication.
std::array<uint8_t, 16> multiply(const std::array<uint8_t, 16>& a, std::array<uint8_t, 16> b) {
  std::array<uint8_t, 16> sum{};
  for (unsigned bit = 0; bit < 128; bit++) {
    if (a[bit / 8] >> (7 - bit % 8) & 1)
      for (unsigned i = 0; i < 16; i++) sum[i] ^= b[i];
    const bool carry = b[15] & 1;
    for (unsigned i = 15; i > 0; i--) b[i] = static_cast<uint8_t>(b[i] >> 1 | b[i - 1] << 7);
    b[0] = static_cast<uint8_t>(b[0] >> 1 ^ (carry ? 0xe1 : 0));
  }
  return sum;
}

uint8_t* bytesOf(Row& row) { return reinterpret_cast<uint8_t*>(row.data()); }
const uint8_t* bytesOf(const Row& row) { return reinterpret_cast<const uint8_t*>(row.data()); }

}  // namespace

Row keyRow(sim::Random& random, sim::Random& secrets, bool marked, bool inbound, uint32_t spi, bool transport) {
  const uint8_t number = kUsedSuites[random.below(kUsedSuites.size())];
  const model::Suite& suite = model::kSuites[number];
  Row row{};
  Bytes key(suite.keyBytes);
  for (auto& byte : key) byte = static_cast<uint8_t>(secrets.next());
  if (marked) mark(key, kKeyMark);
  std::memcpy(bytesOf(row), key.data(), key.size());
  if (suite.fast()) {
    std::array<uint8_t, 16> h{}, power;
    model::encryptBlocks(suite, key.data(), h.data(), 1, h.data());
    power = h;
    for (unsigned i = 0; i < 4; i++) {
      std::memcpy(bytesOf(row) + 32 + 16 * i, power.data(), 16);
      power = multiply(power, h);
    }
  } else if (suite.hmac()) {
    Bytes states(64);
    for (auto& byte : states) byte = static_cast<uint8_t>(secrets.next());
    if (marked) mark(states, kKeyMark);
    std::memcpy(bytesOf(row) + 32, states.data(), states.size());
  }
  row[24] = static_cast<uint32_t>(secrets.next());
  put(row, kSpi, 32, spi);
  put(row, kValidLsb, 1, 1);
  put(row, kIcv, 2, random.below(3));
  put(row, kTransportLsb, 1, transport);
  put(row, kSuiteLsb, 8, number);
  if (inbound) {
    put(row, kWindow, 16, 64u << random.below(7));
  } else {
    put(row, kIvMask, 64, random.next());
    put(row, kEsn, 1, random.below(2));
  }
  return row;
}

Bytes unmarkedSecrets(const Row& row) { return {bytesOf(row) + 32, bytesOf(row) + 96}; }

model::Job jobOf(const Row& row, uint64_t sequence, bool outbound) {
  model::Job job{};
  job.suite = static_cast<uint8_t>(field(row, kSuiteLsb, 8));
  job.icv = static_cast<uint8_t>(field(row, kIcv, 2));
  job.esn = field(row, kEsn, 1);
  std::memcpy(job.key.data(), bytesOf(row), 32);
  std::memcpy(job.auth.data(), bytesOf(row) + 32, 64);
  std::memcpy(job.salt.data(), bytesOf(row) + 96, 4);
  job.spi = static_cast<uint32_t>(field(row, kSpi, 32));
  job.sequence = sequence;
  job.iv = outbound ? sequence ^ field(row, kIvMask, 64) : sequence;
  return job;
}

std::optional<Opened> openWith(const Row& row, const Bytes& packet, const std::vector<uint32_t>& high) {
  model::Job job = jobOf(row, 0, true);
  if (!usable(row) || job.suite >= model::kSuites.size() || !model::isLength(job, packet.size())) return {};
  if (model::loadBig32(&packet[0]) != job.spi) return {};
  const uint32_t low = model::loadBig32(&packet[4]);
  for (const uint32_t half : high) {
    job = jobOf(row, uint64_t{half} << 32 | low, true);
    if (model::loadBig32(&packet[8]) != job.iv >> 32 || model::loadBig32(&packet[12]) != static_cast<uint32_t>(job.iv))
      continue;
    Opened opened{{}, 0, job.sequence};
    const model::Opened result = model::open(job, packet, opened.payload);
    opened.nextHeader = result.nextHeader;
    if (result.verdict == model::Verdict::kOk) return opened;
    if (result.verdict != model::Verdict::kDummy) continue;
    // The next header 59, as the inner chip asked.
    const size_t text = opened.payload.size();
    opened.nextHeader = kDummy;
    opened.payload.resize(text - 2 - opened.payload[text - 2]);
    return opened;
  }
  return {};
}

}  // namespace sallyport::fuzz
