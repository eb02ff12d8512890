// SPDX-License-Identifier: Apache-2.0
// A Unix socket at a path, for clients of the boxes.
#pragma once

#include <string>

namespace sallyport::sim {

// Listens at `path` and replaces any file there, for SOCK_STREAM or SOCK_SEQPACKET; accept() does
// not block. Throws std::runtime_error with a sentence when it cannot.
int listenAt(const std::string& path, int type);

}  // namespace sallyport::sim
