// SPDX-License-Identifier: Apache-2.0
// A chip as it is built: its core, and around it the shell's fabric in the clocks of a card. Beyond
// the fabric's ports stand models of the Aurora cores, the 100G MAC, the PCIe block and the system
// monitor at their user interfaces. For the engine it is a chip like any other.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chip/aurora_model.h"
#include "chip/card_clock.h"
#include "chip/card_host.h"
#include "chip/monitor_model.h"
#include "chip/verilated_chip.h"

namespace sallyport::sim {

// The ports of the fabric for one Aurora core.
struct AuroraPins {
  CData &clock, &channelUp, &txReady, &txValid, &rxValid;
  VlWide<8>&tx, &rx;
  // The core's side of the same link.
  CData &coreUp, &coreTxReady, &coreTxValid, &coreRxValid, &coreRestart;
  VlWide<16>&coreTx, &coreRx;
};

template <class Fabric>
class ShellChip : public Chip {
 public:
  ShellChip(ChipKind kind, const std::string& name, std::unique_ptr<Chip> core)
      : Chip(kind), core_(std::move(core)), fabric_(&context_, (name + ".fabric").c_str()), host_(hasMac()) {
    // No two oscillators of a box are the same.
    int ppm = 0;
    for (const char letter : name) ppm = (ppm * 31 + letter) % 201;
    ppm -= 100;
    for (int i = 0; i < links(); i++) aurora_.emplace_back(i == 0 ? ppm : -ppm);
    pcie_ = CardClock(250, ppm);
    control_ = CardClock(125, 0);
    init_ = CardClock(50, 0);
  }
  ~ShellChip() override {
    Verilated::threadContextp(&context_);
    fabric_.final();
  }

  void settle() final {
    fabric_.locked = !in.reset;
    fabric_.coreKhz = in.coreKhz;
    for (size_t i = 0; i < aurora_.size(); i++) {
      aurora_[i].channel(in.link[i].up, in.link[i].rxValid ? &in.link[i].rx : nullptr);
      pins(i).channelUp = aurora_[i].up();
    }
    host_.cycle(in, out);
    now_ += coreClock.period();
    runOtherClocks();
    toCore();
    core_->settle();
    fromCore();
    fabric_.eval();
    out.ready = core_->out.ready && linksUpFor_ >= kHandshake;
    bool allUp = true;
    for (size_t i = 0; i < aurora_.size(); i++) {
      allUp &= pins(i).coreUp;
      const Word* word = aurora_[i].departing();
      out.link[i].txValid = word != nullptr;
      if (!word) continue;
      out.link[i].tx = *word;
      if (in.link[i].txReady) aurora_[i].departed();
    }
    linksUpFor_ = allUp ? linksUpFor_ + 1 : 0;
    engineSide();
  }

  void edge() final {
    context_.timeInc(1);
    core_->edge();
    pulse(fabric_.coreClock);
  }

 protected:
  // Cycles after which the two cores of a link have found each other.
  static constexpr int64_t kHandshake = 512;

  virtual AuroraPins& pins(size_t link) = 0;
  // The clocks of a MAC, which the crypto chip has not: the earliest edge, and to run it.
  virtual Femtoseconds nextMacEdge() const { return INT64_MAX; }
  virtual void macEdge() {}
  // Core and fabric, once a core cycle; what the engine gives and takes.
  virtual void connectCore() = 0;
  virtual void connectFabric() = 0;
  virtual void engineSide() {}

  // A rising edge; `behind` are the inputs of that clock as they are from then on.
  template <class Behind>
  void pulse(CData& clock, Behind behind) {
    clock = 1;
    fabric_.eval();
    clock = 0;
    behind();
    fabric_.eval();
  }
  void pulse(CData& clock) {
    pulse(clock, [] {});
  }

  std::unique_ptr<Chip> core_;
  VerilatedContext context_;
  Fabric fabric_;
  Femtoseconds now_ = 0;

 private:
  void runOtherClocks() {
    for (;;) {
      size_t first = aurora_.size();
      Femtoseconds at = now_;
      for (size_t i = 0; i < aurora_.size(); i++)
        if (aurora_[i].clock.next() < at) at = aurora_[first = i].clock.next();
      const Femtoseconds others = std::min({pcie_.next(), control_.next(), init_.next(), nextMacEdge()});
      if (others < at) {
        if (pcie_.next() == others)
          pcieEdge();
        else if (control_.next() == others)
          controlEdge();
        else if (init_.next() == others)
          init_.advance(), pulse(fabric_.initClock);
        else
          macEdge();
      } else if (first < aurora_.size()) {
        auroraEdge(first);
      } else {
        return;
      }
    }
  }

