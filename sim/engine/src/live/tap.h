// SPDX-License-Identifier: Apache-2.0
// Opens TAP devices of Linux (Documentation/networking/tuntap.rst).
#pragma once

#include <memory>
#include <string>

#include "live/frame_device.h"

namespace sallyport::sim {

// The TAP of this name: one that exists and is not in use, or a new one, which goes with the
// FrameDevice. Throws std::runtime_error with a sentence that says what to do. Causes: an illegal
// name, no right, a busy device, a device that is no TAP, no /dev/net/tun.
std::unique_ptr<FrameDevice> openTap(const std::string& name);

}  // namespace sallyport::sim
