// SPDX-License-Identifier: Apache-2.0
// Adapters from Chip to Verilator's models. A template over the model class names each flattened
// port once.
#pragma once

#include <verilated.h>

#include <cstring>

#include "chip/chip.h"
#include "chip/verilated_memories.h"

namespace sallyport::sim {

static_assert(sizeof(Word) == 16 * sizeof(EData), "a word is 512 bits on both sides");

template <class Wide>
void toModel(Wide& wide, const Word& word) {
  std::memcpy(wide.data(), word.unit.data(), sizeof(Word));
}

template <class Wide>
void fromModel(Word& word, const Wide& wide) {
  std::memcpy(word.unit.data(), wide.data(), sizeof(Word));
}

// The name of a core's module.
inline const char* topName(ChipKind kind) {
  static constexpr const char* names[] = {"InnerCore", "CryptoCore", "OuterCore"};
  return names[static_cast<int>(kind)];
}

// What every chip has: clock, reset, registers.
template <class Top>
class VerilatedChip : public Chip {
 public:
  VerilatedChip(ChipKind kind, const std::string& name) : Chip(kind), top_(&context_, name.c_str()) {
    top_.clock = 0;
    top_.reset = 1;
  }
  ~VerilatedChip() override {
    // A model's scopes leave the context that this thread used last, which may be gone.
    Verilated::threadContextp(&context_);
    top_.final();
  }

  std::vector<ChipMemory> memories() final { return verilatedMemories(context_, topName(kind())); }

  void settle() final {
    top_.reset = in.reset;
    top_.io_coreKhz = in.coreKhz;
    top_.io_axil_aw_valid = in.axi.awValid;
    top_.io_axil_aw_bits_addr = in.axi.address;
    top_.io_axil_aw_bits_prot = 0;
    top_.io_axil_w_valid = in.axi.wValid;
    top_.io_axil_w_bits_data = in.axi.data;
    top_.io_axil_w_bits_strb = 0xF;
    top_.io_axil_b_ready = in.axi.bReady;
    top_.io_axil_ar_valid = in.axi.arValid;
    top_.io_axil_ar_bits_addr = in.axi.address;
    top_.io_axil_ar_bits_prot = 0;
    top_.io_axil_r_ready = in.axi.rReady;
    drive();
    top_.clock = 0;
    top_.eval();
    out.ready = top_.io_ready;
    out.axi.awReady = top_.io_axil_aw_ready;
    out.axi.wReady = top_.io_axil_w_ready;
    out.axi.bValid = top_.io_axil_b_valid;
    out.axi.bResp = top_.io_axil_b_bits;
    out.axi.arReady = top_.io_axil_ar_ready;
    out.axi.rValid = top_.io_axil_r_valid;
    out.axi.data = top_.io_axil_r_bits_data;
    out.axi.rResp = top_.io_axil_r_bits_resp;
    sample();
  }

  void edge() final {
    context_.timeInc(1);
    top_.clock = 1;
    top_.eval();
  }

 protected:
  virtual void drive() = 0;
  virtual void sample() = 0;

  VerilatedContext context_;
  Top top_;
};

// InnerCore and OuterCore.
template <class Top>
class VerilatedInterfaceChip final : public VerilatedChip<Top> {
 public:
  using VerilatedChip<Top>::VerilatedChip;

 private:
  using VerilatedChip<Top>::top_;
  using VerilatedChip<Top>::in;
  using VerilatedChip<Top>::out;

  void drive() override {
    top_.io_macRx_valid = in.macRxValid;
    if (in.macRxValid) {
      toModel(top_.io_macRx_bits_data, in.macRx.data);
      top_.io_macRx_bits_last = in.macRx.last;
      top_.io_macRx_bits_bytes = in.macRx.bytes;
      top_.io_macRx_bits_error = in.macRx.error;
    }
    top_.io_macTx_ready = in.macTxReady;
    top_.io_punt_ready = in.puntReady;
    top_.io_inject_valid = in.injectValid;
    if (in.injectValid) {
      toModel(top_.io_inject_bits_data, in.inject.data);
      top_.io_inject_bits_last = in.inject.last;
      top_.io_inject_bits_bytes = in.inject.bytes;
      top_.io_inject_bits_error = in.inject.error;
      top_.io_inject_bits_meta_encrypt = in.inject.encrypt;
    }
    top_.io_link_up = in.link[0].up;
    top_.io_link_tx_ready = in.link[0].txReady;
    top_.io_link_rx_valid = in.link[0].rxValid;
    if (in.link[0].rxValid) toModel(top_.io_link_rx_bits, in.link[0].rx);
  }

  void sample() override {
    out.macTxValid = top_.io_macTx_valid;
    if (out.macTxValid) {
      fromModel(out.macTx.data, top_.io_macTx_bits_data);
      out.macTx.last = top_.io_macTx_bits_last;
      out.macTx.bytes = top_.io_macTx_bits_bytes;
      out.macTx.error = top_.io_macTx_bits_error;
    }
    out.puntValid = top_.io_punt_valid;
    if (out.puntValid) {
      fromModel(out.punt.data, top_.io_punt_bits_data);
      out.punt.last = top_.io_punt_bits_last;
      out.punt.bytes = top_.io_punt_bits_bytes;
      out.punt.error = top_.io_punt_bits_error;
    }
    out.injectReady = top_.io_inject_ready;
    out.link[0].txValid = top_.io_link_tx_valid;
    out.link[0].restart = top_.io_link_restart;
    if (out.link[0].txValid) fromModel(out.link[0].tx, top_.io_link_tx_bits);
  }
};

template <class Top>
class VerilatedCryptoChip : public VerilatedChip<Top> {
 public:
  using VerilatedChip<Top>::VerilatedChip;
  using VerilatedChip<Top>::in;
  using VerilatedChip<Top>::out;

 protected:
  using VerilatedChip<Top>::top_;

  void drive() override {
    top_.io_tamper = in.tamper;
    top_.io_noise = in.noise;
    top_.io_linkRed_up = in.link[0].up;
    top_.io_linkRed_tx_ready = in.link[0].txReady;
    top_.io_linkRed_rx_valid = in.link[0].rxValid;
    if (in.link[0].rxValid) toModel(top_.io_linkRed_rx_bits, in.link[0].rx);
    top_.io_linkBlack_up = in.link[1].up;
    top_.io_linkBlack_tx_ready = in.link[1].txReady;
    top_.io_linkBlack_rx_valid = in.link[1].rxValid;
    if (in.link[1].rxValid) toModel(top_.io_linkBlack_rx_bits, in.link[1].rx);
  }

  void sample() override {
    out.link[0].txValid = top_.io_linkRed_tx_valid;
    out.link[0].restart = top_.io_linkRed_restart;
    if (out.link[0].txValid) fromModel(out.link[0].tx, top_.io_linkRed_tx_bits);
    out.link[1].txValid = top_.io_linkBlack_tx_valid;
    out.link[1].restart = top_.io_linkBlack_restart;
    if (out.link[1].txValid) fromModel(out.link[1].tx, top_.io_linkBlack_tx_bits);
  }
};

}  // namespace sallyport::sim
