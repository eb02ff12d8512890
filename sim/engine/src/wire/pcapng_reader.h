// SPDX-License-Identifier: Apache-2.0
// Reads pcapng (draft-ietf-opsawg-pcapng), with facts about a frame that libpcap does not report:
// its interface, its direction, and its time since 1970 instead of since the first frame.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sallyport::sim {

struct PcapngFrame {
  uint32_t interfaceNumber = 0;
  int64_t ns = 0;
  bool inbound = false;
  std::vector<uint8_t> bytes;
};

struct PcapngFile {
  std::vector<std::string> interfaces;
  std::vector<PcapngFrame> frames;
  // The latest time that interface statistics speak of; -1 if there are none.
  int64_t endNs = -1;
  // Of interface statistics.
  std::vector<std::string> comments;
};

// Throws std::runtime_error with one sentence that names the file. It cannot be read, is damaged,
// has the other byte order, or differs from a recording: several sections, frames that are cut or
// not Ethernet.
PcapngFile readPcapng(const std::string& path);

}  // namespace sallyport::sim
