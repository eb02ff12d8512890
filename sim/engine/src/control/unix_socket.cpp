// SPDX-License-Identifier: Apache-2.0
#include "control/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace sallyport::sim {

int listenAt(const std::string& path, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw std::runtime_error("socket path " + path + " is longer than " + std::to_string(sizeof address.sun_path - 1) +
                             " bytes");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  unlink(path.c_str());
  const int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(fd, 8) != 0)
    throw std::runtime_error("cannot listen at " + path + ": " + std::strerror(errno));
  return fd;
}

}  // namespace sallyport::sim
