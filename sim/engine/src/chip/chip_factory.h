// SPDX-License-Identifier: Apache-2.0
// Where chips come from: the Verilated ones or, in another executable, the stand-ins.
#pragma once

#include <memory>
#include <string>

#include "chip/chip.h"

namespace sallyport::sim {

std::unique_ptr<Chip> makeChip(ChipKind kind, const std::string& name);

// "rtl", "model" (lanes in C++, everything else RTL) or "stand-in": shown in every result, so that
// a stand-in's figures are never taken for the design's.
const char* chipImplementation();

}  // namespace sallyport::sim
