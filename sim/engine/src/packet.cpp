#include "packet.h"

#include <algorithm>
#include <cstring>

#include "random.h"

namespace sallyport::sim {

namespace {
constexpr int kEthernet = 14, kIp = 20, kUdp = 8, kSignature = 16;
constexpr int kIpAt = kEthernet, kUdpAt = kIpAt + kIp, kSignatureAt = kUdpAt + kUdp;
constexpr uint32_t kMagic = 0x534C5059;

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
uint16_t udpChecksum(const uint8_t* ip, int udpBytes) {
  const uint32_t pseudo = sum16(ip + 12, 8) + 17 + static_cast<uint32_t>(udpBytes);
  return fold16(sum16(ip + kIp, udpBytes, pseudo));
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
  const int size = spec.sizeOf(sequence) - kFcsBytes;
  const uint32_t flow = spec.flowOf(sequence);
  out.resize(size);
  uint8_t* eth = out.data();
  std::copy(spec.dstMac.begin(), spec.dstMac.end(), eth);
  std::copy(spec.srcMac.begin(), spec.srcMac.end(), eth + 6);
  put16(eth + 12, 0x0800);

  uint8_t* ip = eth + kIpAt;
  const int ipBytes = size - kEthernet;
  ip[0] = 0x45;
  ip[1] = spec.tos;
  put16(ip + 2, static_cast<uint16_t>(ipBytes));
  put16(ip + 4, static_cast<uint16_t>(sequence));
  put16(ip + 6, spec.dontFragment ? 0x4000 : 0);
  ip[8] = spec.ttl;
  ip[9] = 17;
  put16(ip + 10, 0);
  put32(ip + 12, spec.flow.srcIp + flow * spec.flow.srcIpStep);
  put32(ip + 16, spec.flow.dstIp + flow * spec.flow.dstIpStep);
  put16(ip + 10, static_cast<uint16_t>(~fold16(sum16(ip, kIp))));

  uint8_t* udp = eth + kUdpAt;
  const int udpBytes = ipBytes - kIp;
  put16(udp, static_cast<uint16_t>(spec.flow.srcPort + flow * spec.flow.srcPortStep));
  put16(udp + 2, static_cast<uint16_t>(spec.flow.dstPort + flow * spec.flow.dstPortStep));
  put16(udp + 4, static_cast<uint16_t>(udpBytes));
  put16(udp + 6, 0);

  uint8_t* signature = eth + kSignatureAt;
  put32(signature, kMagic);
  put16(signature + 4, spec.id);
  put32(signature + 6, sequence);
  put16(signature + 10, static_cast<uint16_t>(firstBit >> 32));
  put32(signature + 12, static_cast<uint32_t>(firstBit));
  Random fill(spec.seed, uint64_t{spec.id} << 32 | sequence);
  for (int at = kSignatureAt + kSignature; at < size; at += 8) {
    const uint64_t word = fill.next();
    std::memcpy(eth + at, &word, std::min(8, size - at));
  }

  const uint16_t checksum = static_cast<uint16_t>(~udpChecksum(ip, udpBytes));
  put16(udp + 6, checksum == 0 ? 0xFFFF : checksum);
}

bool readSignature(const std::vector<uint8_t>& frame, Signature& signature) {
  if (frame.size() < kSignatureAt + kSignature) return false;
  const uint8_t* at = frame.data();
  if (get16(at + 12) != 0x0800 || at[kIpAt] != 0x45 || at[kIpAt + 9] != 17) return false;
  at += kSignatureAt;
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
  const uint8_t* ip = frame.data() + kIpAt;
  if (fold16(sum16(ip, kIp)) != 0xFFFF || ip[8] == 0) return false;
  const uint8_t* wanted = want.data() + kIpAt;
  return ip[0] == wanted[0] && std::equal(ip + 2, ip + 8, wanted + 2) && ip[9] == wanted[9] &&
         std::equal(wanted + 12, wanted + (want.size() - kIpAt), ip + 12);
}

bool readEsp(const std::vector<uint8_t>& frame, EspPacket& esp) {
  if (frame.size() < kIpAt + kIp + 8 || get16(frame.data() + 12) != 0x0800) return false;
  const uint8_t* ip = frame.data() + kIpAt;
  size_t at = kIpAt + (ip[0] & 0xF) * 4;
  if (ip[9] == 17) {
    if (frame.size() < at + kUdp + 8 || get16(frame.data() + at + 2) != 4500) return false;
    at += kUdp;
  } else if (ip[9] != 50) {
    return false;
  }
  if (frame.size() < at + 8) return false;
  esp = {get32(frame.data() + at), get32(frame.data() + at + 4)};
  return esp.spi != 0;  // 0 in UDP 4500 is IKE's marker
}

}  // namespace sallyport::sim
