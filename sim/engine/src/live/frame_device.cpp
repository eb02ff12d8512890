// SPDX-License-Identifier: Apache-2.0
#include "live/frame_device.h"

#include <unistd.h>

#include <cerrno>

#include "base/sim_time.h"

namespace sallyport::sim {

namespace {
constexpr size_t kShortest = kMinFrameBytes - kFcsBytes;
}  // namespace

FrameDevice::~FrameDevice() { ::close(descriptor_); }

void FrameDevice::gone() const {
  throw DeviceGone("device " + name_ + " went away: it was deleted, or the namespace that it was in");
}

bool FrameDevice::read(std::vector<uint8_t>& frame) {
  ssize_t got;
  do {
    got = ::read(descriptor_, buffer_.data(), buffer_.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) gone();
  frame.assign(buffer_.begin(), buffer_.begin() + got);
  if (frame.size() < kShortest) frame.resize(kShortest, 0);
  return true;
}

bool FrameDevice::write(const std::vector<uint8_t>& frame) {
  ssize_t put;
  do {
    put = ::write(descriptor_, frame.data(), frame.size());
  } while (put < 0 && errno == EINTR);
  // EBADFD: a TAP whose device was deleted. EIO is one that is down.
  if (put < 0 && (errno == EBADFD || errno == EPIPE)) gone();
  return put >= 0;
}

}  // namespace sallyport::sim
