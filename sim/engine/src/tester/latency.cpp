// SPDX-License-Identifier: Apache-2.0
#include "tester/latency.h"

#include <algorithm>
#include <cmath>

namespace sallyport::sim {

double nanoseconds(Tick ticks) { return std::round(ticksToNs(ticks) * 1000) / 1000; }

nlohmann::json latencyJson(std::vector<Tick> samples) {
  if (samples.empty()) return {{"count", 0}};
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<int64_t>(samples.size());
  // Nearest rank, in parts of 10,000.
  auto rank = [&](int64_t parts) { return samples[std::max<int64_t>(0, (count * parts + 9999) / 10000 - 1)]; };
  __int128 sum = 0;
  for (Tick sample : samples) sum += sample;
  return {{"count", count},
          {"min", nanoseconds(samples.front())},
          {"avg", nanoseconds(static_cast<Tick>(sum / count))},
          {"p50", nanoseconds(rank(5000))},
          {"p90", nanoseconds(rank(9000))},
          {"p99", nanoseconds(rank(9900))},
          {"p99_99", nanoseconds(rank(9999))},
          {"max", nanoseconds(samples.back())}};
}

nlohmann::json histogramJson(const std::vector<Tick>& samples, int buckets) {
  nlohmann::json rows = nlohmann::json::array();
  if (samples.empty()) return rows;
  const auto [least, greatest] = std::minmax_element(samples.begin(), samples.end());
  const Tick width = std::max<Tick>(1, (*greatest - *least + buckets) / buckets);
  std::vector<int64_t> counts((*greatest - *least) / width + 1);
  for (Tick sample : samples) counts[(sample - *least) / width]++;
  for (size_t i = 0; i < counts.size(); i++)
    rows.push_back({nanoseconds(*least + static_cast<Tick>(i + 1) * width), counts[i]});
  return rows;
}

void Jitter::add(Tick latency) {
  if (last_ != kNever) {
    sum_ += std::abs(latency - last_);
    count_++;
  }
  last_ = latency;
}

void Jitter::add(const Jitter& other) {
  sum_ += other.sum_;
  count_ += other.count_;
}

nlohmann::json Jitter::json() const {
  return count_ ? nlohmann::json(nanoseconds(static_cast<Tick>(sum_ / count_))) : nlohmann::json();
}

void QueueGrowth::add(Tick sentAt, Tick latency) {
  if (sentAt < from_ || sentAt >= to_) return;
  const auto quarter = static_cast<int>(static_cast<__int128>(sentAt - from_) * 4 / (to_ - from_));
  count_[quarter]++;
  sum_[quarter] += latency;
}

double QueueGrowth::growthNs() const {
  if (!count_[0] || !count_[3]) return 0;
  return nanoseconds(static_cast<Tick>(sum_[3] / count_[3] - sum_[0] / count_[0]));
}

nlohmann::json QueueGrowth::json() const {
  nlohmann::json quarters = nlohmann::json::array();
  for (int i = 0; i < 4; i++)
    quarters.push_back(count_[i] ? nlohmann::json(nanoseconds(static_cast<Tick>(sum_[i] / count_[i])))
                                 : nlohmann::json());
  return {{"quarters_avg_ns", quarters}, {"growth_ns", growthNs()}};
}

}  // namespace sallyport::sim
