// SPDX-License-Identifier: Apache-2.0
// The command "fault": errors on links and cables of a world, from now on, and flipped bits.
#pragma once

#include "base/fields.h"
#include "world/world.h"

namespace sallyport::sim {

// `otherwise` is the seed where the command has none. Throws std::invalid_argument with a sentence.
void setFault(World& world, Fields& fields, uint64_t otherwise);

}  // namespace sallyport::sim
