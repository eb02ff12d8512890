// SPDX-License-Identifier: Apache-2.0
// One interface chip between a hostile network, a captured crypto chip and software that
// writes anything.
//
// A round is as that of CryptoFuzz: a configuration; hostile frames, packets, wires, CPU and
// register accesses; the configuration anew and calm; good frames and packets, which must all
// leave; the balance.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "fuzz/drive/balance.h"
#include "fuzz/drive/bench.h"
#include "fuzz/drive/port.h"
#include "fuzz/frames/packets.h"
#include "fuzz/judge/interface_judge.h"
#include "fuzz/registers/controls.h"

namespace sallyport::fuzz {

class InterfaceFuzz : public Bench {
 public:
  // Throws std::runtime_error that names the fault.
  void round();

  int64_t packetsIn() const { return packetsIn_; }
  const InterfaceJudge& judge() const { return judge_; }
  int64_t bypassed() const { return bypassed_; }
  const Counts& counts() const { return counts_; }

 protected:
  static constexpr unsigned kSas = 8;
  // Rows of each table that any part of a round writes.
  static constexpr unsigned kRows = 16;

  // What the two chips differ in.
  struct Kind {
    bool sequenceToChip;  // packets of its link have their number
    const Control* controls;
    size_t controlCount;
    uint16_t reassemblyTimeout;
    std::vector<uint16_t> injectLimits;
    unsigned tables;
    std::set<unsigned> decisions;  // tables whose rows may have BYPASS
    std::set<unsigned> windows;    // tables whose rows start windows anew
  };
  InterfaceFuzz(std::unique_ptr<sim::Chip> chip, uint64_t seed, Kind kind);

  // Row `index` of a table, with which the good traffic crosses.
  virtual Row goodRow(unsigned table, unsigned index) = 0;
  // The SA on which good packets from the link on an SA leave by the link, if they do.
  virtual std::optional<unsigned> between(unsigned) { return {}; }
  // Takes out of a row of any bits what would let packets between tunnels while none may go there.
  virtual void restrain(unsigned, Row&) {}
  // Where that row stands.
  virtual unsigned placeOf(unsigned, unsigned index) { return index; }
  // The IP packet around a payload that comes in by the port for an SA, and the one from the link.
  virtual Bytes fromPort(unsigned sa, const Ip& header, const Bytes& payload) = 0;
  virtual Bytes fromLink(const Ip& header, const Bytes& payload) = 0;
  // Further registers that a configuration writes.
  virtual std::vector<sim::RegisterRequest> furtherWrites() { return {}; }
  virtual void readCounters() = 0;
  // Of `counts`: packets that the chip has sent by the link.
  virtual int64_t sentByLink(const Counts& counts) const = 0;
  void check(const Counts& counts);

  bool mayHairpin_ = false;  // rows may lead packets of the link back to it

 private:
  // Longer than a full chip keeps a packet, and a fragment under the shortest time.
  static constexpr int64_t kSilence = 20'000;

  void drive() override { port_.drive(chip_->in); }
  void observe() override { port_.take(chip_->in, chip_->out); }
  bool atRest() override { return port_.quiet(); }
  int64_t arrived() override { return Bench::arrived() + port_.left() + port_.punted(); }

  // With a rule of BYPASS or without.
  void configure(bool bypass);
  void hostile();
  void good();

  void anyFrame();
  void anyPacket();
  void anyInjected();
  void anyAccess();
  void anyRow();
  Ip anyIp();
  size_t anyLength();
  Bytes frame(const Ip& header, const Bytes& packet);

  void leftByLink(const Arrived& arrived);
  // `sa` and `bypass` of what leaves by the link.
  void left(Exit exit, const Bytes& bytes, unsigned sa, bool bypass);

  Kind kind_;
  End& link_;
  Port port_;
  InterfaceJudge judge_;
  // Good packets that have not left yet: where they must, and by the link under which SA.
  std::map<uint32_t, std::pair<Exit, unsigned>> underWay_;
  std::array<uint64_t, kSas> number_{};
  bool mayBypass_ = false, steady_ = false, calm_ = false;
  int64_t rounds_ = 0, packetsIn_ = 0, bypassed_ = 0;
  Counts counts_;
};

// The chips of the two sides.
class InnerFuzz : public InterfaceFuzz {
 public:
  InnerFuzz(std::unique_ptr<sim::Chip> chip, uint64_t seed);

 private:
  Row goodRow(unsigned table, unsigned index) override;
  std::optional<unsigned> between(unsigned sa) override;
  void restrain(unsigned table, Row& row) override;
  Bytes fromPort(unsigned sa, const Ip& header, const Bytes& payload) override;
  Bytes fromLink(const Ip& header, const Bytes& payload) override;
  void readCounters() override;
  int64_t sentByLink(const Counts& counts) const override;
};

class OuterFuzz : public InterfaceFuzz {
 public:
  OuterFuzz(std::unique_ptr<sim::Chip> chip, uint64_t seed);

 private:
  Row goodRow(unsigned table, unsigned index) override;
  unsigned placeOf(unsigned table, unsigned index) override;
  Bytes fromPort(unsigned sa, const Ip& header, const Bytes& payload) override;
  Bytes fromLink(const Ip& header, const Bytes& payload) override;
  std::vector<sim::RegisterRequest> furtherWrites() override;
  void readCounters() override;
  int64_t sentByLink(const Counts& counts) const override;
};

}  // namespace sallyport::fuzz
