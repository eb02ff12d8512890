// SPDX-License-Identifier: Apache-2.0
#include "fuzz/link/sender.h"

#include <algorithm>

namespace sallyport::fuzz {
namespace {
// Aurora moves 13 words in 20 cycles.
constexpr unsigned kWords = 13, kCycles = 20;
constexpr unsigned kRequestEvery = 32, kCreditEvery = 48;
// Frames that are packed together at most.
constexpr int kTogether = 4;
}  // namespace

LinkSender::LinkSender(LinkReceiver& receiver, unsigned capacity, bool withSequence, uint64_t seed)
    : receiver_(receiver),
      random_(seed, 0x20),
      capacity_(capacity),
      withSequence_(withSequence),
      limit_(static_cast<uint16_t>(capacity)) {
  receiver_.onRequest = [this](uint32_t nonce) {
    answer_ = true;
    asked_ = lastNonce_ = nonce;
  };
  receiver_.onCredit = [this](const Header& header) {
    farLocked_ = header.locked;
    if (!header.locked) return;
    limit_ = (header.freed + capacity_) & kBeatMask;
    established_ |= answered_;
  };
}

void LinkSender::drop() {
  words_.clear();
  filled_ = 0;
  hasHeader_ = false;
  farLocked_ = false;
}

const sim::Word* LinkSender::cycle() {
  headerTimer_++;
  if (requestTimer_ > 0) requestTimer_--;
  rate_ += kWords;
  if (pause_ > 0) pause_--;
  if (rate_ < kCycles || pause_ > 0) {
    rate_ = std::min(rate_, kCycles);
    return nullptr;
  }
  if (words_.empty()) fill();
  if (words_.empty()) return nullptr;
  rate_ -= kCycles;
  word_ = words_.front();
  if (!random_.chance(hostility.moved / 2)) words_.pop_front();
  if (random_.chance(hostility.moved / 2)) return nullptr;
  if (random_.chance(hostility.paused)) pause_ = static_cast<unsigned>(random_.below(100));
  if (random_.chance(hostility.damaged)) {
    for (uint64_t flips = 1 + random_.below(3); flips > 0; flips--)
      word_.unit[random_.below(8)] ^=
          hostility.keepsTypes ? uint64_t{16} << random_.below(60) : uint64_t{1} << random_.below(64);
    if (random_.chance(0.2))
      for (auto& unit : word_.unit) unit = random_.chance(0.5) ? random_.next() : 0;
  }
  return &word_;
}

void LinkSender::fill() {
  for (int frames = 0; frames < kTogether; frames++) {
    if (random_.chance(hostility.inserted)) append(strange());
    if (answer_) {
      answer_ = false;
      if (!answered_) epoch_ = asked_ & kBeatMask;
      answered_ = true;
      append(encode(Resync{kResync, sent_, epoch_, asked_, packetsSent_}));
    } else if (receiver_.hunting() && requestTimer_ == 0) {
      requestTimer_ = kRequestEvery;
      append(encode(Resync{kRequest, 0, 0, receiver_.nonce(), 0}));
    } else if (headerTimer_ >= kCreditEvery) {
      append(credit());
    } else if (!packets_.empty() && established_ &&
               ((limit_ - sent_ - beatsOf(packets_.front().payload.size())) & kBeatMask) <= capacity_) {
      sendPacket();
    } else if (receiver_.freed() != freedTold_ && headerTimer_ >= 16) {
      append(credit());
    } else {
      break;
    }
  }
  flush();
}

Header LinkSender::stamp(Header header) const {
  header.locked = !receiver_.hunting();
  header.fresh = !answered_;
  header.sent = sent_;
  header.freed = receiver_.freed();
  return header;
}

Units LinkSender::credit() {
  headerTimer_ = 0;
  freedTold_ = receiver_.freed();
  Header header = stamp({});
  header.type = kCredit;
  if (random_.chance(hostility.forged)) forge(header);
  return encode(header, {});
}

void LinkSender::sendPacket() {
  Packet packet = std::move(packets_.front());
  packets_.pop_front();
  packet.header.length = static_cast<uint16_t>(packet.payload.size());
  const unsigned beats = beatsOf(packet.payload.size());
  packet.header = stamp(packet.header);
  if (random_.chance(hostility.forged)) forge(packet.header);
  onSend(packet);
  append(encode(packet.header, packet.payload, withSequence_ ? std::optional(packet.sequence) : std::nullopt));
  headerTimer_ = 0;
  freedTold_ = receiver_.freed();
  sent_ = (sent_ + beats) & kBeatMask;
  packetsSent_++;
}

void LinkSender::forge(Header& header) {
  const uint64_t any = random_.next();
  switch (random_.below(12)) {
    case 0:
      header.length = static_cast<uint16_t>(header.length + any % 9 - 4);
      break;
    case 1:
      header.length = any & 0x3fff;
      break;
    case 2:
      header.type = any & 15;
      break;
    case 3:
      header.bypass ^= true;
      break;
    case 4:
      header.transport ^= true;
      break;
    case 5:
      header.moved ^= true;
      header.peerTag = static_cast<uint8_t>(any);
      break;
    case 6:
      header.locked ^= true;
      break;
    case 7:
      header.fresh ^= true;
      break;
    case 8:
      header.sent = any & kBeatMask;
      break;
    case 9:
      header.freed = any & kBeatMask;
      break;
    case 10:
      header.sa = static_cast<uint16_t>(any >> (any & 8));
      break;
    default:
      header.tos = static_cast<uint8_t>(any);
      header.df = any >> 8 & 1;
      header.reserved = any >> 12 & 15;
      break;
  }
}

// A frame that stands alone: any bits under a good check and CRC, or a resync that answers the
// chip's own request with false counts.
Units LinkSender::strange() {
  const uint64_t first = random_.next(), second = random_.next();
  switch (random_.below(4)) {
    case 0:
      return encode(Resync{kResync, static_cast<uint16_t>(first), static_cast<uint16_t>(first >> 16), lastNonce_,
                           static_cast<uint32_t>(second)});
    case 1:
      return seal((first & ~uint64_t{15}) | kMessage, second);
    case 2:
      return seal((first & ~uint64_t{15}) | (1 + second % kMessage), second);
    default:
      return seal(first, second);
  }
}

void LinkSender::append(const Units& frame) {
  if (hasHeader_ && filled_ > 0) flush();
  hasHeader_ = true;
  for (const uint64_t unit : frame) {
    open_.unit[filled_++] = unit;
    if (filled_ < 8) continue;
    words_.push_back(open_);
    open_ = {};
    filled_ = 0;
    hasHeader_ = false;
  }
}

void LinkSender::flush() {
  if (filled_ > 0) words_.push_back(open_);
  open_ = {};
  filled_ = 0;
  hasHeader_ = false;
}

}  // namespace sallyport::fuzz
