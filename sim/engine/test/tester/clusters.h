// SPDX-License-Identifier: Apache-2.0
// Trials from the near tester port of a cluster to the far one, for tests with stand-in chips.
// A stand-in has no filter, so each of N nodes forwards each frame, and a far node each copy.
#pragma once

#include "test/tester/trials.h"

namespace sallyport::sim {

inline const PortName kNearRed{PortName::kSwitch, "near.red"}, kFarRed{PortName::kSwitch, "far.red"};

inline WorldOptions clusterOf(int nodes, int threads = 1, bool lockStep = false) {
  WorldOptions options;
  options.threads = threads;
  options.lockStep = lockStep;
  options.cluster.nodes = nodes;
  return options;
}

inline TrialSpec oneWay(uint16_t size, int64_t percent, PortName from = kNearRed, PortName to = kFarRed) {
  TrialSpec trial;
  trial.warmup = microsecondsToCycles(5);
  trial.measure = microsecondsToCycles(20);
  trial.streams = {stream(1, std::move(from), std::move(to), size, percent)};
  return trial;
}

}  // namespace sallyport::sim
