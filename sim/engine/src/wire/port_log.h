// SPDX-License-Identifier: Apache-2.0
// What crossed one port since it was last asked: written by the port's node in an epoch, taken
// between epochs.
#pragma once

#include <utility>
#include <vector>

#include "base/frame.h"
#include "wire/pcapng_writer.h"

namespace sallyport::sim {

class PortLog {
 public:
  using Direction = PcapngWriter::Direction;
  struct Entry {
    Frame frame;
    Direction direction;
  };

  void in(const Frame& frame) { entries_.push_back({frame, Direction::kInbound}); }
  void out(const Frame& frame) { entries_.push_back({frame, Direction::kOutbound}); }
  std::vector<Entry> take() { return std::exchange(entries_, {}); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace sallyport::sim
