// SPDX-License-Identifier: Apache-2.0
#include "tester/replay.h"

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>

namespace sallyport::sim {

namespace {

class ReplaySource : public FrameSource {
 public:
  ReplaySource(const ReplayInput* input, Tick begin)
      : input_(input), bad_(input->badFcs.begin(), input->badFcs.end()), next_(begin) {}

  Tick nextStart() override { return sent_ == input_->frames.size() ? kNever : next_; }

  Frame pop() override {
    Frame frame;
    frame.start = next_;
    frame.bytes = input_->frames[sent_].bytes;
    frame.encrypt = input_->port.side == kEncryptStream;
    if (input_->pad && frame.length() < kMinFrameBytes) frame.bytes.resize(kMinFrameBytes - kFcsBytes, 0);
    sent_++;
    frame.badFcs = bad_.count(static_cast<int64_t>(sent_)) != 0;
    if (input_->original && sent_ < input_->frames.size()) {
      const int64_t gap = std::max<int64_t>(0, input_->frames[sent_].ns - input_->frames[sent_ - 1].ns);
      // Beyond a few minutes a tick count would overflow long before it could be simulated.
      next_ += std::min(input_->maxGap, nsToTicks(std::min<int64_t>(gap, 1'000'000'000'000)));
      next_ = std::max(next_, frame.start + slotTicks(frame.length()));
    } else {
      const auto share = static_cast<__int128>(slotTicks(frame.length())) * 100'000'000 + remainder_;
      next_ += static_cast<Tick>(share / input_->loadMicroPercent);
      remainder_ = share % input_->loadMicroPercent;
    }
    return frame;
  }

  size_t sent() const { return sent_; }

 private:
  const ReplayInput* input_;
  std::set<int64_t> bad_;
  Tick next_;
  __int128 remainder_ = 0;
  size_t sent_ = 0;
};

class Counter : public FrameSink {
 public:
  void receive(Frame, int64_t) override { frames_++; }
  int64_t frames() const { return frames_; }

 private:
  int64_t frames_ = 0;
};

}  // namespace

nlohmann::json runReplay(World& world, const ReplaySpec& spec, RunMeter& meter) {
  struct End {
    PortName port;
    std::unique_ptr<ReplaySource> source;
    Counter counter;
  };
  std::vector<std::unique_ptr<End>> ends;
  size_t total = 0;
  const Tick begin = (world.now() + coreClock.lookahead) * coreClock.ticksPerCycle;
  const World::Unplug unplug{world};
  for (const auto& port : world.testerPorts()) {
    ends.push_back(std::make_unique<End>());
    ends.back()->port = port;
    world.testerPort(port).plug(nullptr, &ends.back()->counter);
  }
  for (const auto& input : spec.inputs) {
    if (input.port.isInject()) {
      Node& node = world.injectNode(input.port);
      for (const auto& end : ends)
        if (end->port.isInject() && &world.injectNode(end->port) == &node)
          throw std::invalid_argument("the inject stream of " + input.port.text() + " has two inputs");
      ends.push_back(std::make_unique<End>());
      ends.back()->port = input.port;
      ends.back()->source = std::make_unique<ReplaySource>(&input, begin);
      node.inject().plug(ends.back()->source.get());
      total += input.frames.size();
      continue;
    }
    TesterPort& port = world.testerPort(input.port);
    auto& end = **std::find_if(ends.begin(), ends.end(), [&](const auto& e) { return e->port == input.port; });
    if (end.source) throw std::invalid_argument("port " + input.port.text() + " has two inputs");
    if (input.loadMicroPercent <= 0 || input.loadMicroPercent > 100'000'000)
      throw std::invalid_argument("load_pct must be above 0 and at most 100");
    end.source = std::make_unique<ReplaySource>(&input, begin);
    port.plug(end.source.get(), &end.counter);
    total += input.frames.size();
  }

  const Cycle first = world.now();
  while (world.now() - first < spec.limit) {
    world.runEpoch();
    size_t sent = 0;
    for (const auto& end : ends) sent += end->source ? end->source->sent() : 0;
    meter.report("replay", total ? static_cast<double>(sent) / static_cast<double>(total) : 1);
    if (world.now() - first > spec.quiet && world.quietFor(spec.quiet)) break;
  }
  nlohmann::json ports = nlohmann::json::array();
  for (const auto& end : ends)
    ports.push_back({{"port", end->port.text()},
                     {"tx_frames", end->source ? end->source->sent() : 0},
                     {"rx_frames", end->counter.frames()}});
  return {{"ports", ports}, {"quiescent", world.quietFor(spec.quiet)}};
}

}  // namespace sallyport::sim
