// SPDX-License-Identifier: Apache-2.0
// A round of fuzzing an interface chip.
#include "fuzz/drive/interface_fuzz.h"

#include <stdexcept>

#include "fuzz/drive/common_registers.h"

namespace sallyport::fuzz {

InterfaceFuzz::InterfaceFuzz(std::unique_ptr<sim::Chip> chip, uint64_t seed, Kind kind)
    : Bench(std::move(chip), seed),
      kind_(std::move(kind)),
      link_(*ends_.emplace_back(std::make_unique<End>(false, kind_.sequenceToChip, seed * 2 + 1))),
      port_(seed) {
  link_.receiver.onPacket = [this](const Arrived& a) { leftByLink(a); };
  port_.onFrame = [this](const Bytes& frame) { left(Exit::mac, frame, 0, false); };
  port_.onPunt = [this](const Bytes& frame) { left(Exit::punt, frame, 0, false); };
  link_.sender.onSend = [this](Packet& packet) {
    packetsIn_++;
    if (packet.header.bypass)
      judge_.bypassed(packet.given);
    else if (kind_.sequenceToChip)
      judge_.numberedBy(packet.given, packet.header.sa, packet.sequence);
  };
  judge_.linkToCpu = kind_.sequenceToChip;
  start();
}

void InterfaceFuzz::left(Exit exit, const Bytes& bytes, unsigned sa, bool bypass) {
  const auto left = judge_.left(exit, bytes, bypass);
  if (!calm_) return;
  const auto expected = left ? underWay_.find(left->packet) : underWay_.end();
  if (expected == underWay_.end()) throw std::runtime_error("WRONG PACKET: one leaves that is none of the good ones");
  if (!left->whole || expected->second != std::pair(exit, exit == Exit::link ? sa : 0))
    throw std::runtime_error("WRONG PACKET: a good one leaves in part, elsewhere or under another SA");
  underWay_.erase(expected);
}

void InterfaceFuzz::leftByLink(const Arrived& arrived) {
  if (arrived.header.bypass) {
    if (!mayBypass_) throw std::runtime_error("WRONG PACKET: one bypasses IPsec, which no row allows");
    bypassed_++;
  }
  left(Exit::link, arrived.payload, arrived.header.sa, arrived.header.bypass);
}

void InterfaceFuzz::hostile() {
  drawHostility(false);
  const int64_t end = cycle_ + 3000 + static_cast<int64_t>(random_.below(12'000));
  const double accesses = random_.chance(0.7) ? 0.02 : 0.001;
  const bool breaks = random_.chance(0.5), tampers = random_.chance(0.15);
  port_.stalls = random_.chance(0.3) ? 0.0005 : 0;
  for (; cycle_ < end; cycle()) {
    if (port_.waiting() < 8 && random_.chance(0.3)) anyFrame();
    if (link_.sender.waiting() < 8 && random_.chance(0.2)) anyPacket();
    if (random_.chance(0.005)) anyInjected();
    if (random_.chance(accesses)) anyAccess();
    if (breaks && random_.chance(0.0005)) breakLink(link_);
    if (tampers && random_.chance(0.001)) chip_->in.tamper ^= true;
  }
  endHostility();
  port_.clear();
  port_.stalls = 0;
  chip_->in.tamper = false;
}

void InterfaceFuzz::good() {
  for (uint64_t n = 16 + random_.below(48); n > 0; n--) {
    const auto sa = static_cast<unsigned>(random_.below(kSas));
    Ip header;
    header.v6 = random_.chance(0.3);
    const size_t length = 64 + 4 * random_.below(300);
    if (random_.chance(0.5)) {
      port_.receive(frame(header, fromPort(sa, header, judge_.give(Entry::mac, length))), false);
      packetsIn_++;
      underWay_[judge_.last()] = {Exit::link, sa};
    } else {
      Packet packet;
      packet.header.sa = static_cast<uint16_t>(sa);
      packet.header.nextHeader = header.v6 ? 41 : 4;
      packet.sequence = ++number_[sa];
      packet.payload = fromLink(header, judge_.give(Entry::link, length));
      packet.given = judge_.last();
      const auto other = between(sa);
      underWay_[judge_.last()] = other ? std::pair(Exit::link, *other) : std::pair(Exit::mac, 0u);
      link_.sender.push(std::move(packet));
    }
    for (uint64_t wait = random_.below(60); wait > 0; wait--) cycle();
  }
  settle(kSilence);
  if (underWay_.empty()) return;
  // Why, by the counters that have changed since.
  std::string why;
  const Counts before = counts_;
  readCounters();
  until([this] { return software_.idle(); }, kCalm, "counters are not read");
  for (const auto& [name, count] : counts_)
    if (count != before.at(name)) why += " " + name + " " + std::to_string(count - before.at(name));
  throw std::runtime_error("HANG: " + std::to_string(underWay_.size()) + " good packets did not leave:" + why);
}

void InterfaceFuzz::round() {
  mayBypass_ = rounds_ % 2 == 1;
  mayHairpin_ = rounds_ % 4 >= 2;
  rounds_++;
  steady_ = random_.chance(0.5);
  configure(mayBypass_);
  until([this] { return software_.idle(); }, kCalm, "the configuration is not written");
  judge_.begin(steady_);
  judge_.linkToLink = mayHairpin_;
  hostile();
  mayHairpin_ = true;
  configure(false);
  settle(kSilence);
  mayBypass_ = false;  // none is inside any more
  judge_.begin(true);
  judge_.linkToLink = true;
  readCounters();
  until([this] { return software_.idle(); }, kCalm, "counters are not read");
  calm_ = true;
  good();
  calm_ = false;
  software_.ask({{false, kMagic, 0}}, [](const Software::Answers& answers) {
    if (answers[0].data != kMagicValue) throw std::runtime_error("HANG: the chip has forgotten what it is");
  });
  readCounters();
  until([this] { return software_.idle(); }, kCalm, "counters are not read");
}

void InterfaceFuzz::check(const Counts& counts) {
  counts_ = counts;
  const auto same = [](const char* what, int64_t counted, int64_t seen) {
    if (counted != seen)
      throw std::runtime_error(std::string("BALANCE: the chip counts ") + std::to_string(counted) + " " + what +
                               ", but there were " + std::to_string(seen));
  };
  same("frames received", counts.at("rx_frames"), port_.entered());
  same("frames sent", counts.at("tx_frames"), port_.left());
  same("packets sent by the link", sentByLink(counts), link_.receiver.received() + link_.receiver.lost());
}

}  // namespace sallyport::fuzz
