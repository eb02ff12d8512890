// SPDX-License-Identifier: Apache-2.0
#include "control/branch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sallyport::sim {

namespace {

enum Status { kJoined = 0, kFailed = 1, kEnded = 3 };

std::string readAll(int fd) {
  std::string all;
  char chunk[65536];
  ssize_t got;
  while ((got = read(fd, chunk, sizeof chunk)) > 0 || (got < 0 && errno == EINTR))
    if (got > 0) all.append(chunk, static_cast<size_t>(got));
  return all;
}

bool writeAll(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t put = write(fd, text.data() + done, text.size() - done);
    if (put < 0 && errno != EINTR) return false;
    if (put > 0) done += static_cast<size_t>(put);
  }
  return true;
}

}  // namespace

std::optional<Branch::Joined> Branch::take() {
  int back[2];
  if (pipe(back) != 0) throw std::runtime_error(std::string("cannot branch: ") + std::strerror(errno));
  const pid_t child = fork();
  if (child < 0) {
    const int reason = errno;
    close(back[0]);
    close(back[1]);
    throw std::runtime_error(std::string("cannot branch: ") + std::strerror(reason));
  }
  if (child == 0) {
    close(back[0]);
    back_ = back[1];
    return std::nullopt;
  }
  close(back[1]);
  const std::string text = readAll(back[0]);
  close(back[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kEnded) return std::nullopt;
  if (!WIFEXITED(status)) throw BranchFailed("a branch was killed by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != kJoined) throw BranchFailed("a branch failed");
  const size_t line = text.find('\n');
  return Joined{nlohmann::json::parse(text.substr(0, line)), text.substr(line + 1)};
}

// _exit: what the other process has open (sockets, buffers of files) is not for this one to close.

void Branch::join(const Joined& joined) {
  _exit(writeAll(back_, joined.id.dump() + "\n" + joined.unread) ? kJoined : kFailed);
}

void Branch::end() { _exit(kEnded); }

void Branch::fail() { _exit(kFailed); }

}  // namespace sallyport::sim
