// SPDX-License-Identifier: Apache-2.0
// What the software of the boxes reaches them by, in one directory: registers (box<n>.sock), and
// frames punted and injected (box<n>.frames).
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "control/frame_server.h"
#include "control/register_server.h"
#include "live/live.h"

namespace sallyport::sim {

class Software {
 public:
  // Throws std::runtime_error with a sentence when there can be no sockets in the directory.
  Software(World& world, const std::string& directory) : registers_(world, directory), frames_(world, directory) {}

  RegisterServer& registers() { return registers_; }
  FrameServer& frames() { return frames_; }

  // What to wait for while nothing else is to be done.
  std::vector<pollfd> descriptors() const;
  // In the child of a fork(): clients that are connected stay with the parent, new ones come here.
  void leaveClients();

  // A live run has begun: from now on injected frames go to the chips.
  void beginLive();
  // Between the run's epochs, or while it sleeps: serves registers and frames. The counts in the
  // result begin at beginLive().
  LiveSoftware serveLive();

 private:
  RegisterServer registers_;
  FrameServer frames_;
  int64_t requestsBefore_ = 0, injectedBefore_ = 0;
};

}  // namespace sallyport::sim
