// SPDX-License-Identifier: Apache-2.0
// The management CPU's end of an inject stream. It offers the CPU's frames to a chip's port, beat
// by beat as the chip takes them.
#pragma once

#include <deque>

#include "base/beat.h"
#include "base/frame.h"

namespace sallyport::sim {

class InjectSource {
 public:
  // Where frames come from, each at its start there or when the one before is gone; may be null.
  void plug(FrameSource* source) { source_ = source; }

  // The beat that is offered in this cycle, or null; the same until taken() says that the chip
  // took it.
  const MacBeat* offer(Cycle now);
  void taken() { beats_.pop_front(); }
  // Drops the frame that is under way.
  void reset() { beats_.clear(); }

  bool idle() { return beats_.empty() && (!source_ || source_->nextStart() == kNever); }

 private:
  FrameSource* source_ = nullptr;
  std::deque<MacBeat> beats_;
};

}  // namespace sallyport::sim
