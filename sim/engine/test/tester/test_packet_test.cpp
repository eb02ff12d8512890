// SPDX-License-Identifier: Apache-2.0
// The bytes of test packets.
#include "tester/test_packet.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/ip6.h>

#include <vector>

#include "test/tester/streams.h"

namespace sallyport::sim {
namespace {

TEST(TestPacket, FlowsStepTheirFields) {
  StreamSpec spec = base();
  spec.flow.count = 4;
  spec.flow.dstIpStep = 256;
  std::vector<uint8_t> frame;
  buildPacket(spec, 6, 0, frame);
  const std::vector<uint8_t> dst(frame.begin() + 30, frame.begin() + 34);
  EXPECT_EQ(dst, (std::vector<uint8_t>{10, 1, 2, 1}));
  EXPECT_EQ(frame[34] << 8 | frame[35], 1024 + 2);
}

TEST(TestPacket, PacketsOverIpv6HaveItsHeaderAndChecksum) {
  const StreamSpec spec = overV6();
  std::vector<uint8_t> frame;
  buildPacket(spec, 3, 0, frame);
  ASSERT_EQ(frame.size(), 78u);
  const auto* header = reinterpret_cast<const ip6_hdr*>(frame.data() + 14);
  EXPECT_EQ(header->ip6_vfc, 0x60);
  EXPECT_EQ(ntohs(header->ip6_plen), 78 - 14 - 40);
  EXPECT_EQ(header->ip6_nxt, IPPROTO_UDP);
  char text[INET6_ADDRSTRLEN];
  // the low 32 bits turn over
  EXPECT_STREQ(inet_ntop(AF_INET6, &header->ip6_src, text, sizeof text), "2001:2::1");
  EXPECT_STREQ(inet_ntop(AF_INET6, &header->ip6_dst, text, sizeof text), "2001:2:0:1::4");
  // RFC 8200, 8.1: pseudo header of both addresses, length and next header.
  EXPECT_EQ(fold16(sum16(frame.data() + 22, 32, 24 + IPPROTO_UDP) + sum16(frame.data() + 54, 24)), 0xFFFF);
}

}  // namespace
}  // namespace sallyport::sim
