// SPDX-License-Identifier: Apache-2.0
// The command "capture": which ports and punt streams of a world are written to files.
#pragma once

#include "base/fields.h"
#include "world/world.h"

namespace sallyport::sim {

// Begins a capture of a port or punt stream, in place of one that is on; without "file" ends it.
// Throws std::invalid_argument or std::runtime_error with a sentence.
void setCapture(World& world, Fields& fields);
bool capturing(const World& world);
void closeCaptures(const World& world);

}  // namespace sallyport::sim
