// SPDX-License-Identifier: Apache-2.0
// Reads Ethernet frames from a pcap or pcapng file, with libpcap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sallyport::sim {

struct CapturedFrame {
  // Since the first frame of the file.
  int64_t ns = 0;
  std::vector<uint8_t> bytes;
};

// Throws std::runtime_error with one sentence that names the file. Causes: it is missing,
// malformed, empty, not Ethernet, or the snap length cut a frame.
std::vector<CapturedFrame> readCapture(const std::string& path);

}  // namespace sallyport::sim
