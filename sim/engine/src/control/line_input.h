// SPDX-License-Identifier: Apache-2.0
// Lines that another process writes to a descriptor: read as they come, taken one by one.
#pragma once

#include <poll.h>

#include <string>
#include <utility>
#include <vector>

namespace sallyport::sim {

class LineInput {
 public:
  explicit LineInput(int descriptor) : descriptor_(descriptor) {}

  // Waits for input, or for the events of the other descriptors, at most `timeoutMs` (-1: for
  // ever). Then reads the input that has come. False at the end of the input.
  bool wait(std::vector<pollfd> others, int timeoutMs);
  // Takes the next whole line that is not blank; false if no such line was read.
  bool next(std::string& line);
  // Gives a line back, to be the next.
  void putBack(const std::string& line) { unread_.insert(0, line + "\n"); }
  // Whether the writer has gone and all input was read.
  bool ended() const;

  // Input that was read and not taken.
  const std::string& unread() const { return unread_; }
  void setUnread(std::string unread) { unread_ = std::move(unread); }

 private:
  int descriptor_;
  std::string unread_;
};

}  // namespace sallyport::sim
