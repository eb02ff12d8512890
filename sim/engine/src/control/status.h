// SPDX-License-Identifier: Apache-2.0
// The command "status": what crossed MACs, punt streams, links and cables of a world so far.
#pragma once

#include <nlohmann/json.hpp>

#include "world/world.h"

namespace sallyport::sim {

// {cycle, chips, links, cables}
nlohmann::json statusOf(World& world);

}  // namespace sallyport::sim
