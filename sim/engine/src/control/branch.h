// SPDX-License-Identifier: Apache-2.0
// A run of commands that leaves no trace. A second process has the whole state of the first, and
// the first waits until the second has ended.
//
// The branch reads the same input and writes to the same output. When the branch joins, it hands
// back the input that it has read and not carried out. So no command is lost.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

namespace sallyport::sim {

// A branch was killed, or it failed, said so, and its simulation is not to be trusted any more.
struct BranchFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Branch {
 public:
  // What a branch leaves behind: the id of the command that ended it, and input that is still to be
  // carried out.
  struct Joined {
    nlohmann::json id;
    std::string unread;
  };

  // True in the process that is the branch.
  bool inside() const { return back_ >= 0; }

  // Begins a branch; the calling thread must be the only one, and the output flushed. In the branch
  // it returns at once, inside(). Before, it returns when the branch has ended: nothing if that was
  // at "quit" or at the end of input. Throws BranchFailed, or std::runtime_error with nothing
  // changed where there can be no branch.
  std::optional<Joined> take();

  // The ends of a branch, as the waiting process is to take them.
  [[noreturn]] void join(const Joined& joined);
  [[noreturn]] void end();
  [[noreturn]] void fail();

 private:
  int back_ = -1;  // in the branch, its results go there
};

}  // namespace sallyport::sim
