// SPDX-License-Identifier: Apache-2.0
// What the receiver makes of frames: reordered, duplicate, corrupted.
#include "tester/stream_receiver.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "test/tester/streams.h"
#include "tester/test_packet.h"

namespace sallyport::sim {
namespace {

class StreamReceiverTest : public ::testing::Test {
 protected:
  StreamSpec spec = base();
  StreamReceiver receiver{{&spec}, {1, "red"}};

  Frame made(uint32_t sequence) {
    Frame frame;
    buildPacket(spec, sequence, 1000, frame.bytes);
    frame.start = 5000;
    return frame;
  }
  void give(uint32_t sequence) { receiver.receive(made(sequence), 0); }
  const StreamArrivals& arrivals() { return *receiver.stream(3); }
};

TEST_F(StreamReceiverTest, CountsReorderingAsRfc4737Does) {
  for (uint32_t n : {0, 1, 4, 2, 3, 5}) give(n);
  EXPECT_EQ(arrivals().reordered, 2);
  EXPECT_EQ(arrivals().samples.size(), 6u);
  EXPECT_EQ(arrivals().samples[0].firstBit, 5000 + 24);
}

TEST_F(StreamReceiverTest, CountsADuplicateOnce) {
  for (uint32_t n : {0, 1, 1, 2, 0}) give(n);
  EXPECT_EQ(arrivals().duplicated, 2);
  EXPECT_EQ(arrivals().reordered, 0);
  EXPECT_EQ(arrivals().samples.size(), 3u);
}

TEST_F(StreamReceiverTest, ToleratesWhatRoutersChangeAndNothingElse) {
  Frame routed = made(0);
  routed.bytes[22] -= 2;  // TTL 64 -> 62: the checksum grows by 0x0200
  routed.bytes[24] += 2;
  std::fill(routed.bytes.begin(), routed.bytes.begin() + 12, 0xEE);
  receiver.receive(routed, 0);
  EXPECT_EQ(arrivals().corrupted, 0);
  for (size_t at = 14; at < routed.bytes.size(); at++) {
    // Without magic, protocol or version it is no test frame at all; TOS changes break
    // the checksum.
    if ((at >= 42 && at < 46) || at == 14 || at == 23 || (at >= 46 && at < 48)) continue;
    Frame damaged = made(1);
    damaged.bytes[at] ^= 0x10;
    const int64_t before = arrivals().corrupted;
    receiver.receive(damaged, 0);
    EXPECT_EQ(arrivals().corrupted, before + 1) << "byte " << at;
  }
  EXPECT_EQ(arrivals().samples.size(), 1u);
}

TEST_F(StreamReceiverTest, ABridgeChangesNothing) {
  spec.bridged = true;
  spec.sizes = {100};
  give(0);
  EXPECT_EQ(arrivals().corrupted, 0);
  for (size_t at = 0; at < made(1).bytes.size(); at++) {
    // Without type, version, protocol or magic it is no test frame, and with another stream or
    // number it is another one.
    if ((at >= 12 && at <= 14) || at == 23 || (at >= 42 && at < 52)) continue;
    Frame changed = made(1);
    changed.bytes[at] ^= 0x10;
    const int64_t before = arrivals().corrupted;
    receiver.receive(changed, 0);
    EXPECT_EQ(arrivals().corrupted, before + 1) << "byte " << at;
  }
  Frame longer = made(1);
  longer.bytes.push_back(0);
  receiver.receive(longer, 0);
  EXPECT_EQ(arrivals().samples.size(), 1u);
}

TEST(StreamReceiver, OverIpv6RoutersChangeHopLimitAndTrafficClass) {
  StreamSpec spec = overV6();
  StreamReceiver receiver{{&spec}, {1, "red"}};
  Frame frame;
  buildPacket(spec, 0, 0, frame.bytes);
  frame.bytes[21]--;
  frame.bytes[14] ^= 0x0F;
  frame.bytes[15] ^= 0xF0;
  receiver.receive(frame, 0);
  const StreamArrivals& arrivals = *receiver.stream(3);
  EXPECT_EQ(arrivals.samples.size(), 1u);
  for (const size_t at : {15, 18, 19, 22, 40, 54, 77}) {
    Frame damaged;
    buildPacket(spec, 1, 0, damaged.bytes);
    damaged.bytes[at] ^= 0x01;
    const int64_t before = arrivals.corrupted;
    receiver.receive(damaged, 0);
    EXPECT_EQ(arrivals.corrupted, before + 1) << "byte " << at;
  }
}

}  // namespace
}  // namespace sallyport::sim
