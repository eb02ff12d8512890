// SPDX-License-Identifier: Apache-2.0
// The name of a port or of an inject stream, as commands and results write it: "box0.red".
#pragma once

#include <string>

namespace sallyport::sim {

struct PortName {
  int box = 0;
  std::string side;  // "red" or "black"; of an inject stream "inner.inject" or "outer.inject"
  bool operator==(const PortName& other) const { return box == other.box && side == other.side; }
  std::string text() const { return "box" + std::to_string(box) + "." + side; }
  bool isInject() const { return side != "red" && side != "black"; }
};

}  // namespace sallyport::sim
