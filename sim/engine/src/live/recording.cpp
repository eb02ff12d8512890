// SPDX-License-Identifier: Apache-2.0
#include "live/recording.h"

#include <tuple>

namespace sallyport::sim {

namespace {
std::vector<std::string> names(const World& world) {
  std::vector<std::string> all;
  for (const auto& port : world.ports()) all.push_back(port.text());
  return all;
}
}  // namespace

bool Recording::Later::operator()(const Record& a, const Record& b) const {
  return std::tie(a.tick, a.port, a.order) > std::tie(b.tick, b.port, b.order);
}

Recording::Recording(World& world, const std::string& path) : world_(world), writer_(path, names(world)) {
  for (const auto& port : world.ports()) {
    ports_.push_back(world.portNode(port).port());
    logs_.push_back(std::make_unique<PortLog>());
    ports_.back()->log = logs_.back().get();
  }
}

Recording::~Recording() {
  for (MacPort* port : ports_) port->log = nullptr;
}

void Recording::collect() {
  for (uint32_t port = 0; port < logs_.size(); port++)
    for (auto& entry : logs_[port]->take()) {
      const Tick tick = entry.frame.firstBit();
      pending_.push({tick, port, order_++, std::move(entry)});
    }
}

void Recording::write(Tick before) {
  while (!pending_.empty() && pending_.top().tick < before) {
    const Record& record = pending_.top();
    const Frame& frame = record.entry.frame;
    writer_.write(ticksToWholeNs(record.tick), frame.bytes.data(), frame.bytes.size(), record.entry.direction,
                  frame.badFcs ? "bad FCS" : "", record.port);
    pending_.pop();
  }
}

void Recording::advance() {
  collect();
  write(world_.tick());
}

void Recording::mark() {
  if (marked_) return;
  marked_ = true;
  writer_.writeStatistics(ticksToWholeNs(world_.tick()), 0, kSoftware);
  writer_.flush();
}

void Recording::close() {
  collect();
  write(kNever);
  for (uint32_t port = 0; port < logs_.size(); port++) writer_.writeStatistics(ticksToWholeNs(world_.tick()), port);
  writer_.close();
}

}  // namespace sallyport::sim
