// SPDX-License-Identifier: Apache-2.0
// One direction of an Aurora 64B/66B streaming channel of four lanes at 25.78125 Gb/s, seen from
// the core clock domain.
//
// The user clock is 402.83203125 MHz, 11/1024 of the clock of ticks. It moves 256 bits a clock
// except one clock in 33 (gearbox) and 8 in 4992 (clock compensation): 99.84 Gb/s, 0.65 words of
// 512 bits a core cycle of 300 MHz. A word is on its way once its second half is sent and arrives
// linkLatency cycles later.
#pragma once

#include <deque>

#include "base/beat.h"
#include "base/channel.h"
#include "base/sim_time.h"
#include "wire/link_fault.h"

namespace sallyport::sim {

struct LinkWord {
  Cycle due;
  Word word;
};

using LinkChannel = Channel<LinkWord>;

class LinkTransmitter {
 public:
  // Words the shell holds between the core and Aurora.
  static constexpr size_t kBufferWords = 4;

  // `phase` shifts the gearbox and compensation pauses, so that no two channels of a box
  // pause together.
  LinkTransmitter(LinkChannel* channel, uint32_t phase);

  bool ready() const { return buffer_.size() < kBufferWords; }

  // One core cycle; `word` is what the core hands over in it, or null. Call ready() before.
  void cycle(Cycle now, int64_t epoch, const Word* word);

  LinkFault fault;
  int64_t words() const { return words_; }

 private:
  void userClock(Cycle now, int64_t epoch);

  LinkChannel* channel_;
  std::deque<Word> buffer_;
  uint32_t fraction_ = 0, gearbox_, compensation_;
  bool halfSent_ = false;
  int64_t words_ = 0;
};

class LinkReceiver {
 public:
  explicit LinkReceiver(LinkChannel* channel) : channel_(channel) {}

  void beginEpoch(int64_t epoch);
  // The word that arrives in this cycle, or null; valid until the next call.
  const Word* arrival(Cycle now);

 private:
  LinkChannel* channel_;
  std::deque<LinkWord> underway_;
  Word word_;
};

}  // namespace sallyport::sim
