// SPDX-License-Identifier: Apache-2.0
// The management CPU's end of a punt stream, always ready. It reads the header in front of each
// frame, counts frames by reason, and queues them for software. Its capture holds the frame without
// the header; the record's comment says what the header said.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/beat.h"
#include "wire/capture.h"
#include "wire/punt_queue.h"

namespace sallyport::sim {

// PuntReason and PuntGroup of regs/*.rdl, in order.
const char* puntReasonName(uint8_t reason);
const char* puntGroupName(uint8_t group);
inline constexpr int kPuntReasons = 29;
inline constexpr int kPuntGroups = 25;
// Whether a frame of the reason came by an SA, which its header names.
bool puntIsOfTunnel(uint8_t reason);

// The header, of the register description: the bits of its fields, of one number that comes highest
// byte first, and what they say.
struct PuntHeader {
  static constexpr size_t kBytes = 16;
  struct Place {
    const char* name;
    size_t low, bits;
  };
  static constexpr std::array<Place, 9> kPlaces{{{"port", 120, 8},
                                                 {"reason", 112, 8},
                                                 {"group", 104, 8},
                                                 {"network", 98, 6},
                                                 {"hairpin", 97, 1},
                                                 {"injected", 96, 1},
                                                 {"length", 80, 16},
                                                 {"sa", 64, 16},
                                                 {"cycles", 0, 64}}};

  uint8_t port = 0, reason = 0, group = 0, network = 0;
  bool hairpin = false, injected = false;
  uint16_t length = 0, sa = 0;
  uint64_t cycles = 0;

  // Throws ChipFault if `punted`, header and frame, is not as the header says.
  static PuntHeader read(const std::vector<uint8_t>& punted);
};

class PuntCollector {
 public:
  void push(const MacBeat& beat, Cycle now);
  void setCapture(std::unique_ptr<Capture> capture) { capture_ = std::move(capture); }
  Capture* capture() { return capture_.get(); }
  // Where frames wait for software; may be null.
  void setQueue(PuntQueue* queue) { queue_ = queue; }
  // Frames by reason; the last entry counts reasons that have no name.
  const std::array<int64_t, kPuntReasons + 1>& frames() const { return frames_; }

 private:
  std::vector<uint8_t> partial_;
  std::array<int64_t, kPuntReasons + 1> frames_{};
  std::unique_ptr<Capture> capture_;
  PuntQueue* queue_ = nullptr;
};

}  // namespace sallyport::sim
