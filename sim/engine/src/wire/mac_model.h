// SPDX-License-Identifier: Apache-2.0
// The 100GbE MAC of a shell, seen from the core: slot timing in exact integers.
//
// A frame of L bytes (FCS included) takes L + 20 bytes of line: 8 preamble, 12 gap. No
// pause frames.
#pragma once

#include <deque>
#include <stdexcept>
#include <string>

#include "base/beat.h"
#include "base/frame.h"

namespace sallyport::sim {

// Cable to core. Beats leave in line order, at most one a cycle, macRxLatency after their last
// byte was on the line. The last beat of a frame waits for its FCS. There is no back-pressure.
class MacReceiver {
 public:
  explicit MacReceiver(FrameSource* source) : source_(source) {}

  void beginEpoch(int64_t epoch) { source_->beginEpoch(epoch); }

  // Looks at what starts on the line up to the end of this cycle and returns the beat due in it, or
  // null. A frame that starts is passed to `onFrame` (capture).
  template <class OnFrame>
  const MacBeat* cycle(Cycle now, OnFrame onFrame) {
    while (source_->nextStart() < (now + 1) * coreClock.ticksPerCycle) {
      const Frame frame = source_->pop();
      onFrame(frame);
      split(frame);
    }
    if (beats_.empty() || beats_.front().due > now) return nullptr;
    current_ = beats_.front().beat;
    beats_.pop_front();
    return &current_;
  }

  // Drops the frames on the line and behind it, always whole ones.
  void reset() { beats_.clear(); }

  bool idle() { return beats_.empty() && source_->nextStart() == kNever; }
  int64_t frames() const { return frames_; }

 private:
  struct TimedBeat {
    Cycle due;
    MacBeat beat;
  };
  void split(const Frame& frame);

  FrameSource* source_;
  std::deque<TimedBeat> beats_;
  MacBeat current_;
  int64_t frames_ = 0;
};

// Core to cable, through a FIFO of kFifoBytes that holds a frame back until it is whole (a started
// frame cannot wait). Frames shorter than 60 bytes are padded with zeros; the FCS is added. On the
// cable a frame starts macTxLatency after the FIFO.
class MacTransmitter {
 public:
  static constexpr int64_t kFifoBytes = 16384;

  MacTransmitter(FrameSink* sink, std::string name) : sink_(sink), name_(std::move(name)) {}

  // Registered: depends on earlier cycles only.
  bool ready(Cycle now);
  // A beat the core hands over in this cycle. Throws ChipFault when a frame cannot fit the FIFO or
  // a beat is malformed. Returns the finished frame, or null.
  const Frame* push(const MacBeat& beat, Cycle now, int64_t epoch);

  // Drops the frame that is not whole yet.
  void reset();

  bool idle(Cycle now) const { return partial_.empty() && lineFree_ <= now * coreClock.ticksPerCycle; }
  int64_t frames() const { return frames_; }
  int64_t lineBytes() const { return lineBytes_; }

 private:
  struct Leaving {
    Tick start;
    int64_t bytes;
  };

  FrameSink* sink_;
  std::string name_;
  std::vector<uint8_t> partial_;
  std::deque<Leaving> leaving_;
  Frame last_;
  int64_t held_ = 0, frames_ = 0, lineBytes_ = 0;
  Tick lineFree_ = 0;
};

}  // namespace sallyport::sim
