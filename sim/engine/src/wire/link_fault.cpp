// SPDX-License-Identifier: Apache-2.0
#include "wire/link_fault.h"

#include <cmath>

namespace sallyport::sim {

void LinkFault::setBitErrors(double rate, uint64_t seed, uint64_t channel) {
  wordErrorRate_ = rate <= 0 ? 0 : -std::expm1(512 * std::log1p(-std::min(rate, 0.5)));
  errors_.emplace(seed, 0x100 + channel);
}

void LinkFault::setBursts(double rate, int words, uint64_t seed, uint64_t channel) {
  burstRate_ = rate;
  burstWords_ = words;
  burstLeft_ = 0;
  bursts_.emplace(seed, 0x200 + channel);
}

void LinkFault::clear() {
  wordErrorRate_ = burstRate_ = 0;
  burstLeft_ = 0;
  down_.clear();
}

bool LinkFault::down(Cycle now) const {
  for (const auto& window : down_)
    if (now >= window.from && now < window.to) return true;
  return false;
}

void LinkFault::apply(Word& word) {
  bool damaged = false;
  if (wordErrorRate_ > 0) {
    while (errors_->chance(wordErrorRate_)) {
      const uint64_t bit = errors_->below(512);
      word.unit[bit / 64] ^= uint64_t{1} << (bit % 64);
      damaged = true;
    }
  }
  if (burstRate_ > 0) {
    if (burstLeft_ == 0 && bursts_->chance(burstRate_)) burstLeft_ = burstWords_;
    if (burstLeft_ > 0) {
      for (auto& unit : word.unit) unit ^= bursts_->next();
      burstLeft_--;
      damaged = true;
    }
  }
  damaged_ += damaged;
}

}  // namespace sallyport::sim
