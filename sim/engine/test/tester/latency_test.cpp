// SPDX-License-Identifier: Apache-2.0
// Statistics of latency.
#include "tester/latency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sallyport::sim {
namespace {

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

}  // namespace
}  // namespace sallyport::sim
