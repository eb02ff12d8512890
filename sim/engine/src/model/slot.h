// SPDX-License-Identifier: Apache-2.0
// What a lane keeps of each packet in it.
#pragma once

#include <cstdint>
#include <vector>

#include "model/esp_transform.h"

namespace sallyport::model {

// Most slots a lane may have (LaneConfig).
inline constexpr uint32_t kMostSlots = 256;

// How a lane is built: places of the slow ring and of the fast one, which comes first.
struct Shape {
  bool encrypt;
  uint32_t slots[2];
  uint32_t beats[2];
};

// The slots of fast packets, in the order in which they come and go.
struct Pointer {
  uint32_t slots, next;
  static Pointer of(const Shape& shape) { return {shape.slots[1], 0}; }
  int16_t slot() const { return static_cast<int16_t>(next); }
  void move() { next = next + 1 == slots ? 0 : next + 1; }
};

struct Slot {
  Job job;
  std::vector<uint8_t> bytes;
  // Of the frame, once all of it has come in.
  uint32_t text;
  uint8_t beats;

  // Slow packets: its number among those of the lane.
  uint32_t number = 0;

  // The bits of Lane.scala.
  bool occupied = false, complete = false, malformed = false, killed = false, done = false;

  // ChainSequence: the next step.
  bool chainText = false;
  uint16_t chainIndex = 0, chainLeft = 0;

  // HashSchedule: the next unit, beats announced, and what the packet is waiting for.
  uint16_t unit = 0, lastUnit = 0, announced = 0;
  bool outer = false, waiting = false, whole = false, fresh = false;
};

using Slots = std::vector<Slot>;

}  // namespace sallyport::model
