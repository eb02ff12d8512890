// Exact statistics of latencies: every sample is kept and sorted.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "sim_time.h"

namespace sallyport::sim {

// {count, min, avg, p50, p90, p99, p99_99, max} in nanoseconds (nearest-rank percentiles); {count: 0} without samples.
nlohmann::json latencyJson(std::vector<Tick> samples);

// Nanoseconds to the picosecond, so that the text is short and the same everywhere.
double nanoseconds(Tick ticks);

// Averages of the four quarters of a measurement by time of sending, and their growth from first to last.
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
