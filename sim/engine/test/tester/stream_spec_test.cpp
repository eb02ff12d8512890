// SPDX-License-Identifier: Apache-2.0
// Sizes and flows of a stream, by frame number.
#include "tester/stream_spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "test/tester/streams.h"

namespace sallyport::sim {
namespace {

TEST(StreamSpec, ImixHasItsWeightsSpread) {
  const auto order = spreadSizes({{64, 28}, {594, 16}, {1518, 4}});
  ASSERT_EQ(order.size(), 12u);
  std::map<int, int> count;
  for (int size : order) count[size]++;
  EXPECT_EQ(count[64], 7);
  EXPECT_EQ(count[594], 4);
  EXPECT_EQ(count[1518], 1);
}

// 64 Ki flows in random order: every draw is independent and all flows are equally likely. Another
// seed or stream has another order.
TEST(StreamSpec, RandomOrderUsesAllFlowsAlike) {
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

}  // namespace
}  // namespace sallyport::sim
