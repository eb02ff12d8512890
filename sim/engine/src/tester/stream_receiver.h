// SPDX-License-Identifier: Apache-2.0
// The receiving side of the tester at one port.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tester/stream_spec.h"
#include "tester/test_packet.h"

namespace sallyport::sim {

// One stream's arrivals. A frame is reordered if its number is below the next expected one (RFC
// 4737, 3.3). It is a duplicate if it came before, and then counts neither as received nor
// as reordered.
struct StreamArrivals {
  struct Sample {
    uint32_t sequence;
    Tick firstBit;
  };

  const StreamSpec* spec = nullptr;
  std::vector<Sample> samples;
  std::vector<bool> seen;
  uint32_t nextExpected = 0;
  int64_t reordered = 0, duplicated = 0, corrupted = 0;

  void arrive(const Signature& signature, const Frame& frame);
};

// ESP packets of a port in the order of their arrival, checked for order by SPI.
struct EspArrivals {
  struct Sample {
    Tick firstBit;
    int32_t length;
  };
  std::vector<Sample> samples;
  std::map<uint32_t, uint32_t> last;  // by SPI
  int64_t outOfOrder = 0;

  void arrive(const EspPacket& esp, const Frame& frame);
};

class StreamReceiver : public FrameSink {
 public:
  // All streams of the trial; those to another port count as misdirected here.
  StreamReceiver(const std::vector<const StreamSpec*>& specs, PortName port);

  void receive(Frame frame, int64_t epoch) override;

  const StreamArrivals* stream(uint16_t id) const;
  const EspArrivals& esp() const { return esp_; }
  int64_t frames() const { return frames_; }
  int64_t misdirected() const { return misdirected_; }
  // Neither a stream's nor ESP.
  int64_t foreign() const { return foreign_; }
  int64_t badFcs() const { return badFcs_; }

 private:
  PortName port_;
  std::map<uint16_t, StreamArrivals> streams_;
  EspArrivals esp_;
  int64_t frames_ = 0, misdirected_ = 0, foreign_ = 0, badFcs_ = 0;
};

}  // namespace sallyport::sim
