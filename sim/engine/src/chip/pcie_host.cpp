// SPDX-License-Identifier: Apache-2.0
#include "chip/pcie_host.h"

#include <string>

#include "base/chip_fault.h"

namespace sallyport::sim {

namespace {
constexpr uint32_t kRequester = 0x0100;
constexpr uint32_t kMemoryRead = 0, kMemoryWrite = 1;
// log2 of the bytes of BAR 0, as the block tells it.
constexpr uint32_t kAperture = 19;
}  // namespace

void PcieHost::start(bool write, uint32_t address, uint32_t data) {
  write_ = write;
  address_ = address;
  data_ = write ? data : 0;
  tag_++;
  state_ = State::kRequest;
}

std::optional<uint32_t> PcieHost::finish() {
  if (state_ != State::kEnded) return std::nullopt;
  state_ = State::kIdle;
  return write_ ? 0 : data_;
}

PcieWords PcieHost::request() const {
  PcieWords beat;
  beat.word[0] = address_;
  beat.word[2] = 1 | (write_ ? kMemoryWrite : kMemoryRead) << 11 | kRequester << 16;
  beat.word[3] = tag_ | kAperture << 19;
  if (write_) beat.word[4] = data_;
  return beat;
}

void PcieHost::taken() { state_ = write_ ? State::kEnded : State::kCompletion; }

void PcieHost::completion(const PcieWords& beat) {
  const uint32_t status = beat.word[1] >> 11 & 7, tag = beat.word[2] & 0xFF;
  if (state_ != State::kCompletion || tag != tag_ || status != 0 || beat.word[1] >> 16 != kRequester)
    throw ChipFault("a PCIe completion with tag " + std::to_string(tag) + " and status " + std::to_string(status) +
                    " answers no register read");
  data_ = beat.word[3];
  state_ = State::kEnded;
}

}  // namespace sallyport::sim
