// SPDX-License-Identifier: Apache-2.0
#include "tester/trial_result.h"

#include <algorithm>
#include <cmath>

#include "tester/latency.h"

namespace sallyport::sim {

namespace {

using nlohmann::json;

// Rates and percentages to six decimals: enough, and the same text everywhere.
double rounded(double value) { return std::round(value * 1e6) / 1e6; }

// The figures of one stream, or of all of them together.
struct Tally {
  int64_t txFrames = 0, rxFrames = 0, txTotal = 0, rxTotal = 0;
  int64_t reordered = 0, duplicated = 0, corrupted = 0;
  int64_t txBytes = 0, txLineBytes = 0, rxBytes = 0, rxWindowFrames = 0;
  Tick lastLoss = kNever;
  int64_t firstLost = -1;  // number of a stream's frame
  Tick lastArrival = kNever, longestGap = 0;
  std::vector<Tick> fifo, lifo;
  QueueGrowth growth;
  Jitter jitter;

  explicit Tally(const MeasuredWindow& window) : growth(window.from, window.to) {}

  int64_t lost() const { return txFrames - rxFrames; }
  int64_t lostTotal() const { return txTotal - rxTotal; }

  void sent(const StreamSender& sender, const MeasuredWindow& window) {
    const StreamSpec& spec = sender.spec();
    for (size_t n = 0; n < sender.starts().size(); n++) {
      txTotal++;
      if (!window.holds(sender.starts()[n])) continue;
      const int64_t length = spec.sentLength(n);
      txFrames++;
      txBytes += length;
      txLineBytes += length + kSlotOverhead;
    }
  }

  // A frame of `length` bytes that was sent at `start`, and whose first bit came out at `firstBit`.
  void arrived(Tick start, int64_t length, Tick firstBit, const MeasuredWindow& window) {
    const Tick latency = firstBit - start - kPreambleBytes * kTicksPerByte;
    rxTotal++;
    if (lastArrival != kNever) longestGap = std::max(longestGap, firstBit - lastArrival);
    lastArrival = firstBit;
    if (window.holds(start + latency)) rxWindowFrames++;
    if (!window.holds(start)) return;
    rxFrames++;
    rxBytes += length;
    fifo.push_back(latency);
    lifo.push_back(latency - length * kTicksPerByte);
    growth.add(start, latency);
    jitter.add(lifo.back());
  }

  void add(const Tally& other) {
    txFrames += other.txFrames;
    rxFrames += other.rxFrames;
    txTotal += other.txTotal;
    rxTotal += other.rxTotal;
    reordered += other.reordered;
    duplicated += other.duplicated;
    corrupted += other.corrupted;
    txBytes += other.txBytes;
    txLineBytes += other.txLineBytes;
    rxBytes += other.rxBytes;
    rxWindowFrames += other.rxWindowFrames;
    if (other.lastLoss != kNever && (lastLoss == kNever || other.lastLoss > lastLoss)) lastLoss = other.lastLoss;
    if (other.firstLost >= 0 && (firstLost < 0 || other.firstLost < firstLost)) firstLost = other.firstLost;
    jitter.add(other.jitter);
    longestGap = std::max(longestGap, other.longestGap);
    fifo.insert(fifo.end(), other.fifo.begin(), other.fifo.end());
    lifo.insert(lifo.end(), other.lifo.begin(), other.lifo.end());
  }

