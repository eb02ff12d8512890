// SPDX-License-Identifier: Apache-2.0
#include "tester/trial.h"

#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "tester/stream_receiver.h"
#include "tester/trial_result.h"

namespace sallyport::sim {

namespace {

// No beat crossed a port for this long: every frame has arrived, or will never arrive.
constexpr Cycle kSettled = 512, kLostForGood = 32768;

void check(World& world, const TrialSpec& spec) {
  std::set<uint16_t> ids;
  if (spec.streams.empty()) throw std::invalid_argument("a trial needs at least one stream");
  if (spec.measure <= 0 || spec.warmup < 0)
    throw std::invalid_argument("measure_us must be positive, warmup_us not negative");
  for (const auto& stream : spec.streams) {
    const std::string who = "stream " + std::to_string(stream.id);
    if (!ids.insert(stream.id).second) throw std::invalid_argument(who + " is there twice");
    world.testerPort(stream.from);
    world.testerPort(stream.to);
    if (stream.loadMicroPercent <= 0 || stream.loadMicroPercent > 100'000'000)
      throw std::invalid_argument(who + ": load_pct must be above 0 and at most 100");
    if (stream.capture.empty()) {
      const int smallest = stream.isV6() ? kMinStreamFrameV6 : kMinStreamFrame;
      for (uint16_t size : stream.sizes)
        if (size < smallest || size > kMaxStreamFrame)
          throw std::invalid_argument(who + ": frame size " + std::to_string(size) + " is not in " +
                                      std::to_string(smallest) + " to " + std::to_string(kMaxStreamFrame));
    }
  }
}

}  // namespace

nlohmann::json runTrial(World& world, const TrialSpec& spec, RunMeter& meter, const SoftwareTurn& turn) {
  check(world, spec);
  const Cycle begin = world.now() + coreClock.lookahead;
  const Cycle measureAt = begin + spec.warmup, stopAt = measureAt + spec.measure;

  std::vector<StreamSpec> bounded = spec.streams;
  for (auto& stream : bounded) stream.to_tick = std::min(stream.to_tick, (stopAt - begin) * coreClock.ticksPerCycle);
  std::vector<const StreamSpec*> all;
  for (const auto& stream : bounded) all.push_back(&stream);

  std::vector<TesterEnd> ends;
  const World::Unplug unplug{world};
  for (const auto& port : world.testerPorts()) {
    std::vector<const StreamSpec*> here;
    for (const auto* stream : all)
      if (stream->from == port) here.push_back(stream);
    ends.push_back({port, std::make_unique<StreamSource>(here, begin * coreClock.ticksPerCycle),
                    std::make_unique<StreamReceiver>(all, port)});
    world.testerPort(port).plug(ends.back().source.get(), ends.back().receiver.get());
  }

  const auto total = static_cast<double>(stopAt - world.now());
  auto epoch = [&] {
    world.runEpoch();
    meter.report(world.now() < measureAt ? "warm-up" : "measurement",
                 std::min(1.0, 1 - static_cast<double>(stopAt - world.now()) / total));
  };
  Cycle turnAt = begin + spec.firstTurn, turnEnd = begin, inTurns = 0;
  int64_t turns = 0;
  while (world.now() < stopAt) {
    if (world.now() < turnAt) {
      epoch();
      continue;
    }
    const Cycle from = world.now();
    const NextTurn next = turn(epoch);
    turnEnd = world.now();
    turns++;
    inTurns += turnEnd - from;
    turnAt = std::max(begin + next.at, turnEnd + std::max(next.after, coreClock.lookahead));
  }
  const Cycle drainEnd = stopAt + spec.drainLimit;
  while (world.now() < drainEnd && !world.quietFor(kLostForGood) && !(world.quietFor(kSettled) && allArrived(ends))) {
    world.runEpoch();
    meter.report("drain", static_cast<double>(world.now() - stopAt) / static_cast<double>(spec.drainLimit));
  }
  const MeasuredWindow window{begin * coreClock.ticksPerCycle, measureAt * coreClock.ticksPerCycle,
                              stopAt * coreClock.ticksPerCycle};
  nlohmann::json result = trialResult(ends, window, spec.growthLimitNs);
  if (turns > 0)
    result["software"] = {{"turns", turns},
                          {"sim_us", cyclesToMicroseconds(inTurns)},
                          {"until_us", cyclesToMicroseconds(turnEnd - begin)}};
  result["drained"] = world.quietFor(kSettled);
  return result;
}

}  // namespace sallyport::sim
