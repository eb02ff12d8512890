// SPDX-License-Identifier: Apache-2.0
#include "world/world.h"

#include <stdexcept>

#include "chip/chip_factory.h"

namespace sallyport::sim {

namespace {
constexpr ChipKind kKinds[] = {ChipKind::kInner, ChipKind::kCrypto, ChipKind::kOuter};
}

World::World(const WorldOptions& options) : options_(options) {
  if (options.cluster.nodes > 0) {
    addCluster();
  } else {
    if (options.boxes != 1 && options.boxes != 2) throw std::invalid_argument("boxes must be 1 or 2");
    if (options.cableLatencyNs < 0) throw std::invalid_argument("the cable's latency must not be negative");
    if (options.boxes == 2) addCable();
  }
  for (int box = 0; box < options_.boxes; box++) addBox(box);
  std::vector<Actor*> all;
  for (auto& node : nodes_) all.push_back(node.get());
  if (cluster_)
    for (const auto& output : cluster_->outputs()) all.push_back(output.get());
  scheduler_ = std::make_unique<Scheduler>(all, options.threads, options.lockStep);
}

void World::addCable() {
  for (uint64_t i = 0; i < 2; i++) {
    cableChannels_.push_back(std::make_unique<FrameChannel>());
    senders_.push_back(std::make_unique<CableSender>(cableChannels_[i].get(), i));
  }
  for (int i = 0; i < 2; i++)
    receivers_.push_back(std::make_unique<CableReceiver>(
        cableChannels_[1 - i].get(), microsecondsToCycles(static_cast<double>(options_.cableLatencyNs) / 1000)));
}

void World::addCluster() {
  for (int side = 0; side < 2; side++) red_.push_back(std::make_unique<TesterPort>());
  TesterPort *near = red_[0].get(), *far = red_[1].get();
  cluster_ = std::make_unique<Cluster>(options_.cluster, near, near, far, far);
  options_.boxes = 2 * options_.cluster.nodes;
}

void World::addBox(int box) {
  const size_t first = linkChannels_.size();
  for (int i = 0; i < 4; i++) linkChannels_.push_back(std::make_unique<LinkChannel>());
  LinkChannel* innerToCrypto = linkChannels_[first].get();
  LinkChannel* cryptoToInner = linkChannels_[first + 1].get();
  LinkChannel* cryptoToOuter = linkChannels_[first + 2].get();
  LinkChannel* outerToCrypto = linkChannels_[first + 3].get();
  const auto phase = static_cast<uint32_t>(first);

  for (ChipKind kind : kKinds) {
    const std::string name = "box" + std::to_string(box) + "." + chipName(kind);
    nodes_.push_back(std::make_unique<Node>(name, makeChip(kind, name)));
  }
  Node& inner = node(box, ChipKind::kInner);
  Node& crypto = node(box, ChipKind::kCrypto);
  Node& outer = node(box, ChipKind::kOuter);
  inner.addLink(innerToCrypto, cryptoToInner, phase);
  crypto.addLink(cryptoToInner, innerToCrypto, phase + 1);
  crypto.addLink(cryptoToOuter, outerToCrypto, phase + 2);
  outer.addLink(outerToCrypto, cryptoToOuter, phase + 3);
  inner.link(0).far = &crypto.link(0).tx.fault;
  crypto.link(0).far = &inner.link(0).tx.fault;
  crypto.link(1).far = &outer.link(0).tx.fault;
  outer.link(0).far = &crypto.link(1).tx.fault;

  if (cluster_) {
    inner.setPort(cluster_->red(box).source, cluster_->red(box).sink);
    outer.setPort(cluster_->black(box).source, cluster_->black(box).sink);
    return;
  }
  red_.push_back(std::make_unique<TesterPort>());
  inner.setPort(red_.back().get(), red_.back().get());
  if (options_.boxes == 1) {
    black_.push_back(std::make_unique<TesterPort>());
    outer.setPort(black_.back().get(), black_.back().get());
  } else {
    outer.setPort(receivers_[box].get(), senders_[box].get());
  }
}

void World::untilReady(const std::function<void()>& epoch) {
  const Cycle limit = now() + kReadyLimit;
  for (std::string late = "?"; !late.empty();) {
    if (now() > limit) throw std::runtime_error("not ready after " + std::to_string(kReadyLimit) + " cycles:" + late);
    epoch();
    late.clear();
    for (const auto& node : nodes_)
      if (!node->ready()) late += " " + node->name();
  }
}

void World::reset() {
  while (now() <= Node::kLinkUpCycle) runEpoch();
  untilReady([this] { runEpoch(); });
}

void World::resetBox(int box, const std::function<void()>& epoch) {
  for (ChipKind kind : kKinds) node(box, kind).reset();
  untilReady(epoch);
}

bool World::quietFor(Cycle cycles) const {
  for (const auto& node : nodes_)
    if (!node->quiet() || node->now() - node->lastActivity() < cycles) return false;
  for (const auto& channel : cableChannels_)
    if (!channel->empty()) return false;
  return !cluster_ || cluster_->quiet();
}

Node& World::portNode(const PortName& port) {
  if (port.box < 0 || port.box >= options_.boxes || (port.side != "red" && port.side != "black"))
    throw std::invalid_argument("there is no port " + port.text() + " with " + std::to_string(options_.boxes) +
                                " box(es)");
  return node(port.box, port.side == "red" ? ChipKind::kInner : ChipKind::kOuter);
}

TesterPort& World::testerPort(const PortName& port) {
  if (cluster_) {
    for (size_t side = 0; side < 2; side++)
      if (port == testerPorts()[side]) return *red_[side];
    throw std::invalid_argument("the tester is not on port " + port.text() +
                                ": in a cluster its ports are near.red and far.red");
  }
  portNode(port);
  if (port.side == "red") return *red_[port.box];
  if (options_.boxes == 2)
    throw std::invalid_argument("port " + port.text() + " is cabled to the other box, not to the tester");
  return *black_[port.box];
}

std::pair<Node*, ChipMemory> World::memory(const std::string& name) {
  for (const auto& node : nodes_) {
    if (name.rfind(node->name() + ".", 0) != 0) continue;
    for (const auto& memory : node->memories())
      if (node->name() + "." + memory.name == name) return {node.get(), memory};
  }
  throw std::invalid_argument("there is no memory \"" + name + "\": the command \"memories\" lists them");
}

Node& World::injectNode(const PortName& stream) {
  if (stream.box < 0 || stream.box >= options_.boxes)
    throw std::invalid_argument("there is no inject stream " + stream.text() + " with " +
                                std::to_string(options_.boxes) + " box(es)");
  return node(stream.box, stream.side == "outer.inject" ? ChipKind::kOuter : ChipKind::kInner);
}

std::vector<PortName> World::testerPorts() const {
  if (cluster_) return {{PortName::kSwitch, "near.red"}, {PortName::kSwitch, "far.red"}};
  if (options_.boxes == 1) return {{0, "red"}, {0, "black"}};
  return {{0, "red"}, {1, "red"}};
}

std::vector<PortName> World::ports() const {
  std::vector<PortName> all;
  for (int box = 0; box < options_.boxes; box++)
    for (const char* side : {"red", "black"}) all.push_back({box, side});
  return all;
}

std::vector<World::NamedLink> World::links() {
  std::vector<NamedLink> all;
  for (int box = 0; box < options_.boxes; box++) {
    const std::string prefix = "box" + std::to_string(box) + ".";
    all.push_back({prefix + "inner>crypto", &node(box, ChipKind::kInner).link(0).tx});
    all.push_back({prefix + "crypto>inner", &node(box, ChipKind::kCrypto).link(0).tx});
    all.push_back({prefix + "crypto>outer", &node(box, ChipKind::kCrypto).link(1).tx});
    all.push_back({prefix + "outer>crypto", &node(box, ChipKind::kOuter).link(0).tx});
  }
  return all;
}

std::vector<World::NamedCable> World::cables() {
  if (cluster_) return cluster_->cables();
  std::vector<NamedCable> all;
  for (size_t i = 0; i < senders_.size(); i++)
    all.push_back({"box" + std::to_string(i) + ">box" + std::to_string(1 - i), senders_[i].get()});
  return all;
}

}  // namespace sallyport::sim
