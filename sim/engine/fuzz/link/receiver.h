// SPDX-License-Identifier: Apache-2.0
// The receiving half of a link's far end. It obeys docs/reference/link.md whatever the sending half
// does, and takes every packet at once.
#pragma once

#include <functional>

#include "base/beat.h"
#include "base/random.h"
#include "fuzz/link/frame.h"

namespace sallyport::fuzz {

struct Arrived {
  Header header;
  uint64_t sequence = 0;
  Bytes payload;
};

class LinkReceiver {
 public:
  // `withSequence`: packets come with their sequence number.
  LinkReceiver(bool withSequence, uint64_t seed) : head_(withSequence ? 3 : 2), nonces_(seed, 0x10) { hunt(); }

  std::function<void(const Arrived&)> onPacket;
  // The chip credits this many beats and says whether it is locked; asks for a resync with a nonce.
  std::function<void(const Header&)> onCredit;
  std::function<void(uint32_t nonce)> onRequest;

  void take(const sim::Word& word);
  // The channel was down.
  void hunt();

  bool hunting() const { return hunting_; }
  uint32_t nonce() const { return nonce_; }
  uint16_t freed() const { return freed_; }
  // Packets that the chip has sent: those that came, and those that a resync told of.
  int64_t received() const { return received_; }
  int64_t lost() const { return lost_; }

 private:
  void search(uint64_t unit);
  void begin(uint64_t unit);
  void finish();
  void control();
  bool inOrder(const Header& header);

  unsigned head_, need_ = 0;
  sim::Random nonces_;
  bool hunting_ = false, everLocked_ = false, hasBefore_ = false;
  uint64_t before_ = 0;
  uint32_t nonce_ = 0, accounted_ = 0;
  uint16_t expected_ = 0, freed_ = 0;
  Units frame_;
  int64_t received_ = 0, lost_ = 0;
};

}  // namespace sallyport::fuzz
