// A trial as RFC 2544 means it: warm-up, measurement, drain.
//
// Streams send from the beginning of the warm-up to the end of the measurement; frames whose sending begins inside the
// measurement are the measured ones. The drain ends when nothing has crossed a port for a while. A trial passes if no
// frame of it was lost (warm-up included), damaged or doubled, and no queue grew: the average latency of the
// measurement's last quarter is at most growthLimitNs above the first's.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "run_meter.h"
#include "stream.h"
#include "world.h"

namespace sallyport::sim {

struct TrialSpec {
  std::vector<StreamSpec> streams;
  Cycle warmup = microsecondsToCycles(50), measure = microsecondsToCycles(200);
  // At most this long after the measurement.
  Cycle drainLimit = microsecondsToCycles(1000);
  double growthLimitNs = 150;
};

// The result of docs/simulator.md, without the meter's part. Throws std::invalid_argument for streams that make no
// sense here.
nlohmann::json runTrial(World& world, const TrialSpec& spec, RunMeter& meter);

}  // namespace sallyport::sim
