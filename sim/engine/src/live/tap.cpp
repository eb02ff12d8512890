// SPDX-License-Identifier: Apache-2.0
#include "live/tap.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace sallyport::sim {

namespace {

constexpr const char* kTun = "/dev/net/tun";

void checkName(const std::string& name) {
  const std::string what = "device name \"" + name + "\" ";
  if (name.size() >= IFNAMSIZ)
    throw std::runtime_error(what + "is too long: Linux takes " + std::to_string(IFNAMSIZ - 1) +
                             " characters, this has " + std::to_string(name.size()));
  // "%" would let the kernel number devices.
  if (name.empty() || name == "." || name == ".." || name.find_first_of("/:% \t\n\v\f\r") != std::string::npos)
    throw std::runtime_error(what + "is none that Linux takes: use letters, digits and dashes");
}

[[noreturn]] void refused(const std::string& name, int reason) {
  const std::string what = "cannot open TAP " + name + ": ";
  switch (reason) {
    case EBUSY:
      throw std::runtime_error(what + "another process uses it; end that, or choose another name");
    case EPERM:
      throw std::runtime_error(what +
                               "no right to; run as root, or let root make it for you first: ip tuntap add dev " +
                               name + " mode tap user $USER");
    case EINVAL:
      throw std::runtime_error(what + "a device of this name exists and is no TAP of one queue; choose another name");
    default:
      throw std::runtime_error(what + std::strerror(reason));
  }
}

}  // namespace

std::unique_ptr<FrameDevice> openTap(const std::string& name) {
  checkName(name);
  const int descriptor = open(kTun, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    throw std::runtime_error("cannot open TAP " + name + ": " + kTun + ": " + std::strerror(errno) +
                             "; live runs need Linux with its tun module, and in a container that device");
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), name.size());
  const bool existed = if_nametoindex(name.c_str()) != 0;
  auto device = std::make_unique<FrameDevice>(descriptor, name, !existed);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (ioctl(descriptor, TUNSETIFF, &request) != 0) refused(name, errno);
  return device;
}

}  // namespace sallyport::sim
