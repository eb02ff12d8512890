// SPDX-License-Identifier: Apache-2.0
#include "world/run_meter.h"

namespace sallyport::sim {

RunMeter::RunMeter(World& world, Progress progress)
    : world_(world), progress_(std::move(progress)), firstCycle_(world.now()) {
  for (const auto& node : world.nodes()) {
    busyNs_.push_back(node->busyNs());
    clocks_.push_back(node->clocks());
  }
}

void RunMeter::report(const char* phase, double done) {
  const auto now = Clock::now();
  if (!progress_ || now - reported_ < std::chrono::milliseconds(200)) return;
  reported_ = now;
  const double wall = std::chrono::duration<double>(now - begin_).count();
  if (!progress_(phase, done, static_cast<double>(cycles()) / wall)) throw Cancelled();
}

nlohmann::json RunMeter::json() const {
  const double wall = std::chrono::duration<double>(Clock::now() - begin_).count();
  nlohmann::json chips = nlohmann::json::array();
  for (size_t i = 0; i < world_.nodes().size(); i++) {
    const Node& node = *world_.nodes()[i];
    const double busy = static_cast<double>(node.busyNs() - busyNs_[i]) * 1e-9;
    const auto clocks = node.clocks() - clocks_[i];
    chips.push_back({{"name", node.name()},
                     {"clocks", clocks},
                     {"busy_s", busy},
                     {"clocks_per_s", busy > 0 ? static_cast<double>(clocks) / busy : 0}});
  }
  return {{"sim_cycles", cycles()},
          {"sim_us", cyclesToMicroseconds(cycles())},
          {"wall_s", wall},
          {"cycles_per_s", wall > 0 ? static_cast<double>(cycles()) / wall : 0},
          {"threads", world_.threads()},
          {"lock_step", world_.lockStep()},
          {"chips", chips}};
}

}  // namespace sallyport::sim
