// SPDX-License-Identifier: Apache-2.0
// The host of a card: accesses of the engine's AXI4-Lite manager and of the frame mailbox's
// software by one PCIe block. Once the manager accesses a register of the mailbox, that is its own
// until a reset: two readers would share frames.
#pragma once

#include "chip/card_mailbox.h"
#include "chip/chip.h"
#include "chip/pcie_host.h"

namespace sallyport::sim {

class CardHost {
 public:
  // `hasMailbox`: the crypto chip's card has none.
  explicit CardHost(bool hasMailbox) : hasMailbox_(hasMailbox) {}

  // One core cycle: takes accesses and frames of `in`, gives what came of them in `out`. The
  // manager's go first.
  void cycle(const ChipInputs& in, ChipOutputs& out);
  PcieHost& pcie() { return pcie_; }

 private:
  enum class User { kNobody, kManager, kMailbox };
  void manager(const AxiInputs& in, AxiOutputs& out);

  bool hasMailbox_;
  bool givenAway_ = false;
  PcieHost pcie_;
  CardMailbox mailbox_;
  User user_ = User::kNobody;
  bool write_ = false;
  // The manager's access has ended and waits until it looks.
  bool answer_ = false;
  uint32_t data_ = 0;
};

}  // namespace sallyport::sim
