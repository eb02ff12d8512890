// SPDX-License-Identifier: Apache-2.0
#include "chip/card_mailbox.h"

#include <algorithm>
#include <cstring>

#include "base/chip_fault.h"

namespace sallyport::sim {

namespace {
// Registers of regs/shell.rdl, in the card's 64 KiB.
constexpr uint16_t kPuntState = 0x80C0, kPuntData = 0x80C4;
constexpr uint16_t kInjectLength = 0x80D0, kInjectData = 0x80D4, kInjectState = 0x80DC;
constexpr uint32_t kValid = 1u << 31, kLast = 1u << 8, kBytes = 0x7F, kReady = 1u << 16, kEncrypt = 1u << 16,
                   kRefused = 1u << 31;
// Cycles between two looks for a punted frame.
constexpr int kRest = 512;
constexpr size_t kWordsOfBeat = 16;
}  // namespace

bool CardMailbox::has(uint16_t address) { return address >= kPuntState && address <= kInjectState; }

RegisterRequest CardMailbox::read(Step step, uint16_t address) {
  step_ = step;
  return {false, address, 0};
}

RegisterRequest CardMailbox::write(Step step, uint16_t address, uint32_t data) {
  step_ = step;
  return {true, address, data};
}

std::optional<RegisterRequest> CardMailbox::next() {
  if (wordsOfBeat_ > 0) return read(Step::kPuntData, kPuntData);
  if (frameWhole_ && !announced_)
    return write(Step::kInjectLength, kInjectLength, static_cast<uint32_t>(frame_.size()) | (encrypt_ ? kEncrypt : 0));
  if (frameWhole_ && room_ == 0) return read(Step::kInjectState, kInjectState);
  if (frameWhole_) {
    uint32_t word = 0;
    std::memcpy(&word, frame_.data() + injected_, std::min<size_t>(4, frame_.size() - injected_));
    return write(Step::kInjectData, kInjectData, word);
  }
  if (rest_-- > 0) return std::nullopt;
  return read(Step::kPuntState, kPuntState);
}

void CardMailbox::ended(uint32_t data) {
  switch (step_) {
    case Step::kPuntState:
      rest_ = data & kValid ? 0 : kRest;
      if (!(data & kValid)) break;
      beat_ = MacBeat();
      beat_.bytes = data & kBytes;
      beat_.last = data & kLast;
      wordsOfBeat_ = (beat_.bytes + 3) / 4;
      words_.clear();
      break;
    case Step::kPuntData:
      words_.push_back(data);
      if (words_.size() < wordsOfBeat_) break;
      std::memcpy(beat_.data.unit.data(), words_.data(), 4 * words_.size());
      punted_.push_back(beat_);
      wordsOfBeat_ = 0;
      break;
    case Step::kInjectLength:
      announced_ = true;
      break;
    case Step::kInjectState:
      if (data & kRefused) throw ChipFault("the frame mailbox refused a frame that it must take");
      if (data & kReady) room_ = kWordsOfBeat;
      break;
    case Step::kInjectData:
      injected_ += 4;
      room_--;
      if (injected_ < frame_.size()) break;
      frame_.clear();
      injected_ = room_ = 0;
      frameWhole_ = announced_ = false;
      break;
    case Step::kIdle:
      break;
  }
  step_ = Step::kIdle;
}

std::optional<MacBeat> CardMailbox::punted() {
  if (punted_.empty()) return std::nullopt;
  const MacBeat beat = punted_.front();
  punted_.pop_front();
  return beat;
}

void CardMailbox::inject(const MacBeat& beat) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(beat.data.unit.data());
  frame_.insert(frame_.end(), bytes, bytes + beat.bytes);
  encrypt_ = beat.encrypt;
  frameWhole_ = beat.last;
}

}  // namespace sallyport::sim
