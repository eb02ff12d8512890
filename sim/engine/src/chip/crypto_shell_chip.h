// SPDX-License-Identifier: Apache-2.0
// The crypto chip as it is built.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "chip/shell_chip.h"

namespace sallyport::sim {

// Two links, and the pins for tamper and noise.
template <class Fabric>
class CryptoShellChip final : public ShellChip<Fabric> {
 public:
  CryptoShellChip(ChipKind kind, const std::string& name, std::unique_ptr<Chip> core)
      : ShellChip<Fabric>(kind, name, std::move(core)),
        pins_{AuroraPins{fabric_.links_0_clock, fabric_.links_0_channelUp, fabric_.links_0_tx_ready,
                         fabric_.links_0_tx_valid, fabric_.links_0_rx_valid, fabric_.links_0_tx_bits,
                         fabric_.links_0_rx_bits, fabric_.core_link_0_up, fabric_.core_link_0_tx_ready,
                         fabric_.core_link_0_tx_valid, fabric_.core_link_0_rx_valid, fabric_.core_link_0_restart,
                         fabric_.core_link_0_tx_bits, fabric_.core_link_0_rx_bits},
              AuroraPins{fabric_.links_1_clock, fabric_.links_1_channelUp, fabric_.links_1_tx_ready,
                         fabric_.links_1_tx_valid, fabric_.links_1_rx_valid, fabric_.links_1_tx_bits,
                         fabric_.links_1_rx_bits, fabric_.core_link_1_up, fabric_.core_link_1_tx_ready,
                         fabric_.core_link_1_tx_valid, fabric_.core_link_1_rx_valid, fabric_.core_link_1_restart,
                         fabric_.core_link_1_tx_bits, fabric_.core_link_1_rx_bits}} {}

 private:
  using ShellChip<Fabric>::fabric_;
  using ShellChip<Fabric>::core_;
  using ShellChip<Fabric>::in;

  AuroraPins& pins(size_t link) override { return pins_[link]; }

  // Tamper's pin is debounced over more than a trial's time; noise has no time to keep.
  void connectCore() override {
    fabric_.tamper = in.tamper;
    fabric_.noise = in.noise;
    core_->in.tamper = fabric_.core_tamper;
    core_->in.noise = fabric_.core_noise;
  }
  void connectFabric() override {}

  AuroraPins pins_[2];
};

}  // namespace sallyport::sim
