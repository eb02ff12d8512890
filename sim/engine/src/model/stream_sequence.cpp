// SPDX-License-Identifier: Apache-2.0
#include "model/stream_sequence.h"

namespace sallyport::model {
namespace {

uint32_t blocks(uint32_t bytes) { return (bytes + 15) / 16; }
uint8_t first(uint8_t set) { return static_cast<uint8_t>(set & -set); }

}  // namespace

Op StreamSequence::op() const {
  const Suite& suite = now().job.of();
  const bool launches = suite.cipher == Cipher::kChaCha20 && index_ % 4 == 0 && (step_ & (kText | kHead));
  return {slot_,
          step_,
          step_ == kText && left_ == 1 && known_,
          static_cast<uint16_t>(index_),
          static_cast<uint8_t>(suite.cipherLatency()),
          launches};
}

void StreamSequence::load() {
  slot_ = plans_.pop();
  const Job& job = now().job;
  const Suite& suite = job.of();
  known_ = extents_ > 0;
  textBlocks_ = known_ ? blocks(now().text) : 0;
  step_ = kHead;
  index_ = 0;
  left_ = 1;
  rest_ = 0;
  if (!encrypt_ && suite.cbc) rest_ |= kIv;
  if (!known_ || textBlocks_ > 0) rest_ |= kText;
  if (known_ && spills()) rest_ |= kSpill;
  if (!encrypt_ || suite.fast()) rest_ |= kEnd;
  if (!encrypt_ && suite.auth == Auth::kSm3 && job.icv == 2) rest_ |= kIcv;
}

void StreamSequence::tick(bool fire, int16_t start, bool length, uint32_t entered, bool clear) {
  const bool lastOfKind = left_ == 1 && (known_ || step_ == kHead);
  const bool ends = fire && lastOfKind && rest_ == 0;
  const bool loads = !plans_.empty() && (!active_ || ends);
  const bool learns = active_ && !known_ && extents_ > 0;
  const bool enough = ((index_ + 5) >> 2) < entered && !length;
  if (fire) {
    index_++;
    left_--;
    if (lastOfKind) {
      step_ = first(rest_);
      rest_ = static_cast<uint8_t>(rest_ & ~step_);
      index_ = 0;
      left_ = step_ == kText ? textBlocks_ : 1;
    }
  }
  if (loads) {
    load();
    if (known_) extents_--;
  } else if (learns) {
    extents_--;
    if (spills()) rest_ |= kSpill;
    known_ = true;
    textBlocks_ = blocks(now().text);
    if (step_ == kText) left_ += textBlocks_;
  }
  active_ = (loads || (active_ && !ends)) && !clear;
  enough_ = enough;
  if (start >= 0) plans_.push(start);
  if (length) extents_++;
  if (clear) {
    plans_.clear();
    extents_ = 0;
  }
}

}  // namespace sallyport::model
