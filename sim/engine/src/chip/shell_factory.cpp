// SPDX-License-Identifier: Apache-2.0
#include <VCryptoCore.h>
#include <VCryptoFabric.h>
#include <VInnerCore.h>
#include <VInnerFabric.h>
#include <VOuterCore.h>
#include <VOuterFabric.h>

#include "chip/chip_factory.h"
#include "chip/crypto_shell_chip.h"
#include "chip/interface_shell_chip.h"
#include "chip/verilated_chip.h"

namespace sallyport::sim {

std::unique_ptr<Chip> makeChip(ChipKind kind, const std::string& name) {
  switch (kind) {
    case ChipKind::kInner:
      return std::make_unique<InterfaceShellChip<VInnerFabric>>(
          kind, name, std::make_unique<VerilatedInterfaceChip<VInnerCore>>(kind, name));
    case ChipKind::kCrypto:
      return std::make_unique<CryptoShellChip<VCryptoFabric>>(
          kind, name, std::make_unique<VerilatedCryptoChip<VCryptoCore>>(kind, name));
    case ChipKind::kOuter:
      return std::make_unique<InterfaceShellChip<VOuterFabric>>(
          kind, name, std::make_unique<VerilatedInterfaceChip<VOuterCore>>(kind, name));
  }
  return nullptr;
}

const char* chipImplementation() { return "shell"; }

}  // namespace sallyport::sim