  json toJson(const MeasuredWindow& window) const {
    const double seconds = window.seconds();
    const double lineBytes = static_cast<double>(window.to - window.from) / kTicksPerByte;
    return {{"tx_frames", txFrames},
            {"rx_frames", rxFrames},
            {"lost", lost()},
            {"tx_frames_total", txTotal},
            {"rx_frames_total", rxTotal},
            {"lost_total", lostTotal()},
            {"reordered", reordered},
            {"duplicated", duplicated},
            {"corrupted", corrupted},
            {"last_loss_ns", lastLoss == kNever ? json() : json(nanoseconds(lastLoss - window.begin))},
            {"longest_gap_ns", nanoseconds(longestGap)},
            {"first_lost", firstLost < 0 ? json() : json(firstLost)},
            {"offered_load_pct", rounded(static_cast<double>(txLineBytes) / lineBytes * 100)},
            {"tx_mpps", rounded(static_cast<double>(txFrames) / seconds * 1e-6)},
            {"mpps", rounded(static_cast<double>(rxFrames) / seconds * 1e-6)},
            {"gbps_l2", rounded(static_cast<double>(rxBytes) * 8 / seconds * 1e-9)},
            {"rx_window_frames", rxWindowFrames},
            {"latency_ns", {{"fifo", latencyJson(fifo)}, {"lifo", latencyJson(lifo)}}},
            {"jitter_ns", jitter.json()},
            {"histogram", histogramJson(lifo)}};
  }
};

const StreamReceiver& receiverOf(std::vector<TesterEnd>& ends, const PortName& port) {
  return *std::find_if(ends.begin(), ends.end(), [&](const TesterEnd& end) { return end.port == port; })->receiver;
}

Tally tallySignatures(const StreamSender& sender, const StreamArrivals& arrivals, const MeasuredWindow& window) {
  Tally tally(window);
  tally.sent(sender, window);
  tally.corrupted = arrivals.corrupted;
  for (const auto& sample : arrivals.samples)
    if (sample.sequence < sender.starts().size())
      tally.arrived(sender.starts()[sample.sequence], sender.spec().sentLength(sample.sequence), sample.firstBit,
                    window);
    else
      tally.corrupted++;  // a file whose frames are not the stream's, in its order
  auto isLost = [&](size_t n) { return n >= arrivals.seen.size() || !arrivals.seen[n]; };
  for (size_t n = sender.starts().size(); n-- > 0;)
    if (isLost(n)) {
      tally.lastLoss = sender.starts()[n];
      break;
    }
  for (size_t n = 0; n < sender.starts().size() && tally.firstLost < 0; n++)
    if (isLost(n)) tally.firstLost = static_cast<int64_t>(n);
  tally.reordered = arrivals.reordered;
  tally.duplicated = arrivals.duplicated;
  return tally;
}

// ESP hides the signature. The box keeps the order, so the n-th packet out is the n-th frame in, if
// no packet is missing. If one is missing, the result has counts alone.
Tally tallyEsp(std::vector<TesterEnd>& ends, const TesterEnd& at, const MeasuredWindow& window) {
  Tally tally(window);
  struct Sent {
    Tick start;
    int64_t length;
  };
  std::vector<Sent> sent;
  for (auto& end : ends)
    for (auto& sender : end.source->senders()) {
      const StreamSpec& spec = sender.spec();
      if (spec.expect != StreamSpec::Expect::kEsp || !(spec.to == at.port)) continue;
      tally.sent(sender, window);
      for (size_t n = 0; n < sender.starts().size(); n++) sent.push_back({sender.starts()[n], spec.sentLength(n)});
    }
  std::sort(sent.begin(), sent.end(), [](const Sent& a, const Sent& b) { return a.start < b.start; });
  const EspArrivals& esp = at.receiver->esp();
  tally.reordered = esp.outOfOrder;
  if (sent.size() == esp.samples.size()) {
    for (size_t n = 0; n < sent.size(); n++)
      tally.arrived(sent[n].start, sent[n].length, esp.samples[n].firstBit, window);
  } else {
    tally.rxTotal = static_cast<int64_t>(esp.samples.size());
    for (const auto& sample : esp.samples) tally.rxWindowFrames += window.holds(sample.firstBit);
    tally.rxFrames = tally.txFrames - tally.lostTotal();
  }
  return tally;
}

}  // namespace

bool allArrived(std::vector<TesterEnd>& ends) {
  std::map<std::string, int64_t> espDue;
  for (auto& end : ends)
    for (auto& sender : end.source->senders()) {
      const StreamSpec& spec = sender.spec();
      if (spec.expect == StreamSpec::Expect::kEsp) espDue[spec.to.text()] += sender.sent();
      if (spec.expect == StreamSpec::Expect::kCount) return false;
      if (spec.expect != StreamSpec::Expect::kSignature) continue;
      const StreamArrivals* arrivals = receiverOf(ends, spec.to).stream(spec.id);
      if (static_cast<int64_t>(arrivals->samples.size()) < sender.sent()) return false;
    }
  for (auto& end : ends) {
    const auto due = espDue.find(end.port.text());
    if (due != espDue.end() && static_cast<int64_t>(end.receiver->esp().samples.size()) < due->second) return false;
  }
  return true;
}

json trialResult(std::vector<TesterEnd>& ends, const MeasuredWindow& window, double growthLimitNs) {
  json streams = json::array(), ports = json::array();
  Tally total(window);
  bool growing = false;
  double growthMax = 0;
  auto finish = [&](const Tally& tally, json row) {
    row.update(tally.toJson(window));
    row["queue"] = tally.growth.json();
    row["queue"]["growing"] = tally.growth.growthNs() > growthLimitNs;
    growing |= tally.growth.growthNs() > growthLimitNs;
    growthMax = std::max(growthMax, tally.growth.growthNs());
    total.add(tally);
    streams.push_back(std::move(row));
  };
  bool countOnly = false;
  for (auto& end : ends)
    for (auto& sender : end.source->senders()) {
      const StreamSpec& spec = sender.spec();
      countOnly |= spec.expect == StreamSpec::Expect::kCount;
      if (spec.expect == StreamSpec::Expect::kSignature)
        finish(tallySignatures(sender, *receiverOf(ends, spec.to).stream(spec.id), window),
               {{"id", spec.id}, {"from", spec.from.text()}, {"to", spec.to.text()}, {"expect", "signature"}});
    }
  for (auto& end : ends) {
    json ids = json::array();
    std::string from;
    for (auto& other : ends)
      for (auto& sender : other.source->senders())
        if (sender.spec().expect == StreamSpec::Expect::kEsp && sender.spec().to == end.port) {
          ids.push_back(sender.spec().id);
          from = sender.spec().from.text();
        }
    if (!ids.empty())
      finish(tallyEsp(ends, end, window), {{"ids", ids}, {"from", from}, {"to", end.port.text()}, {"expect", "esp"}});
  }
  int64_t misdirected = 0;
  for (auto& end : ends) {
    int64_t sent = 0;
    for (auto& sender : end.source->senders()) sent += sender.sent();
    misdirected += end.receiver->misdirected();
    ports.push_back({{"port", end.port.text()},
                     {"tx_frames", sent},
                     {"rx_frames", end.receiver->frames()},
                     {"rx_esp", end.receiver->esp().samples.size()},
                     {"rx_foreign", end.receiver->foreign()},
                     {"rx_misdirected", end.receiver->misdirected()},
                     {"rx_bad_fcs", end.receiver->badFcs()}});
  }
  json sum = total.toJson(window);
  sum["queue_growth_ns"] = growthMax;
  sum["queue_growing"] = growing;
  const bool passed = !countOnly && total.txTotal > 0 && total.lostTotal() == 0 && total.corrupted == 0 &&
                      total.duplicated == 0 && misdirected == 0 && !growing;
  return {{"streams", streams},
          {"ports", ports},
          {"total", sum},
          {"passed", passed},
          {"warmup_from_ns", nanoseconds(window.begin)},
          {"measure_from_ns", nanoseconds(window.from)},
          {"measure_to_ns", nanoseconds(window.to)}};
}

}  // namespace sallyport::sim
