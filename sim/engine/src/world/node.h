// SPDX-License-Identifier: Apache-2.0
// A chip with everything that stands around it: the ends of its links, its MAC, the CPU's end of
// punt, inject and registers.
// What a node does in an epoch depends on itself and on its channels' tokens of the epoch before;
// no other state is shared.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chip/axi_master.h"
#include "chip/chip.h"
#include "chip/noise_chip.h"
#include "wire/capture.h"
#include "wire/inject.h"
#include "wire/link_model.h"
#include "wire/mac_model.h"
#include "wire/port_log.h"
#include "wire/punt.h"
#include "world/actor.h"
#include "world/upsets.h"

namespace sallyport::sim {

// One end of a duplex channel: this chip's transmitter and its receiver.
struct LinkEnd {
  LinkTransmitter tx;
  LinkReceiver rx;
  // Faults of the far transmitter: a channel that is down is down at both ends.
  const LinkFault* far = nullptr;
};

struct MacPort {
  MacPort(FrameSource* source, FrameSink* sink, const std::string& name) : rx(source), tx(sink, name) {}
  MacReceiver rx;
  MacTransmitter tx;
  std::unique_ptr<Capture> capture;
  // Of a live run that is recorded; may be null.
  PortLog* log = nullptr;
};

class Node final : public Actor {
 public:
  // Cycles of reset at the beginning of simulated time, and when the links come up.
  static constexpr Cycle kResetCycles = 16;
  static constexpr Cycle kLinkUpCycle = 128;

  Node(std::string name, std::unique_ptr<Chip> chip) : name_(std::move(name)), chip_(std::move(chip)) {}

  // Building: as many links as the chip has, and a port if it has a MAC.
  void addLink(LinkChannel* sends, LinkChannel* receives, uint32_t phase) {
    links_.push_back({LinkTransmitter(sends, phase), LinkReceiver(receives), nullptr});
  }
  void setPort(FrameSource* source, FrameSink* sink) { port_.emplace(source, sink, name_); }

  // From the next cycle on the chip is in reset for kResetCycles, and its channels are down for
  // kLinkUpCycle; what its MAC holds is lost.
  void reset();

  // Registers started with registers().start() proceed.
  void runEpoch() override;
  void runCycle() override;

  // A register access while the rest of the world stands still: the chip's clock runs, its streams
  // pause (no beat comes, none is taken). Used between trials; simulated time does not advance.
  // Empty when the chip does not answer.
  std::optional<RegisterResponse> accessAlone(const RegisterRequest& request);
  // The same for an access that registers().start() has begun.
  std::optional<RegisterResponse> finishAlone();

  const std::string& name() const { return name_; }
  Cycle now() const { return now_; }
  bool ready() const { return chip_->out.ready; }
  // Last cycle in which a beat crossed the MAC, the punt stream or the inject stream.
  Cycle lastActivity() const { return lastActivity_; }
  bool quiet() { return !port_ || (port_->rx.idle() && port_->tx.idle(now_) && inject_.idle()); }

  LinkEnd& link(int index) { return links_.at(index); }
  int links() const { return static_cast<int>(links_.size()); }
  MacPort* port() { return port_ ? &*port_ : nullptr; }
  PuntCollector& punt() { return punt_; }
  InjectSource& inject() { return inject_; }
  AxiMaster& registers() { return registers_; }
  void setTamper(bool on) { chip_->in.tamper = on; }
  NoiseChip& noise() { return noise_; }
  std::vector<ChipMemory> memories() { return chip_->memories(); }
  Upsets& upsets() { return upsets_; }

  int64_t busyNs() const override { return busyNs_; }
  int64_t clocks() const { return clocks_; }

 private:
  void exchange(int64_t epoch);
  void cycle(int64_t epoch);
  void writeCaptures();

  std::string name_;
  std::unique_ptr<Chip> chip_;
  std::vector<LinkEnd> links_;
  std::optional<MacPort> port_;
  PuntCollector punt_;
  InjectSource inject_;
  AxiMaster registers_;
  NoiseChip noise_;
  Upsets upsets_;
  Cycle now_ = 0, lastActivity_ = 0, resetUntil_ = kResetCycles;
  int64_t busyNs_ = 0, clocks_ = 0;
};

}  // namespace sallyport::sim
