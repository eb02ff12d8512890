// SPDX-License-Identifier: Apache-2.0
#include "wire/punt.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/chip_fault.h"

namespace sallyport::sim {

const char* puntReasonName(uint8_t reason) {
  static constexpr const char* names[kPuntReasons] = {
      "none",       "arp",       "link_local",        "vlan",       "fragment",    "ike",        "icmp",
      "other",      "policy",    "extension_headers", "mtu",        "unknown_spi", "nd",         "reasm",
      "ttl",        "local",     "resolution",        "ike_cookie", "ike_init",    "tunnel",     "clear",
      "tunnel_mtu", "clear_mtu", "tunnel_ttl",        "clear_ttl",  "tunnel_host", "clear_host", "tunnel_route",
      "clear_route"};
  return reason < kPuntReasons ? names[reason] : "unknown";
}

const char* puntGroupName(uint8_t group) {
  static constexpr const char* names[kPuntGroups] = {
      "other",      "ike",          "arp",         "nd",        "icmp",       "unknown_spi", "mtu",
      "reasm",      "ttl",          "link_local",  "local",     "resolution", "ike_cookie",  "ike_init",
      "tunnel",     "clear",        "tunnel_mtu",  "clear_mtu", "tunnel_ttl", "clear_ttl",   "tunnel_host",
      "clear_host", "tunnel_route", "clear_route", "hairpin"};
  return group < kPuntGroups ? names[group] : "unknown";
}

bool puntIsOfTunnel(uint8_t reason) {
  return std::string_view(puntReasonName(reason)).substr(0, std::strlen("tunnel")) == "tunnel";
}

PuntHeader PuntHeader::read(const std::vector<uint8_t>& punted) {
  if (punted.size() <= kBytes)
    throw ChipFault("a punted frame of " + std::to_string(punted.size()) + " bytes has no header");
  auto number = [&punted](const std::string& name) {
    const auto place = std::find_if(kPlaces.begin(), kPlaces.end(), [&](const Place& p) { return name == p.name; });
    uint64_t value = 0;
    for (size_t byte = (place->low + place->bits - 1) / 8 + 1; byte-- > place->low / 8;)
      value = value << 8 | punted[kBytes - 1 - byte];
    return value >> place->low % 8 & ~uint64_t{0} >> (64 - place->bits);
  };
  PuntHeader header;
  header.port = static_cast<uint8_t>(number("port"));
  header.reason = static_cast<uint8_t>(number("reason"));
  header.group = static_cast<uint8_t>(number("group"));
  header.network = static_cast<uint8_t>(number("network"));
  header.hairpin = number("hairpin") != 0;
  header.injected = number("injected") != 0;
  header.length = static_cast<uint16_t>(number("length"));
  header.sa = static_cast<uint16_t>(number("sa"));
  header.cycles = number("cycles");
  if (header.length != punted.size() - kBytes)
    throw ChipFault("the header of a punted frame of " + std::to_string(punted.size() - kBytes) + " bytes says " +
                    std::to_string(header.length));
  return header;
}

void PuntCollector::push(const MacBeat& beat, Cycle now) {
  const auto* data = reinterpret_cast<const uint8_t*>(beat.data.unit.data());
  partial_.insert(partial_.end(), data, data + std::min<int>(beat.bytes, 64));
  if (!beat.last) return;
  const PuntHeader header = PuntHeader::read(partial_);
  frames_[std::min<int>(header.reason, kPuntReasons)]++;
  if (queue_) queue_->push(partial_);
  if (capture_) {
    const bool byAnSa = puntIsOfTunnel(header.reason);
    partial_.erase(partial_.begin(), partial_.begin() + PuntHeader::kBytes);
    capture_->add(now * coreClock.ticksPerCycle, partial_, PcapngWriter::Direction::kUnknown,
                  std::string("punt: ") + puntReasonName(header.reason) + ", port " + std::to_string(header.port) +
                      ", group " + puntGroupName(header.group) + (byAnSa ? ", SA " + std::to_string(header.sa) : "") +
                      (header.network != 0 ? ", network " + std::to_string(header.network) : "") +
                      (header.hairpin ? ", for another tunnel" : "") + (header.injected ? ", injected" : "") +
                      ", cycle " + std::to_string(header.cycles));
  }
  partial_.clear();
}

}  // namespace sallyport::sim
