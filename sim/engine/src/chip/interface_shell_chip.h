// SPDX-License-Identifier: Apache-2.0
// An interface chip as it is built.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "base/chip_fault.h"
#include "chip/shell_chip.h"

namespace sallyport::sim {

// An interface chip: one link and a MAC, whose two clocks are neither each other's nor the core's.
template <class Fabric>
class InterfaceShellChip final : public ShellChip<Fabric> {
 public:
  InterfaceShellChip(ChipKind kind, const std::string& name, std::unique_ptr<Chip> core)
      : ShellChip<Fabric>(kind, name, std::move(core)),
        pins_{fabric_.links_0_clock,        fabric_.links_0_channelUp,    fabric_.links_0_tx_ready,
              fabric_.links_0_tx_valid,     fabric_.links_0_rx_valid,     fabric_.links_0_tx_bits,
              fabric_.links_0_rx_bits,      fabric_.core_link_0_up,       fabric_.core_link_0_tx_ready,
              fabric_.core_link_0_tx_valid, fabric_.core_link_0_rx_valid, fabric_.core_link_0_restart,
              fabric_.core_link_0_tx_bits,  fabric_.core_link_0_rx_bits} {}

 private:
  using ShellChip<Fabric>::fabric_;
  using ShellChip<Fabric>::core_;
  using ShellChip<Fabric>::in;
  using ShellChip<Fabric>::out;

  // Beats that the MAC takes before its line holds it back.
  static constexpr size_t kMacBeats = 8;

  AuroraPins& pins(size_t) override { return pins_; }

  Femtoseconds nextMacEdge() const override { return std::min(transmit_.next(), receive_.next()); }

  void macEdge() override {
    if (transmit_.next() <= receive_.next())
      transmitEdge();
    else
      receiveEdge();
  }

  void transmitEdge() {
    transmit_.advance();
    if (fabric_.mac_tx_ready && fabric_.mac_tx_valid) {
      MacBeat beat;
      fromModel(beat.data, fabric_.mac_tx_bits_data);
      beat.last = fabric_.mac_tx_bits_last;
      beat.bytes = static_cast<uint8_t>(__builtin_popcountll(fabric_.mac_tx_bits_keep));
      beat.error = fabric_.mac_tx_bits_error;
      transmitted_.push_back(beat);
      inFrame_ = !beat.last;
    } else if (fabric_.mac_tx_ready && inFrame_ && !in.reset) {
      throw ChipFault("the MAC ran dry inside a frame");
    }
    this->pulse(fabric_.mac_txClock, [&] {
      fabric_.mac_txReset = in.reset;
      if (in.reset) inFrame_ = false;
      fabric_.mac_tx_ready = !in.reset && transmitted_.size() < kMacBeats;
    });
  }

  void receiveEdge() {
    receive_.advance();
    this->pulse(fabric_.mac_rxClock, [&] {
      fabric_.mac_rxReset = in.reset;
      fabric_.mac_rxStatus = !in.reset;
      fabric_.mac_rx_valid = !received_.empty();
      if (received_.empty()) return;
      const MacBeat beat = received_.front();
      received_.pop_front();
      toModel(fabric_.mac_rx_bits_data, beat.data);
      fabric_.mac_rx_bits_keep = beat.last ? ~0ULL >> (64 - beat.bytes) : ~0ULL;
      fabric_.mac_rx_bits_last = beat.last;
      fabric_.mac_rx_bits_error = beat.error;
    });
  }

  void connectCore() override {
    ChipInputs& to = core_->in;
    to.macRxValid = fabric_.core_macRx_valid;
    fromModel(to.macRx.data, fabric_.core_macRx_bits_data);
    to.macRx.last = fabric_.core_macRx_bits_last;
    to.macRx.bytes = fabric_.core_macRx_bits_bytes;
    to.macRx.error = fabric_.core_macRx_bits_error;
    to.macTxReady = fabric_.core_macTx_ready;
    to.puntReady = fabric_.core_punt_ready;
    to.injectValid = fabric_.core_inject_valid;
    fromModel(to.inject.data, fabric_.core_inject_bits_data);
    to.inject.last = fabric_.core_inject_bits_last;
    to.inject.bytes = fabric_.core_inject_bits_bytes;
    to.inject.error = fabric_.core_inject_bits_error;
    to.inject.encrypt = fabric_.core_inject_bits_meta_encrypt;
  }

  void connectFabric() override {
    const ChipOutputs& from = core_->out;
    fabric_.core_macTx_valid = from.macTxValid;
    toModel(fabric_.core_macTx_bits_data, from.macTx.data);
    fabric_.core_macTx_bits_last = from.macTx.last;
    fabric_.core_macTx_bits_bytes = from.macTx.bytes;
    fabric_.core_macTx_bits_error = from.macTx.error;
    fabric_.core_punt_valid = from.puntValid;
    toModel(fabric_.core_punt_bits_data, from.punt.data);
    fabric_.core_punt_bits_last = from.punt.last;
    fabric_.core_punt_bits_bytes = from.punt.bytes;
    fabric_.core_punt_bits_error = from.punt.error;
    fabric_.core_inject_ready = from.injectReady;
  }

  void engineSide() override {
    if (in.reset) {
      received_.clear();
      transmitted_.clear();
    } else if (in.macRxValid) {
      received_.push_back(in.macRx);
    }
    out.macTxValid = !transmitted_.empty();
    if (transmitted_.empty()) return;
    out.macTx = transmitted_.front();
    if (in.macTxReady) transmitted_.pop_front();
  }

  AuroraPins pins_;
  CardClock transmit_{322.265625, 60}, receive_{322.265625, -80};
  bool inFrame_ = false;
  std::deque<MacBeat> transmitted_, received_;
};

}  // namespace sallyport::sim
