// SPDX-License-Identifier: Apache-2.0
// Drives LanePairs with packets out of a file (LanePackets.scala) for so many cycles, by a seed:
// stretches with packets of every suite, of one class or of one suite, at the full rate, with gaps,
// and with none until the lane is empty; stalls, late grants, and now and then keys erased. Ends
// with 1 at the first cycle in which a port differs, which it tells.
//
//   pairs FILE CYCLES SEED
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <vector>

#include "VLanePairs.h"

namespace {

const char* const kPorts[] = {"in.ready", "room", "offer", "busy", "out.valid", "last, bytes, error", "data", "meta"};

struct Packet {
  bool fast, error;
  int suite;
  std::vector<uint8_t> job, bytes;
};

std::vector<Packet> read(const char* path, size_t jobBytes) {
  std::ifstream in(path, std::ios::binary);
  std::vector<Packet> packets;
  unsigned char head[8];
  while (in.read(reinterpret_cast<char*>(head), sizeof head)) {
    Packet packet{head[4] != 0, head[5] != 0, head[6], std::vector<uint8_t>(jobBytes), {}};
    packet.bytes.resize(static_cast<size_t>(head[0]) << 24 | head[1] << 16 | head[2] << 8 | head[3]);
    in.read(reinterpret_cast<char*>(packet.job.data()), static_cast<std::streamsize>(jobBytes));
    in.read(reinterpret_cast<char*>(packet.bytes.data()), static_cast<std::streamsize>(packet.bytes.size()));
    packets.push_back(packet);
  }
  return packets;
}

// How it goes for a while. Numbers are out of 16.
struct Mood {
  int comes, begins, takes, grants;
  // Of what packets: a suite, or the class, or any; and no longer than this.
  int suite, fast;
  size_t longest;
};

}  // namespace

int main(int argc, char** argv) {
  VLanePairs top;
  if (argc != 4) return 2;
  const auto packets = read(argv[1], sizeof top.io_job);
  const long cycles = std::atol(argv[2]);
  std::mt19937_64 dice(std::strtoull(argv[3], nullptr, 10));
  auto below = [&](uint64_t n) { return dice() % n; };
  auto odds = [&](int of16) { return static_cast<int>(below(16)) < of16; };

  Mood mood{};
  long until = 0, zeroized = 0;
  long bySuite[16] = {}, byVerdict[8] = {};
  const Packet* next = nullptr;
  size_t at = 0;
  int out = 0, zeroizing = 0;
  bool waits = false;  // a beat that was not taken stays
  bool offered[2] = {};
  top.reset = 1;
  for (long cycle = 0; cycle < cycles; cycle++) {
    top.reset = cycle < 4;
    if (cycle >= until) {
      static const int kOften[] = {16, 16, 12, 8, 2};
      const bool pause = below(6) == 0;
      mood = {kOften[below(5)], pause ? 0 : kOften[below(5)], kOften[below(5)], kOften[below(5)], -1, -1, 10000};
      if (below(4) == 0) mood.begins = 1;
      if (below(3) == 0) mood.suite = static_cast<int>(1 + below(14));
      if (below(3) == 0) mood.fast = static_cast<int>(below(2));
      if (below(2) == 0) mood.longest = below(2) ? 64 : 300;
      if (mood.suite >= 0) mood.fast = -1;
      if (pause) mood.takes = mood.grants = 16;
      until = cycle + 100 + static_cast<long>(below(pause ? 4000 : 2500));
    }
    // Inputs. `valid` stays until `ready`; a packet begins while there is room for its class.
    if (!next && !top.reset && odds(mood.begins)) {
      const Packet* picked = nullptr;
      for (int tries = 0; tries < 200 && !picked; tries++) {
        const Packet& packet = packets[below(packets.size())];
        if ((mood.suite < 0 || packet.suite == mood.suite) && (mood.fast < 0 || packet.fast == (mood.fast == 1)) &&
            packet.bytes.size() <= mood.longest)
          picked = &packet;
      }
      next = picked;
      at = 0;
      if (next) {
        std::memcpy(static_cast<void*>(&top.io_job), next->job.data(), sizeof top.io_job);
        bySuite[next->suite]++;
      }
    }
    if (zeroizing > 0) zeroizing--;
    if (!top.reset && below(12000) == 0) {
      zeroizing = below(2) ? 1 : static_cast<int>(1 + below(40));
      zeroized++;
    }
    top.io_zeroize = zeroizing > 0;
    top.io_take = odds(mood.takes);
    top.clock = 0;
    top.io_grant = 0;
    const bool fastFirst = below(2);
    for (int i = 0; i < 2 && !top.io_grant; i++) {
      const int of = i ^ static_cast<int>(fastFirst);
      if (offered[of] && out < 8 && odds(mood.grants)) top.io_grant = static_cast<uint8_t>(1 << of);
    }
    const bool may = next && !top.reset && (at > 0 || (top.io_room >> (next->fast ? 1 : 0) & 1));
    top.io_valid = may && (waits || odds(mood.comes));
    if (top.io_valid) {
      const size_t here = std::min<size_t>(64, next->bytes.size() - at);
      std::memset(static_cast<void*>(&top.io_data), 0, 64);
      std::memcpy(static_cast<void*>(&top.io_data), next->bytes.data() + at, here);
      top.io_bytes = static_cast<uint8_t>(here);
      top.io_last = at + here == next->bytes.size();
      top.io_error = next->error && top.io_last;
    }
    top.eval();
    if (!top.reset && top.io_differs) {
      std::printf("cycle %ld:", cycle);
      for (int i = 0; i < 8; i++)
        if (top.io_differs >> i & 1) std::printf(" %s differs", kPorts[i]);
      std::printf("; suite going in %d, verdict going out %d\n", next ? next->suite : -1, top.io_verdict);
      return 1;
    }
    // What the edge does.
    waits = top.io_valid && !top.io_ready;
    const bool fires = top.io_valid && top.io_ready;
    if (top.io_grant) out++;
    if (top.io_out && top.io_take && top.io_outLast) {
      out--;
      byVerdict[top.io_verdict]++;
    }
    top.clock = 1;
    top.eval();
    if (fires) {
      at += 64;
      if (at >= next->bytes.size()) next = nullptr;
    }
    for (int i = 0; i < 2; i++) offered[i] = top.io_offer >> i & 1;
  }
  top.final();
  std::printf("packets by verdict:");
  for (long count : byVerdict) std::printf(" %ld", count);
  std::printf("\nkeys erased: %ld\npackets by suite:", zeroized);
  for (long count : bySuite) std::printf(" %ld", count);
  std::printf("\n");
  return 0;
}
