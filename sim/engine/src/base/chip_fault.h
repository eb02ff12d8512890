// SPDX-License-Identifier: Apache-2.0
// The end of a simulation that nothing later could be trusted in.
#pragma once

#include <stdexcept>

namespace sallyport::sim {

// A chip broke a rule of its ports.
struct ChipFault : std::logic_error {
  using std::logic_error::logic_error;
};

}  // namespace sallyport::sim
