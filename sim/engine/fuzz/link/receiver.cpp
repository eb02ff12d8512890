// SPDX-License-Identifier: Apache-2.0
#include "fuzz/link/receiver.h"

#include <cstring>

namespace sallyport::fuzz {

void LinkReceiver::hunt() {
  if (hunting_) return;
  hunting_ = true;
  hasBefore_ = false;
  need_ = 0;
  nonce_ = static_cast<uint32_t>(nonces_.next());
}

void LinkReceiver::take(const sim::Word& word) {
  bool started = false;
  for (const uint64_t unit : word.unit) {
    if (hunting_) {
      search(unit);
      started = true;
    } else if (need_ > 0) {
      frame_.push_back(unit);
      if (--need_ == 0) finish();
    } else {
      if (started || typeOf(unit) == kIdle) return;
      started = true;
      begin(unit);
    }
  }
}

// A header may stand at any unit, and over the end of a word.
void LinkReceiver::search(uint64_t unit) {
  if (hasBefore_ && (typeOf(before_) == kResync || typeOf(before_) == kRequest) && isHeader(before_)) {
    frame_ = {before_, unit};
    if (crcGood(frame_, 2)) {
      const Resync found = resyncOf(before_, unit);
      if (found.type == kRequest) {
        onRequest(found.nonce);
      } else if (found.nonce == nonce_) {
        const uint32_t missing = found.packets - accounted_;
        if (everLocked_) lost_ += missing;
        freed_ = (freed_ + found.sent - expected_) & kBeatMask;
        expected_ = found.sent;
        accounted_ = found.packets;
        hunting_ = false;
        everLocked_ = true;
        return;
      }
    }
  }
  before_ = unit;
  hasBefore_ = true;
}

void LinkReceiver::begin(uint64_t unit) {
  const uint8_t type = typeOf(unit);
  const unsigned length = unit >> 14 & 0x3fff;
  if (!isHeader(unit) || type > kResync || (type == kPacket && (length == 0 || length > kMaxBytes))) return hunt();
  frame_ = {unit};
  need_ = type == kPacket ? head_ - 1 + unitsOf(length) : 1;
}

bool LinkReceiver::inOrder(const Header& header) { return header.sent == expected_ && !header.fresh; }

void LinkReceiver::finish() {
  const Header header = headerOf(frame_[0], frame_[1]);
  if (header.type != kPacket) return control();
  if (!crcGood(frame_, head_) || !inOrder(header)) return hunt();
  const unsigned beats = beatsOf(header.length);
  expected_ = (expected_ + beats) & kBeatMask;
  freed_ = (freed_ + beats) & kBeatMask;
  accounted_++;
  received_++;
  onCredit(header);
  Arrived arrived{header, head_ > 2 ? frame_[2] : 0, Bytes(header.length)};
  std::memcpy(arrived.payload.data(), frame_.data() + head_, header.length);
  onPacket(arrived);
}

void LinkReceiver::control() {
  if (!crcGood(frame_, 2)) return hunt();
  const Header header = headerOf(frame_[0], frame_[1]);
  if (header.type == kRequest) onRequest(resyncOf(frame_[0], frame_[1]).nonce);
  if (header.type != kCredit) return;
  if (!inOrder(header)) return hunt();
  onCredit(header);
}

}  // namespace sallyport::fuzz
