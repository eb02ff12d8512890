// SPDX-License-Identifier: Apache-2.0
// The name of a port or of an inject stream, as commands and results write it: "box0.red", or
// "near.red" of the tester at a switch.
#pragma once

#include <string>

namespace sallyport::sim {

// The side of frames on the inner chip's inject stream that go by its policies, as if from red.
inline constexpr const char* kEncryptStream = "inner.encrypt";

struct PortName {
  // Of the tester at a switch of a cluster; the side is the name.
  static constexpr int kSwitch = -1;

  int box = 0;
  // "red" or "black"; of an inject stream "inner.inject", "outer.inject" or kEncryptStream.
  std::string side;
  bool operator==(const PortName& other) const { return box == other.box && side == other.side; }
  std::string text() const { return box == kSwitch ? side : "box" + std::to_string(box) + "." + side; }
  bool isInject() const { return box != kSwitch && side != "red" && side != "black"; }
};

}  // namespace sallyport::sim
