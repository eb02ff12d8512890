// SPDX-License-Identifier: Apache-2.0
#include "fuzz/frames/packets.h"

namespace sallyport::fuzz {
namespace {

constexpr Mac kFrom{0x02, 0, 0, 0, 0, 0x77};
constexpr uint8_t kFragmentHeader = 44;

// RFC 1071.
uint16_t checksum(const Bytes& header) {
  uint32_t sum = 0;
  for (size_t i = 0; i < header.size(); i += 2) sum += uint32_t{header[i]} << 8 | header[i + 1];
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

Bytes ipv4(const Ip& h, const Bytes& payload) {
  Bytes packet;
  append(packet, 0x45, 1);
  append(packet, h.tos, 1);
  append(packet, 20 + payload.size(), 2);
  append(packet, h.identification, 2);
  append(packet, (h.df ? 0x4000u : 0u) | (h.more ? 0x2000u : 0u) | h.offset / 8, 2);
  append(packet, h.ttl, 1);
  append(packet, h.protocol, 1);
  append(packet, 0, 2);
  append(packet, h.source, 4);
  append(packet, h.destination, 4);
  const uint16_t sum = checksum(packet);
  packet[10] = static_cast<uint8_t>(sum >> 8);
  packet[11] = static_cast<uint8_t>(sum);
  append(packet, payload);
  return packet;
}

Bytes ipv6(const Ip& h, const Bytes& payload) {
  const bool fragment = h.more || h.offset > 0;
  Bytes packet;
  append(packet, 0x60000000u | uint32_t{h.tos} << 20, 4);
  append(packet, payload.size() + (fragment ? 8 : 0), 2);
  append(packet, fragment ? kFragmentHeader : h.protocol, 1);
  append(packet, h.ttl, 1);
  for (const uint32_t address : {h.source, h.destination}) {
    append(packet, 0x20010db8'00000000u, 8);
    append(packet, address, 8);
  }
  if (fragment) {
    append(packet, h.protocol, 1);
    append(packet, 0, 1);
    append(packet, h.offset | h.more, 2);
    append(packet, h.identification, 4);
  }
  append(packet, payload);
  return packet;
}

}  // namespace

void append(Bytes& to, const Bytes& what) { to.insert(to.end(), what.begin(), what.end()); }

void append(Bytes& to, uint64_t value, unsigned bytes) {
  while (bytes-- > 0) to.push_back(static_cast<uint8_t>(value >> 8 * bytes));
}

Bytes ip(const Ip& header, const Bytes& payload) { return header.v6 ? ipv6(header, payload) : ipv4(header, payload); }

Bytes udp(uint16_t source, uint16_t destination, const Bytes& payload) {
  Bytes packet;
  append(packet, source, 2);
  append(packet, destination, 2);
  append(packet, 8 + payload.size(), 2);
  append(packet, 0, 2);
  append(packet, payload);
  return packet;
}

Bytes esp(uint32_t spi, uint32_t number, const Bytes& payload) {
  Bytes packet;
  append(packet, spi, 4);
  append(packet, number, 4);
  append(packet, payload);
  return packet;
}

Bytes ethernet(const Mac& to, const std::vector<uint16_t>& vlans, uint16_t type, const Bytes& payload) {
  Bytes frame(to.begin(), to.end());
  frame.insert(frame.end(), kFrom.begin(), kFrom.end());
  for (const uint16_t vlan : vlans) append(frame, 0x81000000u | vlan, 4);
  append(frame, type, 2);
  append(frame, payload);
  return frame;
}

std::array<Bytes, 2> fragments(Ip header, const Bytes& payload, size_t at) {
  const Bytes front(payload.begin(), payload.begin() + static_cast<long>(at));
  const Bytes back(payload.begin() + static_cast<long>(at), payload.end());
  header.more = true;
  Bytes first = ip(header, front);
  header.more = false;
  header.offset = static_cast<unsigned>(at);
  return {std::move(first), ip(header, back)};
}

}  // namespace sallyport::fuzz
