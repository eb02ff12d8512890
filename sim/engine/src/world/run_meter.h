// SPDX-License-Identifier: Apache-2.0
// What a run cost: simulated cycles, wall time, and the time each chip was busy.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "world/world.h"

namespace sallyport::sim {

// Called now and then during a run with the phase, how much of it is done (0 to 1) and the speed so
// far. False stops the run.
using Progress = std::function<bool(const char* phase, double done, double cyclesPerSecond)>;

struct Cancelled : std::exception {
  const char* what() const noexcept override { return "cancelled"; }
};

class RunMeter {
 public:
  explicit RunMeter(World& world, Progress progress = {});

  // Throws Cancelled when the progress function says so; calls it at most five times a second.
  void report(const char* phase, double done);

  Cycle cycles() const { return world_.now() - firstCycle_; }
  // {sim_cycles, sim_us, wall_s, cycles_per_s, threads, lock_step, chips: [{name, clocks, busy_s,
  // clocks_per_s}]}
  nlohmann::json json() const;

 private:
  using Clock = std::chrono::steady_clock;

  World& world_;
  Progress progress_;
  Cycle firstCycle_;
  Clock::time_point begin_ = Clock::now(), reported_ = begin_;
  std::vector<int64_t> busyNs_, clocks_;
};

}  // namespace sallyport::sim
