// SPDX-License-Identifier: Apache-2.0
#include "fuzz/drive/crypto_fuzz.h"

#include <algorithm>

namespace sallyport::fuzz {

CryptoFuzz::CryptoFuzz(std::unique_ptr<sim::Chip> chip, uint64_t seed, std::optional<uint64_t> secrets)
    : chip_(std::move(chip)),
      random_(seed, 1),
      secrets_(secrets.value_or(seed), 2),
      paired_(secrets.has_value()),
      red_(true, seed * 2 + 1),
      black_(false, seed * 2 + 2),
      judge_(kSaBits) {
  watch_.mustNotSee(kKeyMark, "a key");
  watch_.mustNotSee(kRedMark, "red plaintext");
  watch_.mustNotSee(kForgedMark, "plaintext that was not verified");
  redOut_ = [this](const Arrived& a) {
    if (!paired_) judge_.redOut(a);
  };
  blackOut_ = [this](const Arrived& a) {
    if (!paired_) judge_.blackOut(a);
  };
  red_.receiver.onPacket = [this](const Arrived& a) { redOut_(a); };
  black_.receiver.onPacket = [this](const Arrived& a) { blackOut_(a); };
  red_.sender.onSend = [this](Packet& packet) {
    // What may leave in clear has no mark.
    const Header& h = packet.header;
    if (h.bypass || h.transport)
      for (size_t i = 0; i < packet.payload.size() && (h.bypass || i < 64); i++)
        packet.payload[i] = static_cast<uint8_t>(random_.next());
    if (h.bypass) packet.header.nextHeader = kIpv4;
    packetsIn_++;
    Packet taken = packet;
    // Zeros behind the payload keep the CRC right, so a false length may count them.
    if (beatsOf(h.length) == beatsOf(packet.payload.size())) {
      const bool shorter = h.length < packet.payload.size();
      if (shorter &&
          std::any_of(packet.payload.begin() + h.length, packet.payload.end(), [](uint8_t b) { return b != 0; }))
        return;
      taken.payload.resize(h.length);
    }
    judge_.redIn(taken);
  };
  black_.sender.onSend = [this](Packet& packet) {
    packetsIn_++;
    Packet taken = packet;
    if (beatsOf(packet.header.length) == beatsOf(packet.payload.size())) taken.payload.resize(packet.header.length);
    judge_.blackIn(taken);
  };
  for (int i = 0; i < 16; i++) cycle();
  chip_->in.reset = false;
  until([this] { return chip_->out.ready; }, 100'000, "the chip is not ready after reset");
}

void CryptoFuzz::cycle() {
  sim::ChipInputs& in = chip_->in;
  const sim::ChipOutputs& out = chip_->out;
  in.noise = noise_.clock();
  size_t i = 0;
  for (End* end : {&red_, &black_}) {
    const bool up = cycle_ >= 128 && cycle_ >= end->downUntil;
    if (in.link[i].up && !up) {
      end->sender.drop();
      end->receiver.hunt();
    }
    in.link[i].up = up;
    in.link[i].txReady = up && cycle_ >= end->stalledUntil && cycle_ % 20 < 13;
    const sim::Word* word = up ? end->sender.cycle() : nullptr;
    in.link[i].rxValid = word != nullptr;
    if (word) in.link[i].rx = *word;
    i++;
  }
  software_.drive(in.axi);
  chip_->settle();
  if (paired_) see();
  i = 0;
  for (End* end : {&red_, &black_}) {
    if (out.link[i].txValid && in.link[i].txReady) {
      watch_.look(static_cast<int>(i), out.link[i].tx);
      end->receiver.take(out.link[i].tx);
    }
    i++;
  }
  if (!in.reset) software_.sample(out.axi);
  chip_->edge();
  cycle_++;
}

// Of red that words leave, for their content is for red.
void CryptoFuzz::see() {
  const sim::ChipOutputs& out = chip_->out;
  uint64_t digest = 0;
  const auto add = [&digest](uint64_t value) { digest = sim::mix64(digest + value + 0x9E3779B97F4A7C15u); };
  if (out.link[kBlack].txValid) {
    add(1);
    for (const uint64_t unit : out.link[kBlack].tx.unit) add(unit);
  }
  if (out.link[kRed].txValid) add(2);
  if (out.axi.rValid) add(uint64_t{out.axi.rResp} << 40 | uint64_t{3} << 32 | out.axi.data);
  if (out.axi.bValid) add(uint64_t{out.axi.bResp} << 8 | 4);
  for (const bool bit : {out.axi.awReady, out.axi.wReady, out.axi.arReady, out.ready, out.link[kBlack].restart})
    digest = digest * 2 + bit;
  if (trace_.empty() || trace_.back().digest != digest) trace_.push_back({cycle_, digest});
}

void CryptoFuzz::until(const std::function<bool()>& done, int64_t most, const char* what) {
  for (const int64_t end = cycle_ + most; !done(); cycle())
    if (cycle_ >= end) throw std::runtime_error(std::string("HANG: ") + what);
}

bool CryptoFuzz::settled() {
  return software_.idle() && chip_->out.ready && red_.sender.quiet() && black_.sender.quiet() &&
         !red_.receiver.hunting() && !black_.receiver.hunting();
}

// Both links are locked, and nothing has come for longer than any packet takes.
void CryptoFuzz::settle() {
  until([this] { return settled(); }, kCalm, "links or software stand still after the hostile part");
  int64_t last = cycle_, seen = -1;
  until(
      [&] {
        const int64_t now = red_.receiver.received() + black_.receiver.received();
        if (now != seen || !settled()) last = cycle_;
        seen = now;
        return cycle_ - last > kSilence;
      },
      kCalm, "packets go on leaving");
}

}  // namespace sallyport::fuzz
