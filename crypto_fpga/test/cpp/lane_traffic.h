// SPDX-License-Identifier: Apache-2.0
// Drives the ports of a lane with packets out of a file (LanePackets.scala), by a seed: stretches
// with packets of every suite, of one class or of one suite, at the full rate, with gaps, and with
// none until the lane is empty; stalls, late grants, and now and then keys erased.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <vector>

struct LanePacket {
  bool fast, error;
  int suite;
  std::vector<uint8_t> job, bytes;
};

// `Top` is a verilated module with the ports of LaneDriven.scala.
template <class Top>
class LaneTraffic {
 public:
  LaneTraffic(Top& top, const char* file, uint64_t seed) : top_(top), dice_(seed) {
    std::ifstream in(file, std::ios::binary);
    unsigned char head[8];
    while (in.read(reinterpret_cast<char*>(head), sizeof head)) {
      LanePacket packet{head[4] != 0, head[5] != 0, head[6], std::vector<uint8_t>(sizeof top.io_job), {}};
      packet.bytes.resize(static_cast<size_t>(head[0]) << 24 | head[1] << 16 | head[2] << 8 | head[3]);
      in.read(reinterpret_cast<char*>(packet.job.data()), static_cast<std::streamsize>(packet.job.size()));
      in.read(reinterpret_cast<char*>(packet.bytes.data()), static_cast<std::streamsize>(packet.bytes.size()));
      packets_.push_back(packet);
    }
    top.reset = 1;
  }

  // Sets the inputs of a cycle, the clock low. `valid` stays until `ready`; a packet begins while
  // there is room for its class.
  void drive(long cycle) {
    top_.reset = cycle < 4;
    if (cycle >= until_) changeMood(cycle);
    if (!next_ && !top_.reset && odds(mood_.begins)) pick();
    if (zeroizing_ > 0) zeroizing_--;
    if (!top_.reset && below(12000) == 0) {
      zeroizing_ = below(2) ? 1 : static_cast<int>(1 + below(40));
      zeroized_++;
    }
    top_.io_zeroize = zeroizing_ > 0;
    top_.io_take = odds(mood_.takes);
    top_.clock = 0;
    top_.io_grant = 0;
    const bool fastFirst = below(2);
    for (int i = 0; i < 2 && !top_.io_grant; i++) {
      const int of = i ^ static_cast<int>(fastFirst);
      if (offered_[of] && out_ < 8 && odds(mood_.grants)) top_.io_grant = static_cast<uint8_t>(1 << of);
    }
    const bool may = next_ && !top_.reset && (at_ > 0 || (top_.io_room >> (next_->fast ? 1 : 0) & 1));
    top_.io_valid = may && (waits_ || odds(mood_.comes));
    if (top_.io_valid) {
      const size_t here = std::min<size_t>(64, next_->bytes.size() - at_);
      std::memset(static_cast<void*>(&top_.io_data), 0, 64);
      std::memcpy(static_cast<void*>(&top_.io_data), next_->bytes.data() + at_, here);
      top_.io_bytes = static_cast<uint8_t>(here);
      top_.io_last = at_ + here == next_->bytes.size();
      top_.io_error = next_->error && top_.io_last;
    }
  }

  // The clock's edge, once the inputs have been evaluated.
  void step() {
    waits_ = top_.io_valid && !top_.io_ready;
    const bool fires = top_.io_valid && top_.io_ready;
    if (top_.io_grant) out_++;
    if (top_.io_out && top_.io_take && top_.io_outLast) {
      out_--;
      byVerdict_[top_.io_verdict]++;
    }
    top_.clock = 1;
    top_.eval();
    if (fires) {
      at_ += 64;
      if (at_ >= next_->bytes.size()) next_ = nullptr;
    }
    for (int i = 0; i < 2; i++) offered_[i] = top_.io_offer >> i & 1;
  }

  // The suite of the packet that goes in; -1: none does.
  int suite() const { return next_ ? next_->suite : -1; }

  void print() const {
    std::printf("packets by verdict:");
    for (long count : byVerdict_) std::printf(" %ld", count);
    std::printf("\nkeys erased: %ld\npackets by suite:", zeroized_);
    for (long count : bySuite_) std::printf(" %ld", count);
    std::printf("\n");
  }

 private:
  // How it goes for a while. Numbers are out of 16.
  struct Mood {
    int comes, begins, takes, grants;
    // Of what packets: a suite, or the class, or any; and no longer than this.
    int suite, fast;
    size_t longest;
  };

  uint64_t below(uint64_t n) { return dice_() % n; }
  bool odds(int of16) { return static_cast<int>(below(16)) < of16; }

  void changeMood(long cycle) {
    static const int kOften[] = {16, 16, 12, 8, 2};
    const bool pause = below(6) == 0;
    mood_ = {kOften[below(5)], pause ? 0 : kOften[below(5)], kOften[below(5)], kOften[below(5)], -1, -1, 10000};
    if (below(4) == 0) mood_.begins = 1;
    if (below(3) == 0) mood_.suite = static_cast<int>(1 + below(14));
    if (below(3) == 0) mood_.fast = static_cast<int>(below(2));
    if (below(2) == 0) mood_.longest = below(2) ? 64 : 300;
    if (mood_.suite >= 0) mood_.fast = -1;
    if (pause) mood_.takes = mood_.grants = 16;
    until_ = cycle + 100 + static_cast<long>(below(pause ? 4000 : 2500));
  }

  void pick() {
    const LanePacket* picked = nullptr;
    for (int tries = 0; tries < 200 && !picked; tries++) {
      const LanePacket& packet = packets_[below(packets_.size())];
      if ((mood_.suite < 0 || packet.suite == mood_.suite) && (mood_.fast < 0 || packet.fast == (mood_.fast == 1)) &&
          packet.bytes.size() <= mood_.longest)
        picked = &packet;
    }
    next_ = picked;
    at_ = 0;
    if (!next_) return;
    std::memcpy(static_cast<void*>(&top_.io_job), next_->job.data(), sizeof top_.io_job);
    bySuite_[next_->suite]++;
  }

  Top& top_;
  std::mt19937_64 dice_;
  std::vector<LanePacket> packets_;
  Mood mood_{};
  long until_ = 0, zeroized_ = 0;
  long bySuite_[16] = {}, byVerdict_[8] = {};
  const LanePacket* next_ = nullptr;
  size_t at_ = 0;
  int out_ = 0, zeroizing_ = 0;
  bool waits_ = false;  // a beat that was not taken stays
  bool offered_[2] = {};
};
