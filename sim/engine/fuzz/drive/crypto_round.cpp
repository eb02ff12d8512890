// SPDX-License-Identifier: Apache-2.0
// A round of fuzzing: hostile, calm, good.
#include <deque>

#include "fuzz/drive/crypto_fuzz.h"
#include "fuzz/drive/crypto_registers.h"

namespace sallyport::fuzz {

void CryptoFuzz::hostile() {
  drawHostility(paired_);
  const int64_t end = cycle_ + 3000 + static_cast<int64_t>(random_.below(static_cast<uint64_t>(attack_ - 3000)));
  const double accesses = random_.chance(0.7) ? 0.02 : 0.001;
  const bool breaks = random_.chance(0.5), tampers = random_.chance(0.15);
  const bool upsets = random_.chance(0.5);
  for (auto& table : upset_) table.flips.fill(0);
  for (; cycle_ < end; cycle()) {
    if (red_.sender.waiting() < 8 && random_.chance(0.2)) pushRed(true);
    if (black_.sender.waiting() < 8 && random_.chance(0.2)) pushBlack(true);
    if (random_.chance(accesses)) anyAccess();
    if (breaks && random_.chance(0.0005)) breakLink(random_.chance(0.5) ? red_ : black_);
    if (upsets && random_.chance(0.0005)) upset();
    if (tampers && random_.chance(0.001)) chip_->in.tamper ^= true;
  }
  endHostility();
  chip_->in.tamper = false;
}

void CryptoFuzz::upset() {
  Upsets& table = upset_[random_.below(upset_.size())];
  const uint64_t row = random_.below(kSas);
  if (table.flips[row] == table.most) return;
  table.flips[row]++;
  const auto bits = static_cast<uint64_t>(table.memory.bits);
  table.memory.flip(static_cast<int64_t>(row), static_cast<int>(random_.below(bits)));
  upsets_++;
}

void CryptoFuzz::good() {
  judge_.forget();  // nothing is under way
  writeRows();
  control(kEnable);
  settle();
  // Exactly these, in the order of each SA: fast suites overtake slow ones. Of those to red the
  // judge knows the bytes.
  std::array<std::deque<Bytes>, kSas> toBlack;
  std::array<std::deque<uint64_t>, kSas> toRed;
  std::array<uint64_t, kSas> given{}, numbers{};
  size_t underWay = 0;
  const auto arrives = [&](auto& queue, const Arrived& a, const auto& what, const char* side) {
    underWay--;
    if (paired_) return;
    if (queue.empty() || queue.front() != what)
      throw std::runtime_error("WRONG PACKET: a good one of SA " + std::to_string(a.header.sa) + ", " +
                               std::to_string(a.payload.size()) + " bytes, left changed or out of order to " + side);
    queue.pop_front();
  };
  const auto redSend = red_.sender.onSend, blackSend = black_.sender.onSend;
  const auto redOut = redOut_, blackOut = blackOut_;
  red_.sender.onSend = [&](Packet& packet) {
    redSend(packet);
    const Header& h = packet.header;
    const auto prefix = static_cast<long>(prefixOf(h));
    model::Job job = jobOf(outbound_[h.sa], ++given[h.sa], true);
    job.nextHeader = h.nextHeader;
    Bytes esp, whole(packet.payload.begin(), packet.payload.begin() + prefix);
    model::seal(job, {packet.payload.begin() + prefix, packet.payload.end()}, esp);
    whole.insert(whole.end(), esp.begin(), esp.end());
    toBlack[h.sa].push_back(std::move(whole));
    underWay++;
  };
  black_.sender.onSend = [&](Packet& packet) {
    blackSend(packet);
    toRed[packet.header.sa].push_back(++numbers[packet.header.sa]);
    underWay++;
  };
  redOut_ = [&](const Arrived& a) {
    redOut(a);
    arrives(toRed.at(a.header.sa), a, a.sequence, "red");
  };
  blackOut_ = [&](const Arrived& a) {
    blackOut(a);
    arrives(toBlack.at(a.header.sa), a, a.payload, "black");
  };
  for (uint64_t n = 8 + random_.below(24); n > 0; n--) {
    pushRed(false);
    pushBlack(false);
  }
  settle();
  if (underWay > 0) throw std::runtime_error("HANG: " + std::to_string(underWay) + " good packets did not leave");
  red_.sender.onSend = redSend;
  black_.sender.onSend = blackSend;
  redOut_ = redOut;
  blackOut_ = blackOut;
}

void CryptoFuzz::round() {
  mayBypass_ = random_.chance(0.4);
  writeRows();
  control(kEnable | (mayBypass_ ? kBypassBits : 0));
  if (random_.chance(0.7)) until([this] { return software_.idle(); }, kCalm, "rows are not written");
  hostile();
  settle();
  control(0);
  good();
  software_.ask({{false, kMagic, 0}}, [](const Software::Answers& answers) {
    if (answers[0].data != kMagicValue) throw std::runtime_error("HANG: the chip has forgotten what it is");
  });
  readBalance(software_, kCryptoCounters, [this](const Counts& counts) {
    counts_ = counts;
    for (const auto& [name, end] :
         {std::pair<const char*, End*>{"black_tx_packets", &black_}, {"red_tx_packets", &red_}})
      if (counts.at(name) != end->receiver.received() + end->receiver.lost())
        throw std::runtime_error(std::string("BALANCE: ") + name + " is " + std::to_string(counts.at(name)) + ", but " +
                                 std::to_string(end->receiver.received()) + " packets came and " +
                                 std::to_string(end->receiver.lost()) + " were lost");
  });
  until([this] { return software_.idle(); }, kCalm, "counters are not read");
}

}  // namespace sallyport::fuzz
