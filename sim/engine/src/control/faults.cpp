// SPDX-License-Identifier: Apache-2.0
#include "control/faults.h"

namespace sallyport::sim {

namespace {

constexpr double kLongestWaitUs = 1e9;

void setUpset(World& world, Fields& fields) {
  const auto [node, memory] = world.memory(fields.need<std::string>("upset"));
  fields.at("row");
  fields.at("bit");
  const int64_t row = fields.whole("row", 0, 0, memory.rows - 1);
  const auto bit = static_cast<int>(fields.whole("bit", 0, 0, memory.bits - 1));
  const auto after = fields.get<double>("after_us", 0);
  fields.end();
  if (!(after >= 0 && after <= kLongestWaitUs))
    throw std::invalid_argument(fields.where() + ": \"after_us\" must be from 0 to 1e9");
  node->upsets().add(world.now() + microsecondsToCycles(after), memory, row, bit);
}

// Cuts a node of a cluster off from both switches, or back on.
void setNode(World& world, Fields& fields) {
  if (!world.cluster()) throw std::invalid_argument("a node can be cut off in a cluster alone: start with --nodes");
  const auto box = static_cast<int>(fields.whole("node", 0, 0, world.boxes() - 1));
  const bool up = fields.get<bool>("up", false);
  const auto after = fields.get<double>("down_after_us", 0), lasts = fields.get<double>("down_for_us", kLongestWaitUs);
  fields.end();
  if (!(after >= 0 && after <= kLongestWaitUs && lasts >= 0 && lasts <= kLongestWaitUs))
    throw std::invalid_argument(fields.where() + ": times must be from 0 to 1e9");
  const Cycle from = world.now() + microsecondsToCycles(after);
  const Cycle to = from + microsecondsToCycles(lasts);
  for (auto* cable : world.cluster()->cablesOf(box)) {
    if (up)
      cable->mend();
    else
      cable->cut(from * coreClock.ticksPerCycle, to * coreClock.ticksPerCycle);
  }
}

}  // namespace

void setFault(World& world, Fields& fields, uint64_t otherwise) {
  const auto seed = fields.get<uint64_t>("seed", otherwise);
  if (fields.get<bool>("clear", false)) {
    fields.end();
    for (auto& link : world.links()) link.transmitter->fault.clear();
    for (auto& cable : world.cables()) {
      cable.sender->setFault({}, seed);
      cable.sender->mend();
    }
    for (auto& node : world.nodes()) node->upsets().clear();
    return;
  }
  if (fields.has("upset")) {
    setUpset(world, fields);
    return;
  }
  if (fields.has("node")) {
    setNode(world, fields);
    return;
  }
  if (fields.has("cable")) {
    const auto name = fields.need<std::string>("cable");
    CableFault fault;
    fault.loss = fields.get<double>("loss", 0);
    fault.duplicate = fields.get<double>("duplicate", 0);
    fault.reorder = fields.get<double>("reorder", 0);
    fault.reorderDelay = nsToTicks(fields.whole("reorder_delay_ns", 1000, 0, 1'000'000'000));
    fields.end();
    for (auto& cable : world.cables())
      if (cable.name == name) {
        cable.sender->setFault(fault, seed);
        return;
      }
    throw std::invalid_argument("there is no cable \"" + name + "\"");
  }
  const auto name = fields.need<std::string>("link");
  const auto links = world.links();
  for (size_t i = 0; i < links.size(); i++) {
    if (links[i].name != name) continue;
    LinkFault& fault = links[i].transmitter->fault;
    if (fields.has("ber")) fault.setBitErrors(fields.need<double>("ber"), seed, i);
    if (fields.has("burst_rate"))
      fault.setBursts(fields.need<double>("burst_rate"), static_cast<int>(fields.whole("burst_words", 1, 1, 1'000'000)),
                      seed, i);
    if (fields.has("down_for_us")) {
      const Cycle from = world.now() + microsecondsToCycles(fields.get<double>("down_after_us", 0));
      fault.addDown({from, from + microsecondsToCycles(fields.need<double>("down_for_us"))});
    }
    fields.end();
    return;
  }
  throw std::invalid_argument("there is no link \"" + name + "\"");
}

}  // namespace sallyport::sim
