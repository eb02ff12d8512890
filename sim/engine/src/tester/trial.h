// SPDX-License-Identifier: Apache-2.0
// A trial as RFC 2544 means it: warm-up, measurement, drain.
//
// Streams send from the beginning of the warm-up to the end of the measurement; frames whose
// sending begins inside the measurement are the measured ones. The drain ends when nothing has
// crossed a port for a while. A trial passes if it lost, damaged or doubled no frame (warm-up
// included), and if no queue grew. A queue grew if the average latency of the measurement's last
// quarter exceeds that of the first by more than growthLimitNs.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "tester/stream_spec.h"
#include "world/run_meter.h"
#include "world/world.h"

namespace sallyport::sim {

// Times of a trial count from the beginning of its warm-up.
inline constexpr Cycle kNoTurn = INT64_MAX / 4;

// When software's next turn begins: at `at`, and no sooner than `after` behind the end of this one.
struct NextTurn {
  Cycle at = kNoTurn, after = 0;
};

// Software's turn inside a trial; it lets time pass, with traffic, by calling `epoch`.
using SoftwareTurn = std::function<NextTurn(const std::function<void()>& epoch)>;

struct TrialSpec {
  std::vector<StreamSpec> streams;
  Cycle warmup = microsecondsToCycles(50), measure = microsecondsToCycles(200);
  // At most this long after the measurement.
  Cycle drainLimit = microsecondsToCycles(1000);
  double growthLimitNs = 150;
  // Software's first turn. Turns begin before the end of the measurement.
  Cycle firstTurn = kNoTurn;
};

// The result of docs/reference/simulator-trial.md, without the meter's part. Throws
// std::invalid_argument for streams that make no sense here.
nlohmann::json runTrial(World& world, const TrialSpec& spec, RunMeter& meter, const SoftwareTurn& turn = {});

}  // namespace sallyport::sim
