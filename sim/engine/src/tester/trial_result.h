// SPDX-License-Identifier: Apache-2.0
// Computes the figures of a trial from the frames sent and the frames that arrived.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "tester/stream_receiver.h"
#include "tester/stream_source.h"

namespace sallyport::sim {

// The tester at one port.
struct TesterEnd {
  PortName port;
  std::unique_ptr<StreamSource> source;
  std::unique_ptr<StreamReceiver> receiver;
};

struct MeasuredWindow {
  Tick begin, from, to;
  double seconds() const { return ticksToNs(to - from) * 1e-9; }
  bool holds(Tick tick) const { return tick >= from && tick < to; }
};

// Every frame that has a receiver has reached it. (ESP packets are counted, streams of expect
// "count" are not waited for.)
bool allArrived(std::vector<TesterEnd>& ends);

// {streams: [..], ports: [..], total: {..}, passed}; the fields are listed in
// docs/reference/simulator-trial.md.
nlohmann::json trialResult(std::vector<TesterEnd>& ends, const MeasuredWindow& window, double growthLimitNs);

}  // namespace sallyport::sim