  void auroraEdge(size_t link) {
    AuroraModel& model = aurora_[link];
    AuroraPins& pin = pins(link);
    model.clock.advance();
    AuroraModel::Beat beat;
    const bool taken = pin.txReady && pin.txValid;
    if (taken) std::memcpy(beat.data(), pin.tx.data(), sizeof beat);
    pulse(pin.clock, [&] {
      model.edge(taken ? &beat : nullptr);
      pin.txReady = model.ready();
      const AuroraModel::Beat* arrived = model.arrival();
      pin.rxValid = arrived != nullptr;
      if (arrived) std::memcpy(pin.rx.data(), arrived->data(), sizeof *arrived);
    });
  }

  void controlEdge() {
    control_.advance();
    const bool enable = fabric_.monitorDrp_enable;
    const uint8_t address = fabric_.monitorDrp_address;
    pulse(fabric_.controlClock, [&] {
      monitor_.edge(enable, address);
      fabric_.monitorDrp_ready = monitor_.ready();
      fabric_.monitorDrp_dataOut = monitor_.data();
    });
  }

  void pcieEdge() {
    pcie_.advance();
    const bool taken = fabric_.pcie_cq_valid && fabric_.pcie_cq_ready;
    if (fabric_.pcie_cc_valid && fabric_.pcie_cc_ready) {
      PcieWords beat;
      std::memcpy(beat.word.data(), fabric_.pcie_cc_bits_data.data(), sizeof beat.word);
      host_.pcie().completion(beat);
    }
    pulse(fabric_.pcie_clock, [&] {
      if (taken) host_.pcie().taken();
      fabric_.pcie_reset = in.reset;
      fabric_.pcie_cc_ready = 1;
      fabric_.pcie_cq_valid = host_.pcie().valid() && !in.reset;
      if (!host_.pcie().valid()) return;
      const PcieWords request = host_.pcie().request();
      std::memcpy(fabric_.pcie_cq_bits_data.data(), request.word.data(), sizeof request.word);
      fabric_.pcie_cq_bits_keep = host_.pcie().keep();
      fabric_.pcie_cq_bits_last = 1;
      fabric_.pcie_cq_bits_user[0] = host_.pcie().userLow();
      fabric_.pcie_cq_bits_user[1] = host_.pcie().userHigh();
    });
  }

  // The registers and the links, which every chip has.
  void toCore() {
    ChipInputs& to = core_->in;
    to.reset = fabric_.core_reset;
    to.coreKhz = fabric_.core_coreKhz;
    to.axi.awValid = fabric_.core_axil_aw_valid;
    to.axi.wValid = fabric_.core_axil_w_valid;
    to.axi.bReady = fabric_.core_axil_b_ready;
    to.axi.arValid = fabric_.core_axil_ar_valid;
    to.axi.rReady = fabric_.core_axil_r_ready;
    to.axi.address = to.axi.arValid ? fabric_.core_axil_ar_bits_addr : fabric_.core_axil_aw_bits_addr;
    to.axi.data = fabric_.core_axil_w_bits_data;
    for (size_t i = 0; i < aurora_.size(); i++) {
      const AuroraPins& pin = pins(i);
      to.link[i].up = pin.coreUp;
      to.link[i].txReady = pin.coreTxReady;
      to.link[i].rxValid = pin.coreRxValid;
      fromModel(to.link[i].rx, pin.coreRx);
    }
    connectCore();
  }

  void fromCore() {
    const ChipOutputs& from = core_->out;
    fabric_.core_ready = from.ready;
    fabric_.core_axil_aw_ready = from.axi.awReady;
    fabric_.core_axil_w_ready = from.axi.wReady;
    fabric_.core_axil_b_valid = from.axi.bValid;
    fabric_.core_axil_b_bits = from.axi.bResp;
    fabric_.core_axil_ar_ready = from.axi.arReady;
    fabric_.core_axil_r_valid = from.axi.rValid;
    fabric_.core_axil_r_bits_data = from.axi.data;
    fabric_.core_axil_r_bits_resp = from.axi.rResp;
    for (size_t i = 0; i < aurora_.size(); i++) {
      AuroraPins& pin = pins(i);
      pin.coreTxValid = from.link[i].txValid;
      pin.coreRestart = from.link[i].restart;
      if (from.link[i].txValid) toModel(pin.coreTx, from.link[i].tx);
    }
    connectFabric();
  }

  std::vector<AuroraModel> aurora_;
  CardClock pcie_{250, 0}, control_{125, 0}, init_{50, 0};
  CardHost host_;
  MonitorModel monitor_;
  int64_t linksUpFor_ = 0;
};

}  // namespace sallyport::sim
