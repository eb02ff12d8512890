// SPDX-License-Identifier: Apache-2.0
// One crypto chip between two hostile interface chips and software that writes anything.
//
// A round: rows of new keys; hostile traffic, wires and register accesses; calm, in which both
// links must find their framing and all packets must leave; the balance; and good packets, which
// must come out exactly. The chip is never reset.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "fuzz/drive/balance.h"
#include "fuzz/drive/bench.h"
#include "fuzz/judge/crypto_judge.h"

namespace sallyport::fuzz {

class CryptoFuzz : public Bench {
 public:
  // `secrets`: another seed of keys and red plaintext, for one of two runs that must look alike to
  // black and to software (docs/explanation/fuzzing.md). Nothing has a mark then. `attack`: cycles
  // of the longest hostile part of a round, at least 4000.
  CryptoFuzz(std::unique_ptr<sim::Chip> chip, uint64_t seed, std::optional<uint64_t> secrets = {},
             int64_t attack = 15'000);

  // Throws std::runtime_error that names the fault.
  void round();

  int64_t packetsIn() const { return packetsIn_; }
  int64_t upsets() const { return upsets_; }
  const CryptoJudge& judge() const { return judge_; }
  const Counts& counts() const { return counts_; }
  // Of runs with `secrets`: what black and software saw in each cycle in which they saw anything.
  // The caller empties it.
  struct Seen {
    int64_t cycle;
    uint64_t digest;
    bool operator==(const Seen& other) const { return cycle == other.cycle && digest == other.digest; }
  };
  std::vector<Seen>& trace() { return trace_; }

 private:
  // Longer than a full chip keeps a packet.
  static constexpr int64_t kSilence = 40'000;
  static constexpr uint8_t kIpv4 = 4;
  static constexpr unsigned kSaBits = 10, kSas = 8, kRed = 0, kBlack = 1;

  void observe() override;
  void sent(int link, const sim::Word& word) override { watch_.look(link, word); }
  void settle() { Bench::settle(kSilence); }

  void write(unsigned table, unsigned index, const Row& row);
  void control(uint32_t value);
  void writeRows();
  void anyAccess();
  void anyWrite();
  void writeJunk();
  // Flips a bit of a key row or a counter in use, and in a round no more of a row than its code
  // tells from a row without.
  void upset();

  Bytes text(Mark with, size_t length);
  // Red plaintext: marked, or of `secrets`.
  Bytes redText(size_t length);
  Row newRow(bool inbound, bool transport);
  void pushRed(bool hostile);
  void pushBlack(bool hostile);
  void hostile();
  void good();

  sim::Random secrets_;
  bool paired_;
  int64_t attack_;
  struct Upsets {
    sim::ChipMemory memory;
    int most;
    std::array<int, kSas> flips;
  };
  std::vector<Upsets> upset_;
  std::vector<Seen> trace_;
  End &red_, &black_;
  Watch watch_;
  CryptoJudge judge_;
  std::function<void(const Arrived&)> redOut_, blackOut_;
  std::array<Row, kSas> outbound_{}, inbound_{};
  std::array<uint64_t, kSas> number_{};
  bool mayBypass_ = false;
  int64_t packetsIn_ = 0, upsets_ = 0;
  Counts counts_;
};

}  // namespace sallyport::fuzz
