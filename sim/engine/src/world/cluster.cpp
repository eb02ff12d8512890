// SPDX-License-Identifier: Apache-2.0
#include "world/cluster.h"

#include <stdexcept>

namespace sallyport::sim {

Cluster::Cluster(const ClusterOptions& options, FrameSource* nearSource, FrameSink* nearSink, FrameSource* farSource,
                 FrameSink* farSink)
    : options_(options) {
  if (options.nodes < 1 || options.nodes > kMostNodes)
    throw std::invalid_argument("a cluster has 1 to " + std::to_string(kMostNodes) + " nodes, not " +
                                std::to_string(options.nodes));
  std::vector<int> nearRed, nearBlack, farRed, farBlack;
  for (int box = 0; box < 2 * options.nodes; box++) {
    const bool isNear = box < options.nodes;
    for (auto* ports : {isNear ? &nearRed : &farRed, isNear ? &nearBlack : &farBlack}) {
      ports->push_back(static_cast<int>(ports_.size()));
      ports_.push_back(std::make_unique<Cabled>(ports_.size()));
    }
  }
  join("tester>near", {}, nearSource, nearRed, nullptr);
  join("near>far", nearBlack, nullptr, farBlack, nullptr);
  join("far>tester", farRed, nullptr, {}, farSink);
  join("tester>far", {}, farSource, farRed, nullptr);
  join("far>near", farBlack, nullptr, nearBlack, nullptr);
  join("near>tester", nearRed, nullptr, {}, nearSink);
}

void Cluster::join(const std::string& name, const std::vector<int>& from, FrameSource* tester,
                   const std::vector<int>& to, FrameSink* sink) {
  auto output = std::make_unique<SwitchOutput>(name, options_.switchLatencyNs, options_.queueBytes);
  for (const int number : from) output->addInput(&ports_[number]->up);
  if (tester) output->setTester(tester);
  for (const int number : to) output->addReceiver(&ports_[number]->toBox);
  if (sink) output->addReceiver(sink);
  outputs_.push_back(std::move(output));
}

bool Cluster::quiet() const {
  for (const auto& output : outputs_)
    if (!output->quiet()) return false;
  for (const auto& port : ports_)
    if (!port->up.empty() || !port->down.empty()) return false;
  return true;
}

std::vector<Cluster::NamedCable> Cluster::cables() const {
  std::vector<NamedCable> all;
  for (size_t i = 0; i < ports_.size(); i++) {
    const std::string name = "box" + std::to_string(i / 2) + (i % 2 ? ".black" : ".red");
    all.push_back({name + ">switch", &ports_[i]->toSwitch});
    all.push_back({"switch>" + name, &ports_[i]->toBox});
  }
  return all;
}

std::vector<CableSender*> Cluster::cablesOf(int box) const {
  std::vector<CableSender*> all;
  for (const int number : {2 * box, 2 * box + 1}) {
    all.push_back(&ports_.at(number)->toSwitch);
    all.push_back(&ports_.at(number)->toBox);
  }
  return all;
}

}  // namespace sallyport::sim
