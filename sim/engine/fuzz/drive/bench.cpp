// SPDX-License-Identifier: Apache-2.0
#include "fuzz/drive/bench.h"

#include <stdexcept>
#include <string>

namespace sallyport::fuzz {

void Bench::start() {
  for (int i = 0; i < 16; i++) cycle();
  chip_->in.reset = false;
  until([this] { return chip_->out.ready; }, 100'000, "the chip is not ready after reset");
}

void Bench::cycle() {
  sim::ChipInputs& in = chip_->in;
  const sim::ChipOutputs& out = chip_->out;
  in.noise = noise_.clock();
  for (size_t i = 0; i < ends_.size(); i++) {
    End& end = *ends_[i];
    const bool up = cycle_ >= 128 && cycle_ >= end.downUntil;
    if (in.link[i].up && !up) {
      end.sender.drop();
      end.receiver.hunt();
    }
    in.link[i].up = up;
    in.link[i].txReady = up && cycle_ >= end.stalledUntil && cycle_ % 20 < 13;
    const sim::Word* word = up ? end.sender.cycle() : nullptr;
    in.link[i].rxValid = word != nullptr;
    if (word) in.link[i].rx = *word;
  }
  software_.drive(in.axi);
  drive();
  chip_->settle();
  observe();
  for (size_t i = 0; i < ends_.size(); i++)
    if (out.link[i].txValid && in.link[i].txReady) {
      sent(static_cast<int>(i), out.link[i].tx);
      ends_[i]->receiver.take(out.link[i].tx);
    }
  if (!in.reset) software_.sample(out.axi);
  chip_->edge();
  cycle_++;
}

void Bench::until(const std::function<bool()>& done, int64_t most, const char* what) {
  for (const int64_t end = cycle_ + most; !done(); cycle())
    if (cycle_ >= end) throw std::runtime_error(std::string("HANG: ") + what);
}

bool Bench::settled() {
  if (!software_.idle() || !chip_->out.ready || !atRest()) return false;
  for (const auto& end : ends_)
    if (!end->sender.quiet() || end->receiver.hunting()) return false;
  return true;
}

int64_t Bench::arrived() {
  int64_t sum = 0;
  for (const auto& end : ends_) sum += end->receiver.received();
  return sum;
}

void Bench::settle(int64_t silence) {
  until([this] { return settled(); }, kCalm, "links or software stand still after the hostile part");
  int64_t last = cycle_, seen = -1;
  until(
      [&] {
        const int64_t now = arrived();
        if (now != seen || !settled()) last = cycle_;
        seen = now;
        return cycle_ - last > silence;
      },
      kCalm + silence, "packets go on leaving");
}

void Bench::drawHostility(bool keepsTypes) {
  const auto sometimes = [this](double most) {
    return random_.chance(0.6) ? most * static_cast<double>(random_.below(100)) / 100 : 0;
  };
  for (const auto& end : ends_)
    end->sender.hostility = {sometimes(0.1),   sometimes(0.05),  sometimes(0.01),
                             sometimes(0.005), sometimes(0.005), keepsTypes};
}

void Bench::endHostility() {
  for (const auto& end : ends_) {
    end->sender.hostility = {};
    end->sender.clear();
  }
}

void Bench::breakLink(End& end) {
  (random_.chance(0.5) ? end.downUntil : end.stalledUntil) = cycle_ + static_cast<int64_t>(random_.below(1500));
}

}  // namespace sallyport::fuzz
