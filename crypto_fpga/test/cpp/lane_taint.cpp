// SPDX-License-Identifier: Apache-2.0
// Drives TaintedLane (TaintSpec.scala) for so many cycles (lane_traffic.h), keys tainted, and
// packets from red too. Ends with 1 at the first cycle in which taint leaves by a port where it may
// not, which it tells. SECRETS has a 1 for each bit of the job that is a secret, as the job is in
// FILE.
//
//   taint FILE CYCLES SEED SECRETS encrypt|decrypt [+planted=NAME] [+withheld=SIGNAL]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "VTaintedLane.h"
#include "lane_traffic.h"
#include "verilated.h"

namespace {

template <class Port>
bool tainted(const Port& port) {
  static const Port none{};
  return std::memcmp(static_cast<const void*>(&port), static_cast<const void*>(&none), sizeof port) != 0;
}

// Where taint leaves in this cycle and may not. Plaintext of a packet whose ICV is right leaves a
// decrypting lane, and nothing else; beside `valid` no port says when it does.
const char* leak(const VTaintedLane& top, bool encrypt) {
  if (tainted(top.io_ready_t)) return "in.ready";
  if (tainted(top.io_room_t)) return "room";
  if (tainted(top.io_offer_t)) return "offer";
  if (tainted(top.io_busy_t)) return "busy";
  if (tainted(top.io_out_t)) return "out.valid";
  if (!top.io_out) return nullptr;
  if (tainted(top.io_outLast_t) || tainted(top.io_outBytes_t) || tainted(top.io_outError_t)) return "the beat's extent";
  if (tainted(top.io_verdict_t)) return "verdict";
  if (tainted(top.io_outMeta_t)) return "meta";
  if (tainted(top.io_outData_t) && (encrypt || top.io_verdict != 0)) return "data";
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  VerilatedContext context;
  context.commandArgs(argc, argv);
  VTaintedLane top(&context);
  LaneTraffic<VTaintedLane> traffic(top, argv[1], std::strtoull(argv[3], nullptr, 10));
  const long cycles = std::atol(argv[2]);
  const bool encrypt = std::strcmp(argv[5], "encrypt") == 0;
  std::ifstream(argv[4], std::ios::binary).read(reinterpret_cast<char*>(&top.io_job_t), sizeof top.io_job_t);
  long plaintext = 0;
  for (long cycle = 0; cycle < cycles; cycle++) {
    traffic.drive(cycle);
    std::memset(static_cast<void*>(&top.io_data_t), encrypt ? 0xFF : 0, sizeof top.io_data_t);
    top.eval();
    if (!top.reset) {
      if (const char* port = leak(top, encrypt)) {
        std::printf("cycle %ld: a secret leaves by %s; suite going in %d, verdict going out %d\n", cycle, port,
                    traffic.suite(), top.io_verdict);
        return 1;
      }
      plaintext += top.io_out && tainted(top.io_outData_t);
    }
    traffic.step();
  }
  top.final();
  traffic.print();
  std::printf("beats of verified plaintext: %ld\n", plaintext);
  return 0;
}
