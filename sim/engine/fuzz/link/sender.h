// SPDX-License-Identifier: Apache-2.0
// The sending half of a link's far end: honest, or that of a captured chip on a bad wire.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "base/beat.h"
#include "base/random.h"
#include "fuzz/link/receiver.h"

namespace sallyport::fuzz {

// Chances, of each frame or of each word.
struct Hostility {
  double forged = 0;    // a frame with a false field, under a good check and CRC
  double inserted = 0;  // a frame of any type before the next one
  double damaged = 0;   // a word with bits flipped, or replaced
  double moved = 0;     // a word lost or doubled
  double paused = 0;    // no word for up to 100 cycles
  // Flipped bits are none that may be a frame's type.
  bool keepsTypes = false;
};

struct Packet {
  Header header;
  Bytes payload;
  uint64_t sequence = 0;
  uint32_t given = 0;  // the judge's number of its payload
};

class LinkSender {
 public:
  // `withSequence`: packets go with their sequence number.
  LinkSender(LinkReceiver& receiver, unsigned capacity, bool withSequence, uint64_t seed);

  Hostility hostility;
  // Each packet that the chip may take for one, before its first word leaves. It may change
  // the payload.
  std::function<void(Packet&)> onSend;

  void push(Packet packet) { packets_.push_back(std::move(packet)); }
  size_t waiting() const { return packets_.size(); }
  void clear() { packets_.clear(); }
  // One cycle: the word that arrives at the chip in it, or null.
  const sim::Word* cycle();
  // The channel went down: words under way are lost.
  void drop();
  // Nothing is on its way, and the chip has locked.
  bool quiet() const { return packets_.empty() && words_.empty() && farLocked_ && established_; }

 private:
  void fill();
  void append(const Units& frame);
  void flush();
  void sendPacket();
  Units credit();
  Header stamp(Header header) const;
  void forge(Header& header);
  Units strange();

  LinkReceiver& receiver_;
  sim::Random random_;
  unsigned capacity_;
  bool withSequence_;
  std::deque<Packet> packets_;
  std::deque<sim::Word> words_;
  sim::Word open_, word_;
  unsigned filled_ = 0;
  bool hasHeader_ = false;
  uint16_t sent_ = 0, limit_ = 0, freedTold_ = 0, epoch_ = 0;
  uint32_t packetsSent_ = 0, asked_ = 0, lastNonce_ = 0;
  bool answer_ = false, answered_ = false, established_ = false, farLocked_ = false;
  unsigned rate_ = 0, pause_ = 0, requestTimer_ = 0, headerTimer_ = 0;
};

}  // namespace sallyport::fuzz
