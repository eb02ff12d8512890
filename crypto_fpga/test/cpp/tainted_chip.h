// SPDX-License-Identifier: Apache-2.0
// A crypto chip whose every wire has a wire of its taint (ChipTaintSpec.scala). Keys are tainted as
// software writes them. Taint that leaves toward black, to software or by time is a leak.
#pragma once

#include <VCryptoCore.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "chip/verilated_chip.h"
#include "fuzz/drive/crypto_registers.h"

namespace sallyport::fuzz {

class TaintedChip : public sim::VerilatedCryptoChip<VCryptoCore> {
 public:
  // `arguments` are plusargs: which mistake is planted, which signal keeps its taint.
  TaintedChip(int count, const char** arguments) : VerilatedCryptoChip(sim::ChipKind::kCrypto, "tainted") {
    context_.commandArgs(count, arguments);
  }

  // Words toward red whose packets are tainted, as verified plaintext is.
  int64_t plaintext() const { return plaintext_; }

 private:
  // Key, hash key and salt: words of a row, in both directions.
  static constexpr uint16_t kSecretWords = 25;

  static bool isWord(uint16_t address) { return address >= kTableData && address < kTableData + 4 * kSecretWords; }

  void drive() override {
    VerilatedCryptoChip::drive();
    const bool writes = in.axi.wValid;
    if (writes && in.axi.address == kSelect) ofKeys_ = in.axi.data <= kInboundKey;
    const bool secret = writes && ofKeys_ && isWord(in.axi.address);
    top_.io_axil_w_bits_data_t = secret ? ~0u : 0;
    // Until a row is written, or read in its place, it is software's own and may be read. Its words
    // are gone behind that.
    if (secret) begun_ = true;
    const uint32_t command = in.axi.data & 3;
    if (writes && in.axi.address == kCommand && (command == kReadCommand || command == kWriteCommand)) begun_ = false;
    if (in.axi.arValid) reads_ = in.axi.address;
  }

  void sample() override {
    VerilatedCryptoChip::sample();
    cycle_++;
    if (in.reset) return;
    const auto none = [this](bool tainted, const char* where) {
      if (tainted)
        throw std::runtime_error("a secret leaves by " + std::string(where) + " in cycle " + std::to_string(cycle_));
    };
    none(top_.io_linkBlack_tx_valid_t, "the time of words to black");
    none(out.link[1].txValid && any(top_.io_linkBlack_tx_bits_t), "the black link");
    none(top_.io_linkBlack_restart_t || top_.io_linkRed_restart_t, "a restart of a link");
    none(top_.io_linkRed_tx_valid_t, "the time of words to red");
    plaintext_ += out.link[0].txValid && any(top_.io_linkRed_tx_bits_t);
    none(top_.io_axil_aw_ready_t || top_.io_axil_w_ready_t || top_.io_axil_b_valid_t || top_.io_axil_ar_ready_t ||
             top_.io_axil_r_valid_t,
         "the time of an answer to software");
    none(out.axi.bValid && top_.io_axil_b_bits_t, "the answer to a write");
    none(out.axi.rValid && (top_.io_axil_r_bits_resp_t || (top_.io_axil_r_bits_data_t && !(begun_ && isWord(reads_)))),
         "the answer to a read");
    none(top_.io_ready_t, "ready");
  }

  template <class Wide>
  static bool any(const Wide& wide) {
    return std::any_of(wide.data(), wide.data() + 16, [](uint32_t word) { return word != 0; });
  }

  int64_t cycle_ = 0, plaintext_ = 0;
  uint16_t reads_ = 0;
  bool ofKeys_ = false, begun_ = false;
};

}  // namespace sallyport::fuzz
