// SPDX-License-Identifier: Apache-2.0
#include "control/software.h"

namespace sallyport::sim {

std::vector<pollfd> Software::descriptors() const {
  auto all = registers_.descriptors();
  for (const auto& descriptor : frames_.descriptors()) all.push_back(descriptor);
  return all;
}

void Software::leaveClients() {
  registers_.leaveClients();
  frames_.leaveClients();
}

void Software::beginLive() {
  requestsBefore_ = registers_.requests();
  injectedBefore_ = frames_.injected();
  frames_.plug();
}

LiveSoftware Software::serveLive() {
  registers_.serveLive();
  frames_.serve();
  return {registers_.requests() - requestsBefore_, frames_.injected() - injectedBefore_, registers_.needsTime()};
}

}  // namespace sallyport::sim
