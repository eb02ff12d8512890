// SPDX-License-Identifier: Apache-2.0
#include "chip/aurora_model.h"

#include <algorithm>

namespace sallyport::sim {

void AuroraModel::edge(const Beat* taken) {
  clocks_++;
  if (!taken || !up_) return;
  std::copy(taken->begin(), taken->end(), sending_.unit.begin() + (halfSent_ ? 4 : 0));
  if (halfSent_) outgoing_.push_back(sending_);
  halfSent_ = !halfSent_;
}

const AuroraModel::Beat* AuroraModel::arrival() {
  if (incoming_.empty()) return nullptr;
  const auto half = incoming_.front().unit.begin() + (halfArrived_ ? 4 : 0);
  std::copy(half, half + 4, beat_.begin());
  if (halfArrived_) incoming_.pop_front();
  halfArrived_ = !halfArrived_;
  return &beat_;
}

void AuroraModel::channel(bool up, const Word* arrived) {
  if (!up) {
    outgoing_.clear();
    incoming_.clear();
    halfSent_ = halfArrived_ = false;
  }
  up_ = up;
  if (up && arrived) incoming_.push_back(*arrived);
}

}  // namespace sallyport::sim
