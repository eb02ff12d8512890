// SPDX-License-Identifier: Apache-2.0
// Punt reasons, groups and header have one source, the register description.
#include "wire/punt.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "base/chip_fault.h"

namespace sallyport::sim {
namespace {

std::string described(const char* name) {
  std::ifstream file(SALLYPORT_ROOT "/regs/" + std::string(name));
  return {std::istreambuf_iterator<char>(file), {}};
}

// How many values the enumeration has; `name` must know each of them.
int checkNames(const std::string& enumeration, const char* (*name)(uint8_t)) {
  const std::string text = described("common.rdl");
  std::smatch body;
  if (!std::regex_search(text, body, std::regex("enum " + enumeration + " \\{([^}]*)\\}"))) return 0;
  const std::string entries = body[1];
  const std::regex entry("(\\w+) = (\\d+)");
  int count = 0;
  for (std::sregex_iterator it(entries.begin(), entries.end(), entry), end; it != end; ++it, count++)
    EXPECT_EQ((*it)[1], name(static_cast<uint8_t>(std::stoi((*it)[2]))));
  return count;
}

TEST(Punt, ReasonsAndGroupsAreThoseOfTheRegisterDescription) {
  EXPECT_EQ(checkNames("punt_reason_e", puntReasonName), kPuntReasons);
  EXPECT_EQ(checkNames("punt_group_e", puntGroupName), kPuntGroups);
  std::string ofTunnels;
  for (uint8_t reason = 0; reason < kPuntReasons; reason++)
    if (puntIsOfTunnel(reason)) ofTunnels += std::string(" ") + puntReasonName(reason);
  EXPECT_EQ(ofTunnels, " tunnel tunnel_mtu tunnel_ttl tunnel_host tunnel_route");
}

TEST(Punt, HeaderIsThatOfTheRegisterDescription) {
  const std::string text = described("sallyport.rdl");
  const std::regex field("\\} (\\w+)\\[(\\d+):(\\d+)\\];");
  size_t count = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), field), end; it != end; ++it, count++) {
    const std::string name = (*it)[1];
    const size_t high = std::stoul((*it)[2]), low = std::stoul((*it)[3]);
    for (const auto& place : PuntHeader::kPlaces) {
      if (name != place.name) continue;
      EXPECT_EQ(place.low, low) << name;
      EXPECT_EQ(place.bits, high + 1 - low) << name;
    }
  }
  EXPECT_EQ(count, PuntHeader::kPlaces.size());
}

TEST(Punt, HeaderIsReadInNetworkByteOrder) {
  std::vector<uint8_t> punted{1, 5, 1, 0xa9, 1, 4, 9, 8, 1, 2, 3, 4, 5, 6, 7, 8};
  punted.resize(16 + 260);
  const PuntHeader header = PuntHeader::read(punted);
  EXPECT_EQ(header.port, 1);
  EXPECT_EQ(header.reason, 5);
  EXPECT_EQ(header.group, 1);
  EXPECT_EQ(header.length, 260);
  EXPECT_EQ(header.sa, 0x0908);
  EXPECT_TRUE(header.injected);
  EXPECT_FALSE(header.hairpin);
  EXPECT_EQ(header.network, 42);
  EXPECT_EQ(header.cycles, 0x0102030405060708u);
  punted.pop_back();
  EXPECT_THROW(PuntHeader::read(punted), ChipFault);
  EXPECT_THROW(PuntHeader::read(std::vector<uint8_t>(16)), ChipFault);
}

}  // namespace
}  // namespace sallyport::sim
