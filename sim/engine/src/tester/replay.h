// SPDX-License-Identifier: Apache-2.0
// Replays captures into ports and runs until nothing moves any more.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "wire/pcap_reader.h"
#include "world/port_name.h"
#include "world/run_meter.h"
#include "world/world.h"

namespace sallyport::sim {

struct ReplayInput {
  PortName port;
  std::vector<CapturedFrame> frames;
  // By the capture's own timestamps (no gap longer than maxGap), or back to back at
  // `loadMicroPercent` of line rate.
  bool original = false;
  Tick maxGap = kNever;
  int64_t loadMicroPercent = 100'000'000;
  // Pad to 60 bytes as a network card does; an injected frame is padded by the chip.
  bool pad = true;
  // Frames to send with a bad FCS, the first is 1.
  std::vector<int64_t> badFcs;
};

struct ReplaySpec {
  std::vector<ReplayInput> inputs;
  // Quiet means that no beat crossed any port for this long: longer than the slowest suite keeps
  // the longest packet.
  Cycle quiet = 32768;
  Cycle limit = microsecondsToCycles(1e6);
};

// {ports: [{port, tx_frames, rx_frames}], quiescent}
nlohmann::json runReplay(World& world, const ReplaySpec& spec, RunMeter& meter);

}  // namespace sallyport::sim
