// SPDX-License-Identifier: Apache-2.0
// The sending side of the tester: in which order and when the frames of streams are due.
#pragma once

#include <cstdint>
#include <vector>

#include "base/frame.h"
#include "tester/stream_spec.h"

namespace sallyport::sim {

// The sending side of a stream. Frame n is due when frames 0 .. n-1 have had their share of the
// line: sum of their slots / load, in exact rational arithmetic.
class StreamSender {
 public:
  StreamSender(const StreamSpec* spec, Tick begin);

  // kNever when the stream has ended.
  Tick due() const { return due_; }
  // The next frame, which starts at `start` >= due().
  Frame next(Tick start);

  const StreamSpec& spec() const { return *spec_; }
  // When each frame began on the line, by sequence number.
  const std::vector<Tick>& starts() const { return starts_; }
  int64_t sent() const { return static_cast<int64_t>(starts_.size()); }

 private:
  void advance(int64_t frameBytes);

  const StreamSpec* spec_;
  Tick begin_, end_, due_;
  __int128 remainder_ = 0;
  int64_t emitted_ = 0;
  std::vector<Tick> starts_;
};

// All streams of one port: the one due first goes first; the line gives it the next free slot.
class StreamSource : public FrameSource {
 public:
  StreamSource(const std::vector<const StreamSpec*>& specs, Tick begin);

  Tick nextStart() override;
  Frame pop() override;

  std::vector<StreamSender>& senders() { return senders_; }
  // Bytes of line used so far, preamble and gap included.
  int64_t lineBytes() const { return lineBytes_; }

 private:
  StreamSender* first();

  std::vector<StreamSender> senders_;
  Tick lineFree_ = 0;
  int64_t lineBytes_ = 0;
};

}  // namespace sallyport::sim
