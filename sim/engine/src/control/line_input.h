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

  // Waits until there is input or one of the other descriptors is as its events say, at most `timeoutMs` (-1: for
  // ever), and reads what is there. False at the end of the input.
  bool wait(std::vector<pollfd> others, int timeoutMs);
  // Takes the next line that was read whole and is not blank; false if there is none.
  bool next(std::string& line);
  // Gives a line back, to be the next.
  void putBack(const std::string& line) { unread_.insert(0, line + "\n"); }
  // Whether the writer has gone and nothing is left to read.
  bool ended() const;

  // What was read and not taken.
  const std::string& unread() const { return unread_; }
  void setUnread(std::string unread) { unread_ = std::move(unread); }

 private:
  int descriptor_;
  std::string unread_;
};

}  // namespace sallyport::sim
