// SPDX-License-Identifier: Apache-2.0
#include "fuzz/drive/crypto_fuzz.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace sallyport::fuzz {

CryptoFuzz::CryptoFuzz(std::unique_ptr<sim::Chip> chip, uint64_t seed, std::optional<uint64_t> secrets, int64_t attack)
    : Bench(std::move(chip), seed),
      secrets_(secrets.value_or(seed), 2),
      paired_(secrets.has_value()),
      attack_(attack),
      red_(*ends_.emplace_back(std::make_unique<End>(true, false, seed * 2 + 1))),
      black_(*ends_.emplace_back(std::make_unique<End>(false, false, seed * 2 + 2))),
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
  for (const auto& memory : chip_->memories())
    for (const auto& [path, most] :
         {std::pair("encrypt.fetch.keys.table_0.memory", 2), std::pair("encrypt.fetch.authority.counters.memory", 2),
          std::pair("decrypt.fetch.keys.table_0.memory", 1)})
      if (memory.name.find(path) != std::string::npos) upset_.push_back({memory, most, {}});
  if (upset_.size() != 3) throw std::runtime_error("the chip does not show its key tables and counters");
  start();
}

// Of red that words leave, for their content is for red.
void CryptoFuzz::observe() {
  if (!paired_) return;
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

}  // namespace sallyport::fuzz
