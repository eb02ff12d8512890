// SPDX-License-Identifier: Apache-2.0
// Plays a script (EraseScript.scala) on an EraseHarness and searches the whole state of the model,
// every register, wire and memory, for secrets. A line of the script is one of:
//
//   write ADDRESS DATA     a register, in hexadecimal
//   red BEAT, black BEAT   puts a beat into the queue of its side
//   run CYCLES
//   tamper CYCLES          holds the chip's tamper input high
//   settle                 until the queues are empty and nothing has left for long
//   ready                  until the chip is
//   secret NAME BITS VALUE 64 bits, found at any place, or 32, found where a value has just these
//   search LABEL           tells each secret that is found, and where; and how many packets have
//                          left, red and black
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "VEraseHarness.h"
#include "verilated_syms.h"

namespace {

using Beat = std::vector<uint32_t>;

Beat parse(const std::string& hex, size_t words) {
  Beat beat(words);
  for (size_t i = 0; i < hex.size(); i++) {
    const size_t nibble = hex.size() - 1 - i;
    beat[nibble / 8] |= static_cast<uint32_t>(std::stoi(hex.substr(i, 1), nullptr, 16)) << 4 * (nibble % 8);
  }
  return beat;
}

class Chip {
 public:
  void cycle() {
    offer(red_, top_.io_red_valid, &top_.io_red_bits, sizeof top_.io_red_bits);
    offer(black_, top_.io_black_valid, &top_.io_black_bits, sizeof top_.io_black_bits);
    top_.clock = 0;
    top_.eval();
    const bool redGoes = top_.io_red_valid && top_.io_red_ready;
    const bool blackGoes = top_.io_black_valid && top_.io_black_ready;
    sentRed_ += top_.io_sentRed;
    sentBlack_ += top_.io_sentBlack;
    quiet_ = top_.io_sentRed || top_.io_sentBlack || redGoes || blackGoes ? 0 : quiet_ + 1;
    top_.clock = 1;
    top_.eval();
    if (redGoes) red_.pop_front();
    if (blackGoes) black_.pop_front();
  }

  void reset() {
    top_.reset = 1;
    run(4);
    top_.reset = 0;
  }

  void run(long cycles) {
    while (cycles-- > 0) cycle();
  }

  void tamper(long cycles) {
    top_.io_tamper = 1;
    run(cycles);
    top_.io_tamper = 0;
  }

  void settle() {
    for (quiet_ = 0; quiet_ < 8000 || !red_.empty() || !black_.empty();) cycle();
  }

  void untilReady() {
    while (!top_.io_ready) cycle();
  }

  void write(uint32_t address, uint32_t data) {
    top_.io_axil_aw_bits_addr = static_cast<uint16_t>(address);
    top_.io_axil_w_bits_data = data;
    top_.io_axil_w_bits_strb = 15;
    pass(top_.io_axil_aw_valid, top_.io_axil_aw_ready);
    pass(top_.io_axil_w_valid, top_.io_axil_w_ready);
    top_.io_axil_w_bits_data = 0;
    pass(top_.io_axil_b_ready, top_.io_axil_b_valid);
  }

  void queue(bool red, const std::string& hex) {
    (red ? red_ : black_).push_back(parse(hex, sizeof top_.io_red_bits / 4));
  }

  long sentRed() const { return sentRed_; }
  long sentBlack() const { return sentBlack_; }

 private:
  // Nothing of a packet stays at the port.
  static void offer(const std::deque<Beat>& from, uint8_t& valid, void* bits, size_t size) {
    valid = !from.empty();
    std::memset(bits, 0, size);
    if (valid) std::memcpy(bits, from.front().data(), size);
  }

  void pass(uint8_t& mine, const uint8_t& theirs) {
    mine = 1;
    for (bool taken = false; !taken;) {
      top_.clock = 0;
      top_.eval();
      taken = theirs;
      cycle();
    }
    mine = 0;
  }

  VEraseHarness top_;
  std::deque<Beat> red_, black_;
  long sentRed_ = 0, sentBlack_ = 0, quiet_ = 0;
};

class Secrets {
 public:
  void add(const std::string& name, int bits, uint64_t value) {
    (bits == 32 ? words_ : windows_).emplace(value, name);
    if (bits == 64) first_[value & 0xffff] = true;
  }

  void search(const char* label, const Chip& chip) const {
    std::map<std::string, std::string> found;
    for (const auto& [scopeName, scope] : *Verilated::scopeNameMap()) {
      VerilatedVarNameMap* vars = scope->varsp();
      if (!vars) continue;
      for (const auto& [name, var] : *vars) {
        const std::string where = std::string(scopeName) + "." + name;
        const auto* bytes = static_cast<const uint8_t*>(var.datap());
        const uint32_t bits = var.entBits();
        const size_t entry = bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : bits <= 64 ? 8 : (bits + 31) / 32 * 4;
        for (size_t at = 0; at + entry <= var.totalSize(); at += entry) look(bytes + at, bits, where, found);
      }
    }
    std::printf("%s: %zu found, sent %ld %ld\n", label, found.size(), chip.sentRed(), chip.sentBlack());
    for (const auto& [what, where] : found) std::printf("  %s in %s\n", what.c_str(), where.c_str());
  }

 private:
  void look(const uint8_t* value, uint32_t bits, const std::string& where,
            std::map<std::string, std::string>& found) const {
    if (bits == 32) {
      uint32_t word;
      std::memcpy(&word, value, 4);
      if (const auto hit = words_.find(word); hit != words_.end()) found.emplace(hit->second + " @ " + where, "a word");
    }
    if (bits < 64) return;
    uint64_t window;
    std::memcpy(&window, value, 8);
    for (uint32_t next = 64;; next++) {
      if (first_[window & 0xffff]) {
        const auto hit = windows_.find(window);
        if (hit != windows_.end()) found.emplace(hit->second + " @ " + where, "bit " + std::to_string(next - 64));
      }
      if (next == bits) return;
      window = window >> 1 | static_cast<uint64_t>(value[next / 8] >> next % 8 & 1) << 63;
    }
  }

  std::unordered_map<uint64_t, std::string> windows_, words_;
  std::vector<bool> first_ = std::vector<bool>(1 << 16);
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream script(argv[1]);
  Chip chip;
  Secrets secrets;
  chip.reset();
  for (std::string line; std::getline(script, line);) {
    std::istringstream words(line);
    std::string what, a, b, c;
    words >> what >> a >> b >> c;
    auto hex = [](const std::string& text) { return std::stoull(text, nullptr, 16); };
    if (what == "write") {
      chip.write(static_cast<uint32_t>(hex(a)), static_cast<uint32_t>(hex(b)));
    } else if (what == "red" || what == "black") {
      chip.queue(what == "red", a);
    } else if (what == "run") {
      chip.run(std::stol(a));
    } else if (what == "tamper") {
      chip.tamper(std::stol(a));
    } else if (what == "settle") {
      chip.settle();
    } else if (what == "ready") {
      chip.untilReady();
    } else if (what == "secret") {
      secrets.add(a, std::stoi(b), hex(c));
    } else if (what == "search") {
      secrets.search(a.c_str(), chip);
    } else {
      std::fprintf(stderr, "no command: %s\n", line.c_str());
      return 2;
    }
  }
  return 0;
}
