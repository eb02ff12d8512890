// SPDX-License-Identifier: Apache-2.0
// The commands "status", of MACs, punt streams, links and cables of a world so far, and "memories".
#pragma once

#include <nlohmann/json.hpp>

#include "world/world.h"

namespace sallyport::sim {

// {cycle, chips, links, cables}; of a cluster with switches
nlohmann::json statusOf(World& world);
// Frames and drops of each output of the switches, since the start.
nlohmann::json switchesOf(const Cluster& cluster);
// {memories: [{name, rows, bits}]}
nlohmann::json memoriesOf(World& world);
// {used_rows: [row]}, those that are not all zero
nlohmann::json usedRowsOf(World& world, const std::string& memory);

}  // namespace sallyport::sim
