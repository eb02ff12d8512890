// SPDX-License-Identifier: Apache-2.0
#include "live/live.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>

#include "live/live_port.h"
#include "live/recording.h"

namespace sallyport::sim {

namespace {

using nlohmann::json;

// How long a run that was told to stop waits for boxes that never get quiet, in times of `quiet`.
constexpr Cycle kDrain = 4;

// Nanoseconds of a frame's first bit, or of the end of an epoch, are less than half a cycle off,
// either way.
Cycle cycleOf(int64_t ns) { return (ns * 3 + 5) / 10; }

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

class LiveRun {
 public:
  LiveRun(World& world, LiveSpec spec, const LiveHooks& hooks, RunMeter& meter)
      : world_(world), spec_(std::move(spec)), hooks_(hooks), meter_(meter) {
    for (const auto& name : world.testerPorts()) {
      std::unique_ptr<FrameDevice> device;
      for (auto& tap : spec_.taps)
        if (tap.port == name) {
          if (device) throw std::invalid_argument("port " + name.text() + " has two devices");
          device = std::move(tap.device);
        }
      ports_.push_back(std::make_unique<LivePort>(name, std::move(device)));
    }
    for (const auto& tap : spec_.taps) world.testerPort(tap.port);  // or a sentence
    for (const auto& name : world.ports()) {
      const MacPort& port = *world.portNode(name).port();
      before_.push_back({port.rx.frames(), port.tx.frames()});
    }
    if (spec_.replay) schedule();
    if (!spec_.record.empty()) recording_.emplace(world, spec_.record);
  }

  json run() {
    const World::Unplug unplug{world_};
    for (auto& port : ports_) world_.testerPort(port->name()).plug(port.get(), port.get());
    if (spec_.replay)
      replay();
    else
      live();
    if (recording_) recording_->close();
    return result();
  }

 private:
  void schedule() {
    const PcapngFile& file = *spec_.replay;
    if (std::count(file.comments.begin(), file.comments.end(), Recording::kSoftware))
      throw std::invalid_argument(spec_.replayPath +
                                  ": software accessed registers or injected frames in this run, which is in no "
                                  "recording (keys would be), so it cannot be replayed");
    std::vector<std::string> names;
    for (const auto& port : world_.ports()) names.push_back(port.text());
    if (file.interfaces != names)
      throw std::invalid_argument(spec_.replayPath + ": is of the interfaces " + list(file.interfaces) +
                                  ", but the simulation has the ports " + list(names));
    for (const auto& frame : file.frames) {
      const Cycle cycle = cycleOf(frame.ns);
      for (auto& port : ports_) {
        if (!frame.inbound || port->name().text() != names[frame.interfaceNumber]) continue;
        if (cycle < world_.now())
          throw std::invalid_argument(spec_.replayPath + ": has a frame of cycle " + std::to_string(cycle) +
                                      ", and the simulation is at " + std::to_string(world_.now()) +
                                      " already: it was not recorded from the beginning of a run");
        port->schedule(cycle, frame.bytes);
      }
    }
  }

  // True, too, if no beat has ever crossed a port: then no frame can be on its way.
  bool quiet() const {
    const auto& nodes = world_.nodes();
    const bool untouched = std::all_of(nodes.begin(), nodes.end(),
                                       [](const auto& node) { return node->lastActivity() == 0 && node->quiet(); });
    return untouched || world_.quietFor(spec_.quiet);
  }

  void epoch() {
    world_.runEpoch();
    if (recording_) recording_->advance();
  }

  // To the end that the recording tells, or until all is quiet.
  void replay() {
    const Cycle end = spec_.replay->endNs < 0 ? -1 : cycleOf(spec_.replay->endNs);
    const Cycle first = world_.now();
    auto done = [&] {
      for (const auto& port : ports_)
        if (!port->idle()) return false;
      return end < 0 ? quiet() : world_.now() >= end;
    };
    while (!done() && hooks_.stops({}, false) == 0) {
      epoch();
      const auto passed = static_cast<double>(world_.now() - first);
      meter_.report("live", end > first ? std::min(1.0, passed / static_cast<double>(end - first)) : 0);
    }
  }

  void live() {
    json taps = json::array();
    std::vector<int> descriptors;
    for (const auto& port : ports_)
      if (const FrameDevice* device = port->device()) {
        taps.push_back({{"port", port->name().text()}, {"device", device->name()}, {"created", device->created()}});
        descriptors.push_back(device->descriptor());
      }
    hooks_.ready(taps);
    Cycle limit = std::numeric_limits<Cycle>::max();
    for (bool stopping = false; world_.now() < limit;) {
      const int stops = hooks_.stops({}, false);
      if (stops > 1) return;
      if (!stopping && (stops || !gone_.empty())) {
        stopping = true;
        limit = world_.now() + kDrain * spec_.quiet;
      }
      if (!stopping) each([this](LivePort& port) { port.take(world_.now()); });
      const bool needsTime = serve() && !stopping;
      if (quiet() && !needsTime) {
        if (stopping) return;
        if (gone_.empty()) sleep(descriptors);
        continue;
      }
      epoch();
      each([](LivePort& port) { port.deliver(); });
    }
  }

  // True while software needs simulated time.
  bool serve() {
    software_ = hooks_.serve();
    if (recording_ && (software_.requests || software_.injected)) recording_->mark();
    return software_.needsTime;
  }

  void sleep(const std::vector<int>& descriptors) {
    if (recording_) recording_->flush();
    const auto begin = std::chrono::steady_clock::now();
    hooks_.stops(descriptors, true);
    asleep_ += std::chrono::steady_clock::now() - begin;
  }

  // A port whose device goes away ends the run. The other ports keep their devices until the frames
  // on their way are out.
  template <class Action>
  void each(Action action) {
    for (auto& port : ports_) try {
        action(*port);
      } catch (const DeviceGone& error) {
        gone_ = error.what();
        port->lose();
      }
  }

  json result() const {
    json ports = json::array();
    for (size_t i = 0; i < before_.size(); i++) {
      const PortName name = world_.ports()[i];
      const MacPort& mac = *world_.portNode(name).port();
      json row = {{"port", name.text()},
                  {"in_frames", mac.rx.frames() - before_[i].in},
                  {"out_frames", mac.tx.frames() - before_[i].out}};
      for (const auto& port : ports_)
        if (port->name() == name && !port->deviceName().empty()) {
          row["device"] = port->deviceName();
          row["undelivered"] = port->undelivered();
        }
      ports.push_back(row);
    }
    json all = {{"ports", ports},
                {"quiescent", quiet()},
                {"asleep_s", std::chrono::duration<double>(asleep_).count()},
                {"software", {{"requests", software_.requests}, {"injected", software_.injected}}}};
    if (!gone_.empty()) all["gone"] = gone_;
    return all;
  }

  struct Frames {
    int64_t in, out;
  };

  World& world_;
  LiveSpec spec_;
  const LiveHooks& hooks_;
  RunMeter& meter_;
  std::vector<std::unique_ptr<LivePort>> ports_;
  std::vector<Frames> before_;
  std::optional<Recording> recording_;
  LiveSoftware software_;
  std::string gone_;
  std::chrono::steady_clock::duration asleep_{};
};

}  // namespace

json runLive(World& world, LiveSpec spec, const LiveHooks& hooks, RunMeter& meter) {
  return LiveRun(world, std::move(spec), hooks, meter).run();
}

}  // namespace sallyport::sim
