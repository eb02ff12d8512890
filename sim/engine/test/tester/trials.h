// SPDX-License-Identifier: Apache-2.0
// Trials between the red ports of two boxes, for tests with stand-in chips.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>

#include "tester/trial.h"

namespace sallyport::sim {

inline StreamSpec stream(uint16_t id, PortName from, PortName to, uint16_t size, int64_t percent) {
  StreamSpec spec;
  spec.id = id;
  spec.from = std::move(from);
  spec.to = std::move(to);
  spec.sizes = {size};
  spec.loadMicroPercent = percent * 1'000'000;
  return spec;
}

inline TrialSpec bothWays(uint16_t size, int64_t percent) {
  TrialSpec trial;
  trial.warmup = microsecondsToCycles(5);
  trial.measure = microsecondsToCycles(20);
  trial.streams = {stream(1, {0, "red"}, {1, "red"}, size, percent), stream(2, {1, "red"}, {0, "red"}, size, percent)};
  return trial;
}

inline nlohmann::json run(World& world, const TrialSpec& trial) {
  RunMeter meter(world);
  return runTrial(world, trial, meter);
}

}  // namespace sallyport::sim
