// SPDX-License-Identifier: Apache-2.0
// A live run: devices of the host, or a recording of an earlier run, are the far ends of a
// world's cables.
//
// While a frame is on its way the world runs as fast as it can. When the world is quiet, simulated
// time stands still. The thread then sleeps until a device has a frame or software sends a request.
// A frame starts at the simulated time at which the engine takes it. So without software the frames
// and their cycles alone decide the run, and a recording of both repeats it. A recording holds no
// request of software, because requests carry keys. It only says that software took part, and such
// a recording cannot be replayed.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "live/frame_device.h"
#include "wire/pcapng_reader.h"
#include "world/port_name.h"
#include "world/run_meter.h"
#include "world/world.h"

namespace sallyport::sim {

struct LiveTap {
  PortName port;
  std::unique_ptr<FrameDevice> device;
};

struct LiveSpec {
  std::vector<LiveTap> taps;
  // Instead of taps.
  std::optional<PcapngFile> replay;
  std::string replayPath;
  // Where to record; empty: nowhere.
  std::string record;
  // Quiet as in ReplaySpec.
  Cycle quiet = 32768;
};

// What software did in a live run so far, and whether it needs simulated time to go on.
struct LiveSoftware {
  int64_t requests = 0;  // to registers
  int64_t injected = 0;  // frames
  bool needsTime = false;
};

struct LiveHooks {
  // Called once, with facts about the devices, as soon as the run takes frames from them.
  std::function<void(const nlohmann::json& taps)> ready;
  // How often the run was told to stop so far. After one stop it takes no more frames and ends when
  // the boxes are quiet; after two it ends at once. With `sleep` it first waits until that number
  // changes or one of the descriptors can be read.
  std::function<int(const std::vector<int>& descriptors, bool sleep)> stops;
  // With every node at rest: serves the software of the boxes. Not called in a replay.
  std::function<LiveSoftware()> serve;
};

// {ports: [{port, device, in_frames, out_frames, undelivered}], quiescent, asleep_s, software:
// {requests, injected}, gone}
// Throws std::runtime_error or std::invalid_argument with a sentence before the run begins if the
// recording comes from a different world, or the file cannot be written. It also throws if a port
// is not the tester's or has two devices.
nlohmann::json runLive(World& world, LiveSpec spec, const LiveHooks& hooks, RunMeter& meter);

}  // namespace sallyport::sim
