// SPDX-License-Identifier: Apache-2.0
// An Ethernet frame on a cable, and the two ends of a cable.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/sim_time.h"

namespace sallyport::sim {

inline constexpr Tick kNever = std::numeric_limits<Tick>::max();

struct Frame {
  // From the destination address to the last byte before the FCS.
  std::vector<uint8_t> bytes;
  bool badFcs = false;
  // When the first preamble bit stands at the port.
  Tick start = 0;
  // Of a frame of the management CPU: it goes by the inner chip's policies, and not out of a port.
  bool encrypt = false;

  // Length with FCS, as RFC 2544 counts it.
  int64_t length() const { return static_cast<int64_t>(bytes.size()) + kFcsBytes; }
  Tick firstBit() const { return start + kPreambleBytes * kTicksPerByte; }
  Tick lastBit() const { return firstBit() + length() * kTicksPerByte; }
};

// The frames that come into a port. Frames have rising starts and never overlap on the line.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  // Called once before each epoch, with the chip's own thread.
  virtual void beginEpoch(int64_t epoch) { (void)epoch; }
  // Start of the next frame, kNever if none is known yet.
  virtual Tick nextStart() = 0;
  virtual Frame pop() = 0;
};

// What leaves a port. A frame is handed over whole as soon as its start is decided, which is before
// it is on the line.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void receive(Frame frame, int64_t epoch) = 0;
};

}  // namespace sallyport::sim
