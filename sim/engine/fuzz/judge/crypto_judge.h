// SPDX-License-Identifier: Apache-2.0
// Judges what leaves the crypto chip by what went in and which rows software wrote.
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fuzz/judge/key_row.h"
#include "fuzz/judge/watch.h"
#include "fuzz/link/receiver.h"
#include "fuzz/link/sender.h"

namespace sallyport::fuzz {

// Each function throws std::runtime_error on a packet that must not be.
class CryptoJudge {
 public:
  explicit CryptoJudge(unsigned saBits) : saMask_((1u << saBits) - 1) {}

  // Software is about to write a row, or a number of an outbound SA.
  void outbound(unsigned sa, const Row& row);
  void outboundNumber(unsigned sa, uint64_t number);
  void allowBypass(bool encrypt, bool decrypt);

  // The chip may take this packet from the inner chip, this one from the outer chip.
  void redIn(const Packet& packet);
  void blackIn(const Packet& packet);
  // An authentic ESP packet of this payload was made.
  void sealed(unsigned sa, uint64_t sequence, uint8_t nextHeader, const Bytes& payload);

  void blackOut(const Arrived& arrived);
  void redOut(const Arrived& arrived);

  // A new round: nothing of the last is under way.
  void forget();
  int64_t esp = 0, verified = 0, bypassed = 0;

 private:
  unsigned saMask_;
  std::map<unsigned, std::vector<Row>> rows_;
  std::map<unsigned, std::vector<uint32_t>> high_;
  bool bypassEncrypt_ = false, bypassDecrypt_ = false;
  std::unordered_set<uint64_t> redIn_, blackBypass_, sealed_;
};

// Bytes of a packet's clear headers.
size_t prefixOf(const Header& header);

}  // namespace sallyport::fuzz
