// SPDX-License-Identifier: Apache-2.0
// The recording of a live run: one pcapng file with every frame into and out of every port of a
// world, in the order of simulated time. Each port has its own interface in the file.
// docs/reference/simulator-protocol.md describes the contents; readRecording() reads them. The same
// simulation gives the same bytes with any number of threads: frames of one time stand in the order
// of their ports, then of their arrival.
#pragma once

#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "wire/port_log.h"
#include "world/world.h"

namespace sallyport::sim {

class Recording {
 public:
  // Begins to record; throws std::runtime_error with a sentence when the file cannot be written.
  Recording(World& world, const std::string& path);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // The comment of a recording that is not the whole story.
  static constexpr const char* kSoftware = "software accessed registers or injected frames from here on";

  // Between epochs: writes the frames that are older than now.
  void advance();
  // After this call a reader of the file sees all frames written so far.
  void flush() { writer_.flush(); }
  // Software takes part from now on, and a recording holds none of its requests. The first call
  // says so in the file at once.
  void mark();
  // Writes the rest, and when the run ended.
  void close();

 private:
  struct Record {
    Tick tick;
    uint32_t port;
    int64_t order;
    PortLog::Entry entry;
  };
  struct Later {
    bool operator()(const Record& a, const Record& b) const;
  };

  void collect();
  void write(Tick before);

  World& world_;
  PcapngWriter writer_;
  std::vector<MacPort*> ports_;
  std::vector<std::unique_ptr<PortLog>> logs_;
  int64_t order_ = 0;
  bool marked_ = false;
  std::priority_queue<Record, std::vector<Record>, Later> pending_;
};

}  // namespace sallyport::sim
