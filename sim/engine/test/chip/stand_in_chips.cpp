// SPDX-License-Identifier: Apache-2.0
// Stand-ins for Sallyport's chips: the ports, with only queues behind them. They let the engine be
// tested, and its protocol be used, without the cores.
//
// An interface stand-in sends each beat of a frame as two link words, a header and the data. It
// punts ARP, drops frames with an error mark, and gives injected frames to its MAC. A crypto
// stand-in passes words on. Each has 64 registers that can be written and read.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "chip/chip_factory.h"
#include "wire/punt.h"

namespace sallyport::sim {

namespace {

constexpr int kReadyAfter = 200;
// Room for frames between MAC and link; a frame that finds less than its first beat's room is
// dropped whole.
constexpr size_t kQueueBeats = 512;

class RegisterStandIn {
 public:
  void settle(const AxiInputs& in, AxiOutputs& out) {
    out = {};
    out.awReady = out.wReady = !response_ && in.awValid && in.wValid;
    out.arReady = !response_;
    out.bValid = response_ && write_;
    out.rValid = response_ && !write_;
    out.data = data_;
    out.bResp = out.rResp = error_ ? 2 : 0;
  }
  void edge(const AxiInputs& in, const AxiOutputs& out) {
    if ((out.bValid && in.bReady) || (out.rValid && in.rReady)) response_ = false;
    if (response_) return;
    write_ = out.awReady;
    if (write_ || (in.arValid && out.arReady)) {
      response_ = true;
      error_ = in.address >= 4 * 64;
      uint32_t& reg = registers_[in.address / 4 % 64];
      if (write_ && !error_) reg = in.data;
      data_ = error_ ? 0 : reg;
    }
  }
  ChipMemory memory() { return {"registers", 64, 32, reinterpret_cast<uint8_t*>(registers_), sizeof(registers_[0])}; }

 private:
  bool response_ = false, write_ = false, error_ = false;
  uint32_t data_ = 0, registers_[64] = {};
};

class StandIn : public Chip {
 public:
  using Chip::Chip;

  std::vector<ChipMemory> memories() final { return {registers_.memory()}; }

  void settle() final {
    out.ready = cycle_ > kReadyAfter;
    for (int i = 0; i < links(); i++) {
      out.link[i].txValid = !toLink_[i].empty();
      if (out.link[i].txValid) out.link[i].tx = toLink_[i].front();
    }
    ports();
    registers_.settle(in.axi, out.axi);
  }

  void edge() final {
    registers_.edge(in.axi, out.axi);
    for (int i = 0; i < links(); i++)
      if (out.link[i].txValid && in.link[i].txReady) toLink_[i].pop_front();
    move();
    cycle_++;
  }

 protected:
  virtual void ports() {}
  virtual void move() = 0;

  int64_t cycle_ = 0;
  std::deque<Word> toLink_[2];
  RegisterStandIn registers_;
};

class CryptoStandIn final : public StandIn {
 public:
  CryptoStandIn() : StandIn(ChipKind::kCrypto) {}

 private:
  void move() override {
    for (int i = 0; i < 2; i++)
      if (in.link[i].rxValid) toLink_[1 - i].push_back(in.link[i].rx);
  }
};

class InterfaceStandIn final : public StandIn {
 public:
  explicit InterfaceStandIn(ChipKind kind) : StandIn(kind) {}

 private:
  static constexpr uint64_t kMark = 0x5AA5;

  void ports() override {
    out.macTxValid = !toMac_.empty();
    if (out.macTxValid) out.macTx = toMac_.front();
    out.puntValid = !toPunt_.empty();
    if (out.puntValid) out.punt = toPunt_.front();
    out.injectReady = cycle_ % 3 == 0;
  }

  void move() override {
    if (out.macTxValid && in.macTxReady) toMac_.pop_front();
    if (out.puntValid && in.puntReady) toPunt_.pop_front();
    if (in.macRxValid) fromMac(in.macRx);
    if (in.injectValid && out.injectReady) toMac_.push_back(in.inject);
    if (in.link[0].rxValid) fromLink(in.link[0].rx);
  }

  void fromMac(const MacBeat& beat) {
    if (frame_.empty()) dropping_ = toLink_[0].size() + 2 * 256 > 2 * kQueueBeats;
    frame_.push_back(beat);
    if (!beat.last) return;
    const auto* bytes = reinterpret_cast<const uint8_t*>(frame_.front().data.unit.data());
    if (bytes[12] == 0x08 && bytes[13] == 0x06) {
      punt();
    } else if (!beat.error && !dropping_) {
      for (const auto& part : frame_) {
        Word header;
        header.unit[0] = kMark << 16 | static_cast<uint64_t>(part.bytes) << 8 | part.last;
        toLink_[0].push_back(header);
        toLink_[0].push_back(part.data);
      }
    }
    frame_.clear();
  }

  // The frame behind a header that says ARP, in beats of its own.
  void punt() {
    std::vector<uint8_t> punted(PuntHeader::kBytes);
    for (const auto& part : frame_) {
      const auto* data = reinterpret_cast<const uint8_t*>(part.data.unit.data());
      punted.insert(punted.end(), data, data + part.bytes);
    }
    const size_t length = punted.size() - PuntHeader::kBytes;
    punted[0] = kind() == ChipKind::kOuter;
    punted[1] = 1;
    punted[2] = 2;
    punted[4] = static_cast<uint8_t>(length >> 8);
    punted[5] = static_cast<uint8_t>(length);
    for (int i = 0; i < 8; i++) punted[15 - i] = static_cast<uint8_t>(cycle_ >> 8 * i);
    for (size_t at = 0; at < punted.size(); at += 64) {
      MacBeat beat;
      beat.bytes = static_cast<uint8_t>(std::min<size_t>(64, punted.size() - at));
      beat.last = at + beat.bytes == punted.size();
      std::memcpy(beat.data.unit.data(), punted.data() + at, beat.bytes);
      toPunt_.push_back(beat);
    }
  }

  void fromLink(const Word& word) {
    if (!inBeat_) {
      if (word.unit[0] >> 16 != kMark) return;  // damaged: skip to the next header
      header_ = word.unit[0];
      inBeat_ = true;
      return;
    }
    inBeat_ = false;
    const auto bytes = static_cast<uint8_t>(header_ >> 8 & 0xFF);
    const bool last = header_ & 1;
    if (bytes < 1 || bytes > 64 || (!last && bytes != 64)) return;
    toMac_.push_back({word, last, bytes, false});
  }

  std::deque<MacBeat> frame_, toMac_, toPunt_;
  uint64_t header_ = 0;
  bool inBeat_ = false, dropping_ = false;
};

}  // namespace

std::unique_ptr<Chip> makeChip(ChipKind kind, const std::string&) {
  if (kind == ChipKind::kCrypto) return std::make_unique<CryptoStandIn>();
  return std::make_unique<InterfaceStandIn>(kind);
}

const char* chipImplementation() { return "stand-in"; }

}  // namespace sallyport::sim
