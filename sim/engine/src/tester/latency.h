// SPDX-License-Identifier: Apache-2.0
// Exact statistics of latencies: every sample is kept and sorted.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "base/frame.h"
#include "base/sim_time.h"

namespace sallyport::sim {

// {count, min, avg, p50, p90, p99, p99_99, max} in nanoseconds (nearest-rank percentiles); {count:
// 0} without samples.
nlohmann::json latencyJson(std::vector<Tick> samples);

// [[upper end in nanoseconds, samples], …]: at most `buckets` of one width from the least to the
// greatest sample.
nlohmann::json histogramJson(const std::vector<Tick>& samples, int buckets = 50);

// Nanoseconds to the picosecond, so that the text is short and the same everywhere.
double nanoseconds(Tick ticks);

// Mean difference between successive frames' latencies of a stream (RFC 4689 3.2.6), in the order
// of their arrival.
class Jitter {
 public:
  void add(Tick latency);
  void add(const Jitter& other);
  // Null with fewer than two frames.
  nlohmann::json json() const;

 private:
  Tick last_ = kNever;
  __int128 sum_ = 0;
  int64_t count_ = 0;
};

// Averages of the four quarters of a measurement by time of sending, and their growth from first
// to last.
class QueueGrowth {
 public:
  QueueGrowth(Tick from, Tick to) : from_(from), to_(to) {}
  void add(Tick sentAt, Tick latency);
  // {quarters_avg_ns: [..], growth_ns}; growth is null when a quarter has no sample.
  nlohmann::json json() const;
  double growthNs() const;

 private:
  Tick from_, to_;
  int64_t count_[4] = {};
  __int128 sum_[4] = {};
};

}  // namespace sallyport::sim
