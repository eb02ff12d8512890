// SPDX-License-Identifier: Apache-2.0
// What a hostile network, a captured crypto chip and a hostile CPU send to an interface chip.
#include "fuzz/drive/interface_fuzz.h"

namespace sallyport::fuzz {
namespace {

constexpr Mac kBox{0x02, 0, 0, 0, 0, 0x01};
constexpr size_t kShortest = 60, kLongest = 9596;
constexpr uint16_t kIpv4 = 0x0800, kIpv6 = 0x86dd, kArp = 0x0806;
constexpr unsigned kSaMask = 1023;

}  // namespace

// Mostly a multiple of 4, as of ESP.
size_t InterfaceFuzz::anyLength() {
  if (random_.chance(0.6)) return 40 + 4 * random_.below(50);
  switch (random_.below(8)) {
    case 0:
      return 1 + random_.below(64);
    case 1:
      return 64 * (1 + random_.below(4)) + random_.below(3) - 1;
    case 2:
      return random_.chance(0.1) ? 9300 + random_.below(300) : 1 + random_.below(2000);
    default:
      return 40 + random_.below(200);
  }
}

Ip InterfaceFuzz::anyIp() {
  Ip header;
  header.v6 = random_.chance(0.3);
  header.df = random_.chance(0.3);
  header.tos = static_cast<uint8_t>(random_.chance(0.5) ? 0 : random_.next());
  header.ttl = static_cast<uint8_t>(random_.chance(0.9) ? 64 : random_.below(3));
  static constexpr std::array<uint8_t, 8> kProtocols{17, 17, 17, 6, 1, 58, 50, 89};
  header.protocol = kProtocols[random_.below(kProtocols.size())];
  header.identification = static_cast<uint16_t>(judge_.last() + 1);
  header.source += static_cast<uint32_t>(random_.below(4));
  header.destination += static_cast<uint32_t>(random_.below(4));
  if (random_.chance(0.05)) header.source = static_cast<uint32_t>(random_.next());
  if (random_.chance(0.05)) header.destination = static_cast<uint32_t>(random_.next());
  return header;
}

Bytes InterfaceFuzz::frame(const Ip& header, const Bytes& packet) {
  Bytes bytes = ethernet(kBox, {}, header.v6 ? kIpv6 : kIpv4, packet);
  if (bytes.size() < kShortest) bytes.resize(kShortest);
  return bytes;
}

void InterfaceFuzz::anyFrame() {
  const Ip header = anyIp();
  const auto sa = static_cast<unsigned>(random_.below(kSas));
  const size_t length = anyLength();
  const Bytes payload = judge_.give(Entry::mac, length);
  packetsIn_++;
  if (random_.chance(0.1) && length >= 32) {
    auto parts = fragments(header, udp(7, static_cast<uint16_t>(sa), payload), 8 * (1 + random_.below(length / 8)));
    if (random_.chance(0.3)) std::swap(parts[0], parts[1]);
    for (const Bytes& part : parts)
      if (random_.chance(0.9)) port_.receive(frame(header, part), false);
    return;
  }
  Bytes bytes;
  switch (random_.below(12)) {
    case 0: {
      const std::vector<uint16_t> vlans(1 + random_.below(3), 5);
      bytes = ethernet(kBox, vlans, header.v6 ? kIpv6 : kIpv4, fromPort(sa, header, payload));
      break;
    }
    case 1: {
      static constexpr std::array<uint16_t, 4> kPorts{500, 4500, 67, 179};
      bytes = ethernet(kBox, {}, header.v6 ? kIpv6 : kIpv4, ip(header, udp(kPorts[random_.below(4)], 500, payload)));
      break;
    }
    case 2: {
      const Mac to = random_.chance(0.5) ? Mac{255, 255, 255, 255, 255, 255} : kBox;
      const uint16_t type = random_.chance(0.5) ? kArp : static_cast<uint16_t>(random_.next());
      bytes = ethernet(to, {}, type, payload);
      break;
    }
    default:
      bytes = ethernet(kBox, {}, header.v6 ? kIpv6 : kIpv4,
                       random_.chance(0.8) ? fromPort(sa, header, payload) : ip(header, payload));
      break;
  }
  // Headers alone: the judge knows the payload.
  if (random_.chance(0.1))
    for (uint64_t flips = 1 + random_.below(3); flips > 0; flips--)
      bytes[random_.below(bytes.size() - length)] ^= static_cast<uint8_t>(1u << random_.below(8));
  if (bytes.size() < kShortest && random_.chance(0.8)) bytes.resize(kShortest);
  const bool badFcs = random_.chance(0.03);
  if (badFcs || bytes.size() < kShortest || bytes.size() > kLongest) judge_.mustNotLeave(judge_.last());
  port_.receive(std::move(bytes), badFcs);
}

void InterfaceFuzz::anyPacket() {
  const Ip header = anyIp();
  const auto sa = static_cast<unsigned>(random_.below(kSas));
  Packet packet;
  packet.header.sa = static_cast<uint16_t>(random_.chance(0.05) ? random_.next() & kSaMask : sa);
  packet.header.tos = static_cast<uint8_t>(random_.next());
  packet.header.df = random_.chance(0.5);
  packet.header.nextHeader = static_cast<uint8_t>(random_.chance(0.1) ? random_.next() : header.v6 ? 41 : 4);
  packet.header.bypass = random_.chance(0.1);
  packet.header.transport = random_.chance(0.05);
  packet.header.moved = random_.chance(0.02);
  packet.header.peerTag = packet.header.moved ? static_cast<uint8_t>(random_.next()) : 0;
  const Bytes payload = judge_.give(Entry::link, std::min<size_t>(anyLength(), 9400));
  packet.payload = random_.chance(0.9) ? fromLink(header, payload) : payload;
  if (packet.header.transport && random_.chance(0.5)) {
    packet.header.tos = 5;
    packet.payload = ethernet(kBox, {}, kIpv4, ip(header, payload));
  }
  if (packet.header.bypass) packet.payload = ip(header, payload);
  packet.payload.resize(std::min<size_t>(packet.payload.size(), kMaxBytes));
  // Most go on, some repeat or jump.
  uint64_t& number = number_[sa];
  switch (random_.below(12)) {
    case 0:
      packet.sequence = number - std::min<uint64_t>(number, random_.below(80));
      break;
    case 1:
      packet.sequence = number += random_.below(5000);
      break;
    case 2:
      packet.sequence = random_.chance(0.02) ? number = random_.next() : number;
      break;
    default:
      packet.sequence = ++number;
      break;
  }
  packet.given = judge_.last();
  link_.sender.push(std::move(packet));
}

void InterfaceFuzz::anyInjected() {
  const Bytes payload = judge_.give(Entry::inject, anyLength());
  Bytes bytes = ethernet(kBox, {}, static_cast<uint16_t>(random_.next()), payload);
  const bool error = random_.chance(0.1);
  // A frame by policy leaves by no port, and one without an IP packet not at all.
  const bool encrypt = random_.chance(0.2);
  if (error || encrypt || bytes.size() > kLongest) judge_.mustNotLeave(judge_.last());
  port_.inject(std::move(bytes), error, encrypt);
}

}  // namespace sallyport::fuzz
