// SPDX-License-Identifier: Apache-2.0
#include "control/line_input.h"

#include <unistd.h>

#include <cerrno>

namespace sallyport::sim {

bool LineInput::wait(std::vector<pollfd> others, int timeoutMs) {
  others.push_back({descriptor_, POLLIN, 0});
  if (poll(others.data(), others.size(), timeoutMs) < 0) return errno == EINTR;
  if (!(others.back().revents & (POLLIN | POLLHUP))) return true;
  char chunk[65536];
  const ssize_t got = read(descriptor_, chunk, sizeof chunk);
  if (got > 0) unread_.append(chunk, static_cast<size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

bool LineInput::next(std::string& line) {
  for (size_t end; (end = unread_.find('\n')) != std::string::npos;) {
    line = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    if (line.find_first_not_of(" \t\r") != std::string::npos) return true;
  }
  return false;
}

bool LineInput::ended() const {
  pollfd look{descriptor_, POLLIN, 0};
  return poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR)) && !(look.revents & POLLIN);
}

}  // namespace sallyport::sim
