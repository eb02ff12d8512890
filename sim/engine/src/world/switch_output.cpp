// SPDX-License-Identifier: Apache-2.0
#include "world/switch_output.h"

#include <stdexcept>

namespace sallyport::sim {

SwitchOutput::SwitchOutput(std::string name, int64_t latencyNs, int64_t queueBytes)
    : name_(std::move(name)), queue_(nsToTicks(latencyNs), queueBytes) {
  const Tick epoch = coreClock.lookahead * coreClock.ticksPerCycle;
  if (nsToTicks(latencyNs) < epoch)
    throw std::invalid_argument("a switch's latency must be at least " + std::to_string(ticksToWholeNs(epoch) + 1) +
                                " ns, not " + std::to_string(latencyNs));
}

void SwitchOutput::run(int64_t epoch, Cycle cycles) {
  for (size_t i = 0; i < inputs_.size(); i++)
    inputs_[i]->take(epoch, [&](Frame frame) { queue_.take(static_cast<int>(i), std::move(frame)); });
  // A chip hands a frame over macTxLatency before its first bit. So every frame that a chip has not
  // handed over in earlier epochs starts later than this.
  Tick horizon = (now_ + coreClock.macTxLatency) * coreClock.ticksPerCycle;
  if (tester_) {
    horizon = (now_ + cycles) * coreClock.ticksPerCycle;
    tester_->beginEpoch(epoch);
    while (tester_->nextStart() < horizon) queue_.take(0, tester_->pop());
  }
  queue_.release(horizon, [&](const Frame& frame) {
    for (auto* receiver : receivers_) receiver->receive(frame, epoch);
  });
  now_ += cycles;
}

bool SwitchOutput::quiet() const {
  return queue_.idle(now_ * coreClock.ticksPerCycle) && (!tester_ || tester_->nextStart() == kNever);
}

}  // namespace sallyport::sim
