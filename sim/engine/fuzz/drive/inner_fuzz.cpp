// SPDX-License-Identifier: Apache-2.0
// The inner chip under fuzzing: a rule leads to an SA by the destination port. All SAs lead to one
// next hop, but one leads to the link, and there to another SA by its packets' port.
#include "fuzz/drive/interface_fuzz.h"
#include "fuzz/registers/tables.h"

namespace sallyport::fuzz {
namespace {

constexpr uint16_t kPorts = 0x4000, kPortOfLink = 7;
constexpr unsigned kHairpin = 4;         // the SA that leads to the link
constexpr uint64_t kRed = 1, kBack = 2;  // next hops
constexpr uint64_t kProtect = 2, kMacOfRed = 0x66'00'00'00'00'02;

}  // namespace

InnerFuzz::InnerFuzz(std::unique_ptr<sim::Chip> chip, uint64_t seed)
    : InterfaceFuzz(std::move(chip), seed,
                    {true,
                     inner::kControls.data(),
                     inner::kControls.size(),
                     inner::kReasmTimeout.address,
                     {inner::kLimitInject.address, inner::kLimitInjectEncrypt.address},
                     inner::kHopGroup + 1,
                     {inner::kFlow, inner::kRule, inner::kInboundRule},
                     {inner::kSelector, inner::kReplay}}) {}

Row InnerFuzz::goodRow(unsigned table, unsigned index) {
  Row row{};
  switch (table) {
    case inner::kRule:
      put(row, rule_row::kValid, 1);
      put(row, rule_row::kAction, kProtect);
      put(row, rule_row::kSa, index);
      put(row, rule_row::kPriority, 100);
      put(row, rule_row::kDstPort, index);
      put(row, rule_row::kDstPortMask, kSas - 1);
      put(row, rule_row::kUsage, index);
      break;
    case inner::kSelector:
      put(row, selector_row::kValid, 1);
      put(row, selector_row::kReplay, 1);
      put(row, selector_row::kNextHop, index == kHairpin ? kBack : kRed);
      put(row, selector_row::kWindowSize, 64);
      put(row, selector_row::kWindowRow0, index);
      put(row, selector_row::kSrcPortLast, 0xffff);
      put(row, selector_row::kDstPortLast, 0xffff);
      break;
    case inner::kNextHop:
      put(row, next_hop_row::kValid, 1);
      put(row, next_hop_row::kMac, kMacOfRed);
      put(row, next_hop_row::kHairpin, mayHairpin_ && index == kBack);
      break;
    default:
      break;
  }
  return row;
}

Bytes InnerFuzz::fromPort(unsigned sa, const Ip& header, const Bytes& payload) {
  return ip(header, udp(7, static_cast<uint16_t>(kPorts | sa), payload));
}

Bytes InnerFuzz::fromLink(const Ip& header, const Bytes& payload) {
  return ip(header, udp(kPorts, kPortOfLink, payload));
}

std::optional<unsigned> InnerFuzz::between(unsigned sa) {
  if (sa != kHairpin) return {};
  return kPortOfLink % kSas;
}

void InnerFuzz::restrain(unsigned table, Row& row) {
  if (table == inner::kNextHop && !mayHairpin_) put(row, next_hop_row::kHairpin, 0);
}

void InnerFuzz::readCounters() {
  readBalance(software_, kInnerCounters, [this](const Counts& counts) { check(counts); });
}

int64_t InnerFuzz::sentByLink(const Counts& counts) const {
  return counts.at("tx_protect") + counts.at("tx_bypass") + counts.at("tx_dummy");
}

}  // namespace sallyport::fuzz
