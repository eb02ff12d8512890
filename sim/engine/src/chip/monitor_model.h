// SPDX-License-Identifier: Apache-2.0
// The FPGA's system monitor at its dynamic reconfiguration port (SYSMONE4, UG580): constant words
// of a card at 40.2 degrees with 0.85 V and 1.8 V. Other words read 0, and writes have no effect.
#pragma once

#include <cstdint>

namespace sallyport::sim {

class MonitorModel {
 public:
  // A rising edge of the port's clock, with the port's inputs as they were before it.
  void edge(bool enable, uint8_t address) {
    ready_ = enable;
    data_ = enable && address < kWords ? kWord[address] : 0;
  }
  bool ready() const { return ready_; }
  uint16_t data() const { return data_; }

 private:
  static constexpr int kWords = 3;
  // Temperature, VCCINT, VCCAUX.
  static constexpr uint16_t kWord[kWords] = {0xA110, 0x4889, 0x9999};

  bool ready_ = false;
  uint16_t data_ = 0;
};

}  // namespace sallyport::sim
