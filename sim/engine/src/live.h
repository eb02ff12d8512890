// A live run: devices of the host, or a recording of an earlier run, are the far ends of a world's cables.
//
// While anything is on its way the world runs as fast as it can; when it is quiet, simulated time stands still and the
// thread sleeps until a device has a frame. A frame starts at the simulated time at which it is taken, so what the
// boxes do follows from the frames and their cycles alone: a recording of both gives the same run again.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "frame_device.h"
#include "pcapng_reader.h"
#include "run_meter.h"
#include "stream.h"
#include "world.h"

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

struct LiveHooks {
  // Called once, when frames of the devices are taken from now on, with what there is to say about them.
  std::function<void(const nlohmann::json& taps)> ready;
  // How often the run was told to stop so far: once, and it takes no more frames and ends when the boxes are quiet;
  // twice, and it ends at once. With `sleep` it first waits until that changes or one of the descriptors can be read.
  std::function<int(const std::vector<int>& descriptors, bool sleep)> stops;
};

// {ports: [{port, device, in_frames, out_frames, undelivered}], quiescent, asleep_s, gone}
// Throws std::runtime_error or std::invalid_argument with a sentence, before anything has run, when the recording is
// not of such a world, a port is not the tester's or has two devices, or the file cannot be written.
nlohmann::json runLive(World& world, LiveSpec spec, const LiveHooks& hooks, RunMeter& meter);

}  // namespace sallyport::sim
