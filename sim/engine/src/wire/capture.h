// SPDX-License-Identifier: Apache-2.0
// A capture of one port. Records go to the file in the order of their timestamps, although a
// transmitted frame is known before it starts.
#pragma once

#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/frame.h"
#include "wire/pcapng_writer.h"

namespace sallyport::sim {

class Capture {
 public:
  // Which frames to keep: into the box, out of it.
  struct Choice {
    bool in = false, out = false;
  };

  Capture(const std::string& path, const std::string& interfaceName, Choice choice)
      : writer_(path, interfaceName), choice_(choice) {}

  void in(const Frame& frame) {
    if (choice_.in)
      add(frame.firstBit(), frame.bytes, PcapngWriter::Direction::kInbound, frame.badFcs ? "bad FCS" : "");
  }
  void out(const Frame& frame) {
    if (choice_.out)
      add(frame.firstBit(), frame.bytes, PcapngWriter::Direction::kOutbound, frame.badFcs ? "bad FCS" : "");
  }
  void add(Tick tick, std::vector<uint8_t> bytes, PcapngWriter::Direction direction, std::string comment);

  // Writes the records that are older than `now`; add no older one afterwards.
  void advance(Tick now);
  void close();

 private:
  struct Record {
    Tick tick;
    int64_t order;
    PcapngWriter::Direction direction;
    std::vector<uint8_t> bytes;
    std::string comment;
  };
  struct Later {
    bool operator()(const Record& a, const Record& b) const {
      return a.tick != b.tick ? a.tick > b.tick : a.order > b.order;
    }
  };

  PcapngWriter writer_;
  Choice choice_;
  int64_t order_ = 0;
  std::priority_queue<Record, std::vector<Record>, Later> pending_;
};

}  // namespace sallyport::sim
