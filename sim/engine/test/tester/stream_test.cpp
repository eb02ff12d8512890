// Streams: pacing, contents, and what the receiver makes of them.
#include "tester/stream_source.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/ip6.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tester/latency.h"
#include "tester/stream_receiver.h"
#include "tester/test_packet.h"

namespace sallyport::sim {
namespace {

StreamSpec base() {
  StreamSpec spec;
  spec.id = 3;
  spec.from = {0, "red"};
  spec.to = {1, "red"};
  return spec;
}

TEST(Stream, PacingIsExact) {
  StreamSpec spec = base();
  spec.loadMicroPercent = 60'870'000;
  spec.to_tick = 1'000'000 * kTicksPerCycle;
  StreamSource source({&spec}, 0);
  int64_t frames = 0;
  Tick last = -1;
  while (source.nextStart() != kNever) {
    const Frame frame = source.pop();
    if (last >= 0) EXPECT_GE(frame.start - last, slotTicks(64));
    last = frame.start;
    frames++;
  }
  // One frame is due every 252 / 0.6087 ticks.
  EXPECT_EQ(frames, static_cast<int64_t>(125'000'000.0L * 0.6087L / 252.0L) + 1);
}

TEST(Stream, TwoStreamsShareTheLine) {
  StreamSpec small = base(), big = base();
  small.loadMicroPercent = big.loadMicroPercent = 50'000'000;
  big.id = 4;
  big.sizes = {1518};
  small.to_tick = big.to_tick = 300'000 * kTicksPerCycle;
  StreamSource source({&small, &big}, 0);
  Tick free = 0;
  while (source.nextStart() != kNever) {
    const Frame frame = source.pop();
    EXPECT_GE(frame.start, free);
    free = frame.start + slotTicks(frame.length());
  }
  EXPECT_NEAR(static_cast<double>(source.senders()[0].sent()) * 84 * 3, 150'000.0 * 125, 2000);
  EXPECT_NEAR(static_cast<double>(source.senders()[1].sent()) * 1538 * 3, 150'000.0 * 125, 10000);
}

TEST(Stream, ImixHasItsWeightsSpread) {
  const auto order = spreadSizes({{64, 28}, {594, 16}, {1518, 4}});
  ASSERT_EQ(order.size(), 12u);
  std::map<int, int> count;
  for (int size : order) count[size]++;
  EXPECT_EQ(count[64], 7);
  EXPECT_EQ(count[594], 4);
  EXPECT_EQ(count[1518], 1);
}

// 64 Ki flows in random order: each as likely as any other, whatever came before, and another one for each.
TEST(Stream, RandomOrderUsesAllFlowsAlike) {
  constexpr uint32_t kFlows = 65536, kEach = 32;
  StreamSpec spec = base();
  spec.flow.count = kFlows;
  spec.flow.random = true;
  std::vector<uint32_t> used(kFlows);
  int64_t follows = 0, repeats = 0;
  for (uint32_t i = 0; i < kFlows * kEach; i++) {
    used[spec.flowOf(i)]++;
    follows += spec.flowOf(i + 1) == (spec.flowOf(i) + 1) % kFlows;
    repeats += spec.flowOf(i + 1) == spec.flowOf(i);
  }
  // Chi-square with 65,535 degrees of freedom: within five of its standard deviations.
  double chi = 0;
  for (const uint32_t times : used) chi += (times - double{kEach}) * (times - double{kEach}) / kEach;
  EXPECT_NEAR(chi, kFlows - 1, 5 * std::sqrt(2.0 * kFlows));
  EXPECT_GT(*std::min_element(used.begin(), used.end()), 0u);
  // Once in 65,536 frames, 32 times in all: no order.
  EXPECT_NEAR(static_cast<double>(follows), kEach, 5 * std::sqrt(double{kEach}));
  EXPECT_NEAR(static_cast<double>(repeats), kEach, 5 * std::sqrt(double{kEach}));
  // Another seed and another stream are other orders.
  StreamSpec seeded = spec, other = spec;
  seeded.seed++;
  other.id++;
  int same = 0;
  for (uint32_t i = 0; i < 1000; i++) same += spec.flowOf(i) == seeded.flowOf(i) || spec.flowOf(i) == other.flowOf(i);
  EXPECT_LT(same, 3);
}

TEST(Stream, FlowsStepTheirFields) {
  StreamSpec spec = base();
  spec.flow.count = 4;
  spec.flow.dstIpStep = 256;
  std::vector<uint8_t> frame;
  buildPacket(spec, 6, 0, frame);
  const std::vector<uint8_t> dst(frame.begin() + 30, frame.begin() + 34);
  EXPECT_EQ(dst, (std::vector<uint8_t>{10, 1, 2, 1}));
  EXPECT_EQ(frame[34] << 8 | frame[35], 1024 + 2);
}

StreamSpec overV6() {
  StreamSpec spec = base();
  spec.flow.srcIp.v6 = spec.flow.dstIp.v6 = true;
  inet_pton(AF_INET6, "2001:2::ffff:fffe", spec.flow.srcIp.bytes.data());
  inet_pton(AF_INET6, "2001:2:0:1::1", spec.flow.dstIp.bytes.data());
  spec.flow.count = 4;
  spec.flow.srcIpStep = spec.flow.dstIpStep = 1;
  spec.sizes = {kMinStreamFrameV6};
  return spec;
}

TEST(Stream, PacketsOverIpv6HaveItsHeaderAndChecksum) {
  const StreamSpec spec = overV6();
  std::vector<uint8_t> frame;
  buildPacket(spec, 3, 0, frame);
  ASSERT_EQ(frame.size(), 78u);
  const auto* header = reinterpret_cast<const ip6_hdr*>(frame.data() + 14);
  EXPECT_EQ(header->ip6_vfc, 0x60);
  EXPECT_EQ(ntohs(header->ip6_plen), 78 - 14 - 40);
  EXPECT_EQ(header->ip6_nxt, IPPROTO_UDP);
  char text[INET6_ADDRSTRLEN];
  EXPECT_STREQ(inet_ntop(AF_INET6, &header->ip6_src, text, sizeof text), "2001:2::1");  // the low 32 bits turn over
  EXPECT_STREQ(inet_ntop(AF_INET6, &header->ip6_dst, text, sizeof text), "2001:2:0:1::4");
  // RFC 8200, 8.1: pseudo header of both addresses, length and next header.
  EXPECT_EQ(fold16(sum16(frame.data() + 22, 32, 24 + IPPROTO_UDP) + sum16(frame.data() + 54, 24)), 0xFFFF);
}

TEST(Stream, OverIpv6RoutersChangeHopLimitAndTrafficClass) {
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

TEST(Latency, HistogramHoldsEverySample) {
  std::vector<Tick> samples;
  for (Tick i = 0; i < 1000; i++) samples.push_back(3000 + i * i % 977);
  const auto rows = histogramJson(samples);
  EXPECT_LE(rows.size(), 50u);
  int64_t count = 0;
  for (size_t i = 0; i < rows.size(); i++) {
    const auto below =
        std::count_if(samples.begin(), samples.end(), [&](Tick s) { return nanoseconds(s) < rows[i][0]; });
    count += rows[i][1].get<int64_t>();
    EXPECT_EQ(below, count);
  }
  EXPECT_EQ(count, 1000);
  EXPECT_EQ(histogramJson({42}).size(), 1u);
}

TEST(Latency, JitterIsTheMeanOfDifferences) {
  Jitter jitter, other;
  EXPECT_TRUE(jitter.json().is_null());
  for (const Tick latency : {1000, 1400, 1100}) jitter.add(latency);
  EXPECT_EQ(jitter.json(), nanoseconds(350));
  for (const Tick latency : {9000, 9000, 9000}) other.add(latency);
  jitter.add(other);
  EXPECT_EQ(jitter.json(), nanoseconds(175));
}

class Receiving : public ::testing::Test {
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

TEST_F(Receiving, CountsReorderingAsRfc4737Does) {
  for (uint32_t n : {0, 1, 4, 2, 3, 5}) give(n);
  EXPECT_EQ(arrivals().reordered, 2);
  EXPECT_EQ(arrivals().samples.size(), 6u);
  EXPECT_EQ(arrivals().samples[0].firstBit, 5000 + 24);
}

TEST_F(Receiving, CountsADuplicateOnce) {
  for (uint32_t n : {0, 1, 1, 2, 0}) give(n);
  EXPECT_EQ(arrivals().duplicated, 2);
  EXPECT_EQ(arrivals().reordered, 0);
  EXPECT_EQ(arrivals().samples.size(), 3u);
}

TEST_F(Receiving, ToleratesWhatRoutersChangeAndNothingElse) {
  Frame routed = made(0);
  routed.bytes[22] -= 2;  // TTL 64 -> 62: the checksum grows by 0x0200
  routed.bytes[24] += 2;
  std::fill(routed.bytes.begin(), routed.bytes.begin() + 12, 0xEE);
  receiver.receive(routed, 0);
  EXPECT_EQ(arrivals().corrupted, 0);
  for (size_t at = 14; at < routed.bytes.size(); at++) {
    // Without magic, protocol or version it is no test frame at all; TOS changes break the checksum.
    if ((at >= 42 && at < 46) || at == 14 || at == 23 || (at >= 46 && at < 48)) continue;
    Frame damaged = made(1);
    damaged.bytes[at] ^= 0x10;
    const int64_t before = arrivals().corrupted;
    receiver.receive(damaged, 0);
    EXPECT_EQ(arrivals().corrupted, before + 1) << "byte " << at;
  }
  EXPECT_EQ(arrivals().samples.size(), 1u);
}

TEST_F(Receiving, ABridgeChangesNothing) {
  spec.bridged = true;
  spec.sizes = {100};
  give(0);
  EXPECT_EQ(arrivals().corrupted, 0);
  for (size_t at = 0; at < made(1).bytes.size(); at++) {
    // Without type, version, protocol or magic it is no test frame, and with another stream or number it is another
    // one.
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

}  // namespace
}  // namespace sallyport::sim
