// SPDX-License-Identifier: Apache-2.0
// What the engine sees of a chip: its ports as plain structures and two halves of a clock cycle.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/beat.h"
#include "base/sim_time.h"
#include "chip/memory.h"

namespace sallyport::sim {

struct AxiInputs {
  bool awValid = false, wValid = false, bReady = false, arValid = false, rReady = false;
  uint16_t address = 0;
  uint32_t data = 0;
};

struct AxiOutputs {
  bool awReady = false, wReady = false, bValid = false, arReady = false, rValid = false;
  uint8_t bResp = 0, rResp = 0;
  uint32_t data = 0;
};

struct LinkInputs {
  bool up = false, txReady = false, rxValid = false;
  Word rx;
};

struct LinkOutputs {
  bool txValid = false;
  bool restart = false;  // the channel shall begin anew: for a shell alone
  Word tx;
};

enum class ChipKind { kInner = 0, kCrypto = 1, kOuter = 2 };

inline const char* chipName(ChipKind kind) {
  static constexpr const char* names[] = {"inner", "crypto", "outer"};
  return names[static_cast<int>(kind)];
}

// link[0] is an interface chip's only link and the crypto chip's red one; link[1] is the crypto
// chip's black one.
struct ChipInputs {
  bool reset = true, tamper = false, noise = false;
  uint32_t coreKhz = coreClock.khz();
  bool macRxValid = false, macTxReady = false, puntReady = false, injectValid = false;
  MacBeat macRx, inject;
  std::array<LinkInputs, 2> link;
  AxiInputs axi;
};

struct ChipOutputs {
  bool ready = false;
  bool macTxValid = false, puntValid = false, injectReady = false;
  MacBeat macTx, punt;
  std::array<LinkOutputs, 2> link;
  AxiOutputs axi;
};

// One clock cycle is settle() and then edge(): settle() applies `in` with the clock low and fills
// `out`; edge() is the rising edge. `in` may depend on earlier cycles only, `out` may depend on
// `in` of the same cycle. Data fields of `in` and `out` are meaningful only beside their valid.
class Chip {
 public:
  explicit Chip(ChipKind kind) : kind_(kind) {}
  virtual ~Chip() = default;
  Chip(const Chip&) = delete;
  Chip& operator=(const Chip&) = delete;

  ChipKind kind() const { return kind_; }
  int links() const { return kind_ == ChipKind::kCrypto ? 2 : 1; }
  bool hasMac() const { return kind_ != ChipKind::kCrypto; }

  // In the order of their names. Empty for a chip that shows none.
  virtual std::vector<ChipMemory> memories() { return {}; }

  virtual void settle() = 0;
  virtual void edge() = 0;

  ChipInputs in;
  ChipOutputs out;

 private:
  ChipKind kind_;
};

}  // namespace sallyport::sim
