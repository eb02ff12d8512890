// SPDX-License-Identifier: Apache-2.0
// The recording of a live run: every frame into and out of every port of a world, in one pcapng file with an interface
// a port, in the order of simulated time. docs/reference/simulator-protocol.md says what stands in it; readRecording()
// is its reader.
//
// The same simulation gives the same bytes, whatever the number of threads: frames of one time are in the order of
// their ports, then as they came.
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

  // Between epochs: writes what is older than now.
  void advance();
  // What was written so far can be read in the file.
  void flush() { writer_.flush(); }
  // Software takes part from now on, of which a recording holds nothing: says so in the file at once, with the first
  // call.
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
