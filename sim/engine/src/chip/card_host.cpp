// SPDX-License-Identifier: Apache-2.0
#include "chip/card_host.h"

namespace sallyport::sim {

void CardHost::cycle(const ChipInputs& in, ChipOutputs& out) {
  if (in.reset) *this = CardHost(hasMailbox_);
  if (const auto data = pcie_.finish()) {
    if (user_ == User::kMailbox) mailbox_.ended(*data);
    if (user_ == User::kManager) answer_ = true, data_ = *data;
    user_ = User::kNobody;
  }
  manager(in.axi, out.axi);
  if (!hasMailbox_ || in.reset) return;
  if (pcie_.idle() && !answer_ && !givenAway_) {
    if (const auto request = mailbox_.next()) {
      pcie_.start(request->write, request->address, request->data);
      user_ = User::kMailbox;
    }
  }
  const auto beat = in.puntReady ? mailbox_.punted() : std::nullopt;
  out.puntValid = beat.has_value();
  if (beat) out.punt = *beat;
  out.injectReady = mailbox_.takes() && !givenAway_;
  if (in.injectValid && out.injectReady) mailbox_.inject(in.inject);
}

// A write ends when the card takes it: PCIe does not tell whether the register did.
void CardHost::manager(const AxiInputs& in, AxiOutputs& out) {
  out = AxiOutputs();
  if (answer_) {
    (write_ ? out.bValid : out.rValid) = true;
    out.data = data_;
    if (write_ ? in.bReady : in.rReady) answer_ = false;
  } else if (pcie_.idle() && ((in.awValid && in.wValid) || in.arValid)) {
    write_ = in.awValid;
    out.awReady = out.wReady = write_;
    out.arReady = !write_;
    pcie_.start(write_, in.address, in.data);
    user_ = User::kManager;
    givenAway_ |= CardMailbox::has(in.address);
  }
}

}  // namespace sallyport::sim
