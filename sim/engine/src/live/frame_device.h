// SPDX-License-Identifier: Apache-2.0
// The host's end of a live cable: a descriptor where each read or write moves one Ethernet frame
// (without FCS), as a TAP does.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace sallyport::sim {

// The device was deleted, or its namespace was: the run cannot go on.
struct DeviceGone : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class FrameDevice {
 public:
  // Takes the descriptor, which must not block, and closes it at the end. `created`: the device
  // goes with it.
  FrameDevice(int descriptor, std::string name, bool created = false)
      : descriptor_(descriptor), name_(std::move(name)), created_(created) {}
  ~FrameDevice();
  FrameDevice(const FrameDevice&) = delete;
  FrameDevice& operator=(const FrameDevice&) = delete;

  // The next frame that waits, padded to 60 bytes as a network card does; false if none waits.
  // Throws DeviceGone.
  bool read(std::vector<uint8_t>& frame);
  // False if the host does not take it: the interface is down. Throws DeviceGone.
  bool write(const std::vector<uint8_t>& frame);

  int descriptor() const { return descriptor_; }
  const std::string& name() const { return name_; }
  bool created() const { return created_; }

 private:
  [[noreturn]] void gone() const;

  int descriptor_;
  std::string name_;
  bool created_;
  // Longer than a frame of any MTU, so that none is cut.
  std::vector<uint8_t> buffer_ = std::vector<uint8_t>(70'000);
};

}  // namespace sallyport::sim
