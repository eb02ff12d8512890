// SPDX-License-Identifier: Apache-2.0
// The outer chip under fuzzing: each SPI is an SA, each SA a tunnel to one next hop.
#include "fuzz/drive/interface_fuzz.h"
#include "fuzz/registers/tables.h"

namespace sallyport::fuzz {
namespace {

constexpr uint32_t kSpis = 0x1000;
constexpr uint64_t kMacOfBlack = 0x88'00'00'00'00'02;
constexpr uint8_t kEsp = 50;
// Of the simulation's SAD: 2^11 rows in four ways.
constexpr unsigned kRowsPerWay = 512, kKeyBytes = 21;

// Where way 0 has the row of an SPI: the low half of CRC-32C of the key (docs/reference/tables.md).
unsigned placeOfSpi(uint32_t spi) {
  uint32_t state = ~0u;
  for (unsigned byte = 0; byte < kKeyBytes; byte++) {
    state ^= byte < 4 ? spi >> 8 * byte & 255 : 0;
    for (int bit = 0; bit < 8; bit++) state = state >> 1 ^ (state & 1 ? 0x82f63b78u : 0);
  }
  return (~state & 0xffff) % kRowsPerWay;
}

}  // namespace

OuterFuzz::OuterFuzz(std::unique_ptr<sim::Chip> chip, uint64_t seed)
    : InterfaceFuzz(std::move(chip), seed,
                    {false,
                     outer::kControls.data(),
                     outer::kControls.size(),
                     outer::kReasmTimeout.address,
                     {outer::kLimitInject.address},
                     outer::kBlackHopGroup + 1,
                     {outer::kRule},
                     {}}) {}

Row OuterFuzz::goodRow(unsigned table, unsigned index) {
  Row row{};
  switch (table) {
    case outer::kSad:
      put(row, sad_row::kSpi, kSpis + index);
      put(row, sad_row::kValid, 1);
      put(row, sad_row::kSa, index);
      break;
    case outer::kTunnel:
      put(row, tunnel_row::kValid, 1);
      put(row, tunnel_row::kSrcAddr, 0xc0000201);
      put(row, tunnel_row::kDstAddr, 0xc6336401);
      put(row, tunnel_row::kTtl, 64);
      put(row, tunnel_row::kNextHop, 1);
      break;
    case outer::kNextHop:
      put(row, next_hop_row::kValid, 1);
      put(row, next_hop_row::kMac, kMacOfBlack);
      break;
    default:
      break;
  }
  return row;
}

unsigned OuterFuzz::placeOf(unsigned table, unsigned index) {
  if (table != outer::kSad) return index;
  return index < kSas ? placeOfSpi(kSpis + index) : kRowsPerWay + index;
}

// A key of identifications, without which no ESP leaves. It is another one each time, as software
// draws it: an old one's numbers are recent, and the chip passes over them one a cycle.
std::vector<sim::RegisterRequest> OuterFuzz::furtherWrites() {
  constexpr uint32_t kLoad = 1u << 31, kFirst = 1u << 30, kWords = 5;
  std::vector<sim::RegisterRequest> writes;
  for (uint32_t word = 0; word < kWords; word++) {
    const auto key = static_cast<uint32_t>(random_.below(1u << 16));
    writes.push_back({true, outer::kIdentifierSeed.address, kLoad | (word == 0 ? kFirst : 0) | key});
  }
  return writes;
}

Bytes OuterFuzz::fromPort(unsigned sa, const Ip& header, const Bytes& payload) {
  Ip outer = header;
  outer.protocol = kEsp;
  return ip(outer, esp(kSpis + sa, static_cast<uint32_t>(random_.next()), payload));
}

Bytes OuterFuzz::fromLink(const Ip&, const Bytes& payload) {
  return esp(kSpis, static_cast<uint32_t>(random_.next()), payload);
}

void OuterFuzz::readCounters() {
  readBalance(software_, kOuterCounters, [this](const Counts& counts) { check(counts); });
}

int64_t OuterFuzz::sentByLink(const Counts& counts) const { return counts.at("tx_esp") + counts.at("tx_bypass"); }

}  // namespace sallyport::fuzz
