// SPDX-License-Identifier: Apache-2.0
#include "control/status.h"

#include "wire/punt.h"

namespace sallyport::sim {

using nlohmann::json;

json statusOf(World& world) {
  json chips = json::array(), links = json::array(), cables = json::array();
  for (const auto& node : world.nodes()) {
    json chip = {{"name", node->name()}, {"ready", node->ready()}};
    if (node->port()) {
      chip["mac_rx_frames"] = node->port()->rx.frames();
      chip["mac_tx_frames"] = node->port()->tx.frames();
      json punts = json::object();
      for (int reason = 0; reason <= kPuntReasons; reason++)
        if (node->punt().frames()[reason])
          punts[puntReasonName(static_cast<uint8_t>(reason))] = node->punt().frames()[reason];
      chip["punted"] = punts;
    }
    chips.push_back(chip);
  }
  for (const auto& link : world.links())
    links.push_back({{"name", link.name},
                     {"words", link.transmitter->words()},
                     {"damaged_words", link.transmitter->fault.damagedWords()}});
  for (const auto& cable : world.cables()) {
    cables.push_back({{"name", cable.name},
                      {"lost", cable.sender->lost()},
                      {"duplicated", cable.sender->duplicated()},
                      {"reordered", cable.sender->reordered()}});
    if (world.cluster()) cables.back()["cut_off"] = cable.sender->cutOff();
  }
  json status = {{"cycle", world.now()}, {"chips", chips}, {"links", links}, {"cables", cables}};
  if (world.cluster()) status["switches"] = switchesOf(*world.cluster());
  return status;
}

json switchesOf(const Cluster& cluster) {
  json outputs = json::array();
  for (const auto& output : cluster.outputs())
    outputs.push_back({{"output", output->name()},
                       {"frames", output->queue().forwarded()},
                       {"dropped_queue_full", output->queue().dropped()},
                       {"deepest_bytes", output->queue().deepest()}});
  return outputs;
}

json memoriesOf(World& world) {
  json memories = json::array();
  for (const auto& node : world.nodes())
    for (const auto& memory : node->memories())
      memories.push_back({{"name", node->name() + "." + memory.name}, {"rows", memory.rows}, {"bits", memory.bits}});
  return {{"memories", memories}};
}

json usedRowsOf(World& world, const std::string& name) {
  const ChipMemory memory = world.memory(name).second;
  json rows = json::array();
  for (int64_t row = 0; row < memory.rows; row++)
    if (memory.holds(row)) rows.push_back(row);
  return {{"used_rows", rows}};
}

}  // namespace sallyport::sim
