// SPDX-License-Identifier: Apache-2.0
#include "world/node.h"

#include <ctime>

namespace sallyport::sim {

namespace {
// Longer than any register access takes; a table command is polled, it does not hold the bus.
constexpr int kAccessLimit = 10000;

// Of this thread, so that a busy machine does not make a chip look slow.
int64_t cpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}
}  // namespace

void Node::reset() {
  resetUntil_ = now_ + kResetCycles;
  for (auto& link : links_) link.tx.fault.addDown({now_, now_ + kLinkUpCycle});
  if (port_) port_->tx.reset();
  inject_.reset();
  registers_ = AxiMaster();
}

void Node::runEpoch() {
  const int64_t begin = cpuNs();
  const int64_t epoch = now_ / coreClock.lookahead;
  exchange(epoch);
  for (Cycle i = 0; i < coreClock.lookahead; i++) cycle(epoch);
  writeCaptures();
  busyNs_ += cpuNs() - begin;
}

void Node::runCycle() {
  // Reading the time is a system call and takes a tenth of a cycle's run time. So only one cycle in
  // coreClock.lookahead is measured, each in its turn.
  const bool measured = now_ % coreClock.lookahead == now_ / coreClock.lookahead % coreClock.lookahead;
  const int64_t begin = measured ? cpuNs() : 0;
  exchange(now_);
  cycle(now_);
  if (now_ % coreClock.lookahead == 0) writeCaptures();
  if (measured) busyNs_ += (cpuNs() - begin) * coreClock.lookahead;
}

void Node::exchange(int64_t epoch) {
  for (auto& link : links_) link.rx.beginEpoch(epoch);
  if (port_) port_->rx.beginEpoch(epoch);
}

void Node::writeCaptures() {
  if (port_ && port_->capture) port_->capture->advance(now_ * coreClock.ticksPerCycle);
  if (punt_.capture()) punt_.capture()->advance(now_ * coreClock.ticksPerCycle);
}

void Node::cycle(int64_t epoch) {
  ChipInputs& in = chip_->in;
  const ChipOutputs& out = chip_->out;
  in.reset = now_ < resetUntil_;
  in.noise = noise_.clock();
  for (size_t i = 0; i < links_.size(); i++) {
    LinkEnd& link = links_[i];
    in.link[i].up = now_ >= kLinkUpCycle && !link.tx.fault.down(now_) && !link.far->down(now_);
    in.link[i].txReady = in.link[i].up && link.tx.ready();
    const Word* word = link.rx.arrival(now_);
    in.link[i].rxValid = word != nullptr && in.link[i].up;
    if (word) in.link[i].rx = *word;
  }
  if (port_) {
    const MacBeat* beat = port_->rx.cycle(now_, [this](const Frame& frame) {
      if (port_->capture) port_->capture->in(frame);
      if (port_->log) port_->log->in(frame);
    });
    in.macRxValid = beat != nullptr && !in.reset;
    if (beat) in.macRx = *beat;
    if (in.reset) port_->rx.reset();
    in.macTxReady = port_->tx.ready(now_);
    in.puntReady = true;
    const MacBeat* injected = inject_.offer(now_);
    in.injectValid = injected != nullptr && !in.reset;
    if (injected) in.inject = *injected;
  }
  registers_.drive(in.axi);

  upsets_.apply(now_);
  chip_->settle();

  for (size_t i = 0; i < links_.size(); i++)
    links_[i].tx.cycle(now_, epoch, out.link[i].txValid && in.link[i].txReady ? &out.link[i].tx : nullptr);
  if (!in.reset) {
    if (port_) {
      if (out.macTxValid && in.macTxReady) {
        const Frame* frame = port_->tx.push(out.macTx, now_, epoch);
        if (frame && port_->capture) port_->capture->out(*frame);
        if (frame && port_->log) port_->log->out(*frame);
      }
      if (out.puntValid) punt_.push(out.punt, now_);
      if (in.injectValid && out.injectReady) inject_.taken();
      if (in.macRxValid || out.macTxValid || out.puntValid || in.injectValid) lastActivity_ = now_;
    }
    registers_.sample(out.axi);
  }

  chip_->edge();
  clocks_++;
  now_++;
}

std::optional<RegisterResponse> Node::accessAlone(const RegisterRequest& request) {
  registers_.start({request});
  return finishAlone();
}

std::optional<RegisterResponse> Node::finishAlone() {
  const int64_t begin = cpuNs();
  ChipInputs& in = chip_->in;
  for (auto& link : in.link) link.txReady = link.rxValid = false;
  in.macRxValid = in.macTxReady = in.puntReady = in.injectValid = false;
  for (int i = 0; i < kAccessLimit && registers_.busy(); i++) {
    in.noise = noise_.clock();
    registers_.drive(in.axi);
    chip_->settle();
    registers_.sample(chip_->out.axi);
    chip_->edge();
    clocks_++;
  }
  busyNs_ += cpuNs() - begin;
  if (registers_.busy()) {
    registers_ = AxiMaster();
    return std::nullopt;
  }
  return registers_.responses().back();
}

}  // namespace sallyport::sim
