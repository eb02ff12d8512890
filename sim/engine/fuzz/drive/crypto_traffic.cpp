// SPDX-License-Identifier: Apache-2.0
// Packets for a fuzzed crypto chip.
#include <algorithm>

#include "fuzz/drive/crypto_fuzz.h"

namespace sallyport::fuzz {
namespace {

constexpr unsigned kTransportPrefix = 34;
// With ESP around it, the packet is no longer than 9582 bytes.
constexpr unsigned kLongest = 9400;

size_t someLength(sim::Random& random) {
  switch (random.below(8)) {
    case 0:
      return 1 + random.below(64);
    case 1:
      return 64 * (1 + random.below(4)) + random.below(3) - 1;
    case 2:
      return 1 + random.below(2000);
    case 3:
      return random.chance(0.1) ? 9500 + random.below(101) : 1400;
    default:
      return 40 + random.below(200);
  }
}

}  // namespace

Row CryptoFuzz::newRow(bool inbound, bool transport) {
  const auto spi = static_cast<uint32_t>(random_.next());
  return keyRow(random_, paired_ ? secrets_ : random_, !paired_, inbound, spi, transport);
}

Bytes CryptoFuzz::redText(size_t length) {
  if (!paired_) return text(kRedMark, length);
  Bytes bytes(length);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(secrets_.next());
  // A receiver whose framing a captured chip has misled takes plaintext for headers, and reads
  // their type. This one is none, so that the time at which it notices is no secret.
  for (size_t i = 0; i < length; i += 8) bytes[i] |= 15;
  // A false length cuts bytes off, and the CRC stays right if these are zeros.
  bytes.back() |= 1;
  return bytes;
}

Bytes CryptoFuzz::text(Mark with, size_t length) {
  Bytes bytes(length);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random_.next());
  mark(bytes, with);
  return bytes;
}

void CryptoFuzz::pushRed(bool hostile) {
  const unsigned sa = static_cast<unsigned>(random_.below(kSas));
  Packet packet;
  packet.header.sa = static_cast<uint16_t>(hostile && random_.chance(0.05) ? random_.next() : sa);
  packet.header.tos = static_cast<uint8_t>(random_.next());
  packet.header.df = random_.chance(0.5);
  packet.header.nextHeader = static_cast<uint8_t>(paired_ ? secrets_.next() | 15 : hostile ? random_.next() : kIpv4);
  packet.header.bypass = hostile && random_.chance(0.1);
  packet.header.transport = inTransport(outbound_[sa]) != (hostile && random_.chance(0.05));
  packet.payload = redText(someLength(random_) + (packet.header.transport ? 64 : 0));
  if (packet.header.transport && !(hostile && random_.chance(0.1))) packet.header.tos = 5;
  packet.payload.resize(std::min<size_t>(packet.payload.size(), hostile ? kMaxBytes : kLongest));
  red_.sender.push(std::move(packet));
}

void CryptoFuzz::pushBlack(bool hostile) {
  const unsigned sa = static_cast<unsigned>(random_.below(kSas));
  Packet packet;
  packet.header.sa = static_cast<uint16_t>(sa);
  packet.header.transport = inTransport(inbound_[sa]) != (hostile && random_.chance(0.05));
  packet.header.tos =
      packet.header.transport && !(hostile && random_.chance(0.1)) ? 5 : static_cast<uint8_t>(random_.next());
  if (hostile && random_.chance(0.1)) {
    packet.header.bypass = true;
    packet.payload = text(0, someLength(random_));
  } else {
    const bool spoilt = hostile && random_.chance(0.4);
    const Bytes payload = text(spoilt ? kForgedMark : 0, std::min<size_t>(someLength(random_), 9000));
    model::Job job = jobOf(inbound_[sa], ++number_[sa], false);
    job.nextHeader = kIpv4;
    Bytes esp;
    model::seal(job, payload, esp);
    if (packet.header.transport) packet.payload = text(0, kTransportPrefix);
    packet.payload.insert(packet.payload.end(), esp.begin(), esp.end());
    if (spoilt)
      packet.payload[packet.payload.size() - 1 - random_.below(12)] ^= static_cast<uint8_t>(1u << random_.below(8));
    else
      judge_.sealed(sa, job.sequence, job.nextHeader, payload);
  }
  black_.sender.push(std::move(packet));
}

}  // namespace sallyport::fuzz
