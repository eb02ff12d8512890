// SPDX-License-Identifier: Apache-2.0
// Commands of docs/reference/simulator-protocol.md as specifications: JSON in,
// std::invalid_argument with a sentence if it makes no sense.
#pragma once

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "live/live.h"
#include "tester/replay.h"
#include "tester/trial.h"

namespace sallyport::sim {

PortName parsePort(const std::string& text);

TrialSpec parseTrial(Fields& fields, uint64_t seed);
NextTurn parseContinue(Fields& fields);
ReplaySpec parseReplay(Fields& fields);
// Opens the devices, too, when all else is read.
LiveSpec parseLive(Fields& fields, const std::function<std::unique_ptr<FrameDevice>(const std::string&)>& open);

}  // namespace sallyport::sim
