// SPDX-License-Identifier: Apache-2.0
// Drives LanePairs for so many cycles (lane_traffic.h). Ends with 1 at the first cycle in which a
// port differs, which it tells.
//
//   pairs FILE CYCLES SEED
#include <cstdio>
#include <cstdlib>

#include "VLanePairs.h"
#include "lane_traffic.h"

namespace {

const char* const kPorts[] = {"in.ready", "room", "offer", "busy", "out.valid", "last, bytes, error", "data", "meta"};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  VLanePairs top;
  LaneTraffic<VLanePairs> traffic(top, argv[1], std::strtoull(argv[3], nullptr, 10));
  const long cycles = std::atol(argv[2]);
  for (long cycle = 0; cycle < cycles; cycle++) {
    traffic.drive(cycle);
    top.eval();
    if (!top.reset && top.io_differs) {
      std::printf("cycle %ld:", cycle);
      for (int i = 0; i < 8; i++)
        if (top.io_differs >> i & 1) std::printf(" %s differs", kPorts[i]);
      std::printf("; suite going in %d, verdict going out %d\n", traffic.suite(), top.io_verdict);
      return 1;
    }
    traffic.step();
  }
  top.final();
  traffic.print();
  return 0;
}
