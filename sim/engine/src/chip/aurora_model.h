// SPDX-License-Identifier: Apache-2.0
// One end of a four-lane Aurora 64B/66B channel, at the core's user interface (PG074). It converts
// between beats of 256 bits and the words of the engine's links. The engine's link model connects
// two ends and adds faults and latency.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/beat.h"
#include "chip/card_clock.h"

namespace sallyport::sim {

class AuroraModel {
 public:
  using Beat = std::array<uint64_t, 4>;

  explicit AuroraModel(int ppm) : clock(402.83203125, ppm) {}

  // Before an edge of the user clock: whether the core takes the beat on its input.
  bool ready() const { return up_ && !pause() && outgoing_.size() < kBuffered; }
  // At the edge: the beat that was taken in it, or null.
  void edge(const Beat* taken);
  // Behind the edge: the beat that comes, or null; valid until the next call.
  const Beat* arrival();

  // Once a core cycle: the channel's state, and a word from the engine's link or null.
  void channel(bool up, const Word* arrived);
  // The word that is next for the engine's link, or null.
  const Word* departing() const { return outgoing_.empty() ? nullptr : &outgoing_.front(); }
  void departed() { outgoing_.pop_front(); }
  bool up() const { return up_; }

  CardClock clock;

 private:
  // Words between the core's input and the engine's model of the line, which has the same rate but
  // not the same oscillator.
  static constexpr size_t kBuffered = 4;
  // No beat is taken in one clock of 33 (gearbox) and in 8 of 4992 (clock compensation).
  static constexpr int kGearbox = 33, kCompensation = 4992, kCompensated = 8;

  bool pause() const { return clocks_ % kGearbox == 0 || clocks_ % kCompensation < kCompensated; }

  bool up_ = false, halfSent_ = false, halfArrived_ = false;
  int64_t clocks_ = 0;
  Word sending_;
  Beat beat_{};
  std::deque<Word> outgoing_, incoming_;
};

}  // namespace sallyport::sim
