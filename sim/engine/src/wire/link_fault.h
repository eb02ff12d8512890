// SPDX-License-Identifier: Apache-2.0
// The faults of one direction of a link: bit errors, bursts of them, and windows in which the
// channel is down.
#pragma once

#include <optional>
#include <vector>

#include "base/beat.h"
#include "base/random.h"
#include "base/sim_time.h"

namespace sallyport::sim {

class LinkFault {
 public:
  struct Window {
    Cycle from, to;
  };

  // Each bit is wrong with probability `rate`.
  void setBitErrors(double rate, uint64_t seed, uint64_t channel);
  // A burst begins in a word with probability `rate` and inverts random bits of `words` words in
  // a row.
  void setBursts(double rate, int words, uint64_t seed, uint64_t channel);
  void addDown(Window window) { down_.push_back(window); }
  void clear();

  bool down(Cycle now) const;
  // Damages the word as this cycle's dice say.
  void apply(Word& word);
  int64_t damagedWords() const { return damaged_; }

 private:
  double wordErrorRate_ = 0, burstRate_ = 0;
  int burstWords_ = 0, burstLeft_ = 0;
  std::optional<Random> errors_, bursts_;
  std::vector<Window> down_;
  int64_t damaged_ = 0;
};

}  // namespace sallyport::sim
