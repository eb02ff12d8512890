// SPDX-License-Identifier: Apache-2.0
// Software's end of a card's frame mailbox (regs/shell.rdl): punted frames out of its registers,
// injected ones into them.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/beat.h"
#include "chip/axi_master.h"

namespace sallyport::sim {

class CardMailbox {
 public:
  // Whether a register of the card is the mailbox's.
  static bool has(uint16_t address);

  // The next access, if there is one now. Pass its result to ended() before the next call.
  std::optional<RegisterRequest> next();
  void ended(uint32_t data);

  // A punted beat that was read, once each.
  std::optional<MacBeat> punted();
  // A beat of a frame to inject, while takes() is true.
  bool takes() const { return !frameWhole_; }
  void inject(const MacBeat& beat);

 private:
  enum class Step { kIdle, kPuntState, kPuntData, kInjectState, kInjectLength, kInjectData };
  RegisterRequest read(Step step, uint16_t address);
  RegisterRequest write(Step step, uint16_t address, uint32_t data);

  Step step_ = Step::kIdle;
  // Calls until the mailbox is looked at again: looking costs a register read.
  int rest_ = 0;
  std::vector<uint32_t> words_;
  size_t wordsOfBeat_ = 0;
  MacBeat beat_;
  std::deque<MacBeat> punted_;
  std::vector<uint8_t> frame_;
  size_t injected_ = 0, room_ = 0;
  bool frameWhole_ = false, announced_ = false, encrypt_ = false;
};

}  // namespace sallyport::sim
