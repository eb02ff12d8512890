// SPDX-License-Identifier: Apache-2.0
#include "tester/test_packet.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"

namespace sallyport::sim {

namespace {
constexpr int kEthernet = 14, kUdp = 8, kSignature = 16;
constexpr int kIpAt = kEthernet;
constexpr uint32_t kMagic = 0x534C5059;
constexpr uint16_t kTypeV4 = 0x0800, kTypeV6 = 0x86DD;
constexpr uint8_t kProtocolUdp = 17, kProtocolEsp = 50;

// Where things are in an IP header of a version.
struct IpLayout {
  int bytes;      // of the header; the tester's packets have neither options nor extension headers
  int addresses;  // source, then destination
  int protocol, hops;
};
constexpr IpLayout kV4{20, 12, 9, 8}, kV6{40, 8, 6, 7};

const IpLayout& layoutOf(bool v6) { return v6 ? kV6 : kV4; }

void put16(uint8_t* at, uint16_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}
void put32(uint8_t* at, uint32_t value) {
  put16(at, static_cast<uint16_t>(value >> 16));
  put16(at + 2, static_cast<uint16_t>(value));
}
uint16_t get16(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }
uint32_t get32(const uint8_t* at) { return static_cast<uint32_t>(get16(at)) << 16 | get16(at + 2); }

// The UDP checksum's sum over pseudo header, UDP header and payload.
uint16_t udpChecksum(const uint8_t* ip, const IpLayout& layout, int udpBytes) {
  const uint32_t pseudo =
      sum16(ip + layout.addresses, layout.bytes - layout.addresses) + kProtocolUdp + static_cast<uint32_t>(udpBytes);
  return fold16(sum16(ip + layout.bytes, udpBytes, pseudo));
}

// The header of a stream's packet but for its addresses.
void buildIp(const StreamSpec& spec, uint32_t sequence, int ipBytes, uint8_t* ip) {
  if (spec.isV6()) {
    put32(ip, 0x6000'0000 | static_cast<uint32_t>(spec.tos) << 20);
    put16(ip + 4, static_cast<uint16_t>(ipBytes - kV6.bytes));
  } else {
    ip[0] = 0x45;
    ip[1] = spec.tos;
    put16(ip + 2, static_cast<uint16_t>(ipBytes));
    put16(ip + 4, static_cast<uint16_t>(sequence));
    put16(ip + 6, spec.dontFragment ? 0x4000 : 0);
    put16(ip + 10, 0);
  }
  const IpLayout& layout = layoutOf(spec.isV6());
  ip[layout.protocol] = kProtocolUdp;
  ip[layout.hops] = spec.ttl;
}

// The IP header's place in an untagged frame of either version; null in other frames.
const IpLayout* ipOf(const std::vector<uint8_t>& frame) {
  if (frame.size() < static_cast<size_t>(kIpAt) + kV4.bytes) return nullptr;
  const uint16_t type = get16(frame.data() + 12);
  if (type == kTypeV4 && frame[kIpAt] == 0x45) return &kV4;
  if (type == kTypeV6 && frame.size() >= static_cast<size_t>(kIpAt) + kV6.bytes) return &kV6;
  return nullptr;
}
}  // namespace

uint32_t sum16(const uint8_t* data, size_t bytes, uint32_t sum) {
  for (size_t i = 0; i + 1 < bytes; i += 2) sum += get16(data + i);
  if (bytes % 2) sum += static_cast<uint32_t>(data[bytes - 1]) << 8;
  return sum;
}

uint16_t fold16(uint32_t sum) {
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

void buildPacket(const StreamSpec& spec, uint32_t sequence, Tick firstBit, std::vector<uint8_t>& out) {
  const IpLayout& layout = layoutOf(spec.isV6());
  const int size = spec.sizeOf(sequence) - kFcsBytes;
  const uint32_t flow = spec.flowOf(sequence);
  out.resize(size);
  uint8_t* eth = out.data();
  std::copy(spec.dstMac.begin(), spec.dstMac.end(), eth);
  std::copy(spec.srcMac.begin(), spec.srcMac.end(), eth + 6);
  put16(eth + 12, spec.isV6() ? kTypeV6 : kTypeV4);

  uint8_t* ip = eth + kIpAt;
  const int ipBytes = size - kEthernet;
  buildIp(spec, sequence, ipBytes, ip);
  const IpAddress src = spec.flow.srcIp.plus(flow * spec.flow.srcIpStep);
  const IpAddress dst = spec.flow.dstIp.plus(flow * spec.flow.dstIpStep);
  std::copy_n(src.bytes.begin(), src.size(), ip + layout.addresses);
  std::copy_n(dst.bytes.begin(), dst.size(), ip + layout.addresses + src.size());
  if (!spec.isV6()) put16(ip + 10, static_cast<uint16_t>(~fold16(sum16(ip, layout.bytes))));

  uint8_t* udp = ip + layout.bytes;
  const int udpBytes = ipBytes - layout.bytes;
  put16(udp, static_cast<uint16_t>(spec.flow.srcPort + flow * spec.flow.srcPortStep));
  put16(udp + 2, static_cast<uint16_t>(spec.flow.dstPort + flow * spec.flow.dstPortStep));
  put16(udp + 4, static_cast<uint16_t>(udpBytes));
  put16(udp + 6, 0);

  uint8_t* signature = udp + kUdp;
  put32(signature, kMagic);
  put16(signature + 4, spec.id);
  put32(signature + 6, sequence);
  put16(signature + 10, static_cast<uint16_t>(firstBit >> 32));
  put32(signature + 12, static_cast<uint32_t>(firstBit));
  Random fill(spec.seed, uint64_t{spec.id} << 32 | sequence);
  for (auto at = signature + kSignature - eth; at < size; at += 8) {
    const uint64_t word = fill.next();
    std::memcpy(eth + at, &word, std::min<size_t>(8, size - at));
  }

  const uint16_t checksum = static_cast<uint16_t>(~udpChecksum(ip, layout, udpBytes));
  put16(udp + 6, checksum == 0 ? 0xFFFF : checksum);
}

bool readSignature(const std::vector<uint8_t>& frame, Signature& signature) {
  const IpLayout* layout = ipOf(frame);
  if (!layout || frame[kIpAt + layout->protocol] != kProtocolUdp) return false;
  const size_t place = kIpAt + layout->bytes + kUdp;
  if (frame.size() < place + kSignature) return false;
  const uint8_t* at = frame.data() + place;
  if (get32(at) != kMagic) return false;
  signature.stream = get16(at + 4);
  signature.sequence = get32(at + 6);
  signature.firstBit = static_cast<Tick>(static_cast<uint64_t>(get16(at + 10)) << 32 | get32(at + 12));
  return true;
}

bool isIntact(const StreamSpec& spec, const Signature& signature, const std::vector<uint8_t>& frame) {
  std::vector<uint8_t> want;
  buildPacket(spec, signature.sequence, signature.firstBit, want);
  if (spec.bridged) return frame == want;
  if (frame.size() < want.size() || frame.size() > std::max<size_t>(want.size(), kMinFrameBytes - kFcsBytes))
    return false;
  const IpLayout& layout = layoutOf(spec.isV6());
  const uint8_t* ip = frame.data() + kIpAt;
  if (ip[layout.hops] == 0 || (!spec.isV6() && fold16(sum16(ip, layout.bytes)) != 0xFFFF)) return false;
  // What a router may change is as it was sent once that has been looked at; MAC addresses are
  // not compared.
  uint8_t* wanted = want.data() + kIpAt;
  wanted[layout.hops] = ip[layout.hops];
  if (spec.isV6()) {
    constexpr uint32_t kTrafficClass = 0x0FF0'0000;
    put32(wanted, (get32(wanted) & ~kTrafficClass) | (get32(ip) & kTrafficClass));
  } else {
    wanted[1] = ip[1];
    std::copy_n(ip + 10, 2, wanted + 10);
  }
  return std::equal(want.begin() + 12, want.end(), frame.begin() + 12);
}

bool readEsp(const std::vector<uint8_t>& frame, EspPacket& esp) {
  const IpLayout* layout = ipOf(frame);
  if (!layout) return false;
  size_t at = kIpAt + layout->bytes;
  if (frame[kIpAt + layout->protocol] == kProtocolUdp) {
    if (frame.size() < at + kUdp + 8 || get16(frame.data() + at + 2) != 4500) return false;
    at += kUdp;
  } else if (frame[kIpAt + layout->protocol] != kProtocolEsp) {
    return false;
  }
  if (frame.size() < at + 8) return false;
  esp = {get32(frame.data() + at), get32(frame.data() + at + 4)};
  return esp.spi != 0;  // 0 in UDP 4500 is IKE's marker
}

}  // namespace sallyport::sim
