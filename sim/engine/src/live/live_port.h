// SPDX-License-Identifier: Apache-2.0
// A tester's port in a live run: the cable's far end is a device of the host, a recording,
// or absent.
//
// Frames start at whole cycles, so that a recording's nanoseconds say exactly when.
#pragma once

#include <deque>
#include <memory>

#include "live/frame_device.h"
#include "wire/pcapng_reader.h"
#include "world/world.h"

namespace sallyport::sim {

class LivePort : public FrameSource, public FrameSink {
 public:
  // `device` may be null.
  LivePort(PortName name, std::unique_ptr<FrameDevice> device)
      : name_(std::move(name)), device_(std::move(device)), deviceName_(device_ ? device_->name() : "") {}

  // A frame of a recording, to start in this cycle or when the line is free.
  void schedule(Cycle cycle, std::vector<uint8_t> bytes);
  // Between epochs: takes from the device what starts before the end of the epoch that begins
  // `now`. Others wait in the device, where the host's queue has its own rules. Throws DeviceGone.
  void take(Cycle now);
  // Between epochs: hands the device what left the box. Throws DeviceGone.
  void deliver();
  // Goes on without the device.
  void lose() { device_.reset(); }

  Tick nextStart() override { return coming_.empty() ? kNever : coming_.front().start; }
  Frame pop() override;
  void receive(Frame frame, int64_t epoch) override;

  const PortName& name() const { return name_; }
  const FrameDevice* device() const { return device_.get(); }
  // Of a lost one, too; empty if there was none.
  const std::string& deviceName() const { return deviceName_; }
  bool idle() const { return coming_.empty(); }
  // Frames that left the box and the host did not take: the interface was down, or they had a
  // bad FCS.
  int64_t undelivered() const { return undelivered_; }

 private:
  PortName name_;
  std::unique_ptr<FrameDevice> device_;
  std::string deviceName_;
  std::deque<Frame> coming_;
  std::vector<Frame> leaving_;
  Tick lineFree_ = 0;
  int64_t undelivered_ = 0;
};

}  // namespace sallyport::sim
