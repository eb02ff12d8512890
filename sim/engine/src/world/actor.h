// SPDX-License-Identifier: Apache-2.0
// What the scheduler runs: a chip with its surroundings, or an output of a switch. What it does in
// an epoch depends on itself and on its channels' tokens of earlier epochs.
#pragma once

#include <cstdint>

namespace sallyport::sim {

class Actor {
 public:
  virtual ~Actor() = default;

  // lookahead cycles.
  virtual void runEpoch() = 0;
  // One cycle, in which tokens are exchanged as well: what lookahead calls do to a world is what
  // an epoch does. The actors of a world all run by the one or all by the other.
  virtual void runCycle() = 0;
  // Processor time so far.
  virtual int64_t busyNs() const = 0;
};

}  // namespace sallyport::sim
