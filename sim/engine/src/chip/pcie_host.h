// SPDX-License-Identifier: Apache-2.0
// The host's end of a card's PCIe block, at the block's user interface (PG213, 256 bits). An access
// to one register goes in as a memory request of one word, and comes back as a completion.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace sallyport::sim {

// A beat of the completer request or completion stream, by words of 32 bits.
struct PcieWords {
  std::array<uint32_t, 8> word{};
};

class PcieHost {
 public:
  // Byte address in BAR 0. One access at a time: only while idle().
  void start(bool write, uint32_t address, uint32_t data);
  bool idle() const { return state_ == State::kIdle; }
  // Once for each access, when it has ended: what a read has read, 0 of a write, which ends when
  // the card takes it.
  std::optional<uint32_t> finish();

  // One cycle of the block. Offers a request while valid() is true; taken() says that the card
  // took it.
  bool valid() const { return state_ == State::kRequest; }
  PcieWords request() const;
  uint8_t keep() const { return write_ ? 0x1F : 0x0F; }
  // m_axis_cq_tuser by words: all bytes of the first word (bits 3:0), start of packet (bit 40).
  uint32_t userLow() const { return 0xF; }
  uint32_t userHigh() const { return 1u << 8; }
  void taken();
  // A completion's beat; throws ChipFault if it answers nothing that was asked, or says that
  // it failed.
  void completion(const PcieWords& beat);

 private:
  enum class State { kIdle, kRequest, kCompletion, kEnded };
  State state_ = State::kIdle;
  bool write_ = false;
  uint32_t address_ = 0, data_ = 0;
  uint8_t tag_ = 0;
};

}  // namespace sallyport::sim
