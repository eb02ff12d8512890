// SPDX-License-Identifier: Apache-2.0
#include <VCryptoCore.h>
#include <VInnerCore.h>
#include <VOuterCore.h>

#include "chip/chip_factory.h"
#include "chip/verilated_chip.h"

namespace sallyport::sim {

std::unique_ptr<Chip> makeChip(ChipKind kind, const std::string& name) {
  switch (kind) {
    case ChipKind::kInner:
      return std::make_unique<VerilatedInterfaceChip<VInnerCore>>(kind, name);
    case ChipKind::kCrypto:
      return std::make_unique<VerilatedCryptoChip<VCryptoCore>>(kind, name);
    case ChipKind::kOuter:
      return std::make_unique<VerilatedInterfaceChip<VOuterCore>>(kind, name);
  }
  return nullptr;
}

#ifdef SALLYPORT_MODEL
const char* chipImplementation() { return "model"; }
#else
const char* chipImplementation() { return "rtl"; }
#endif

}  // namespace sallyport::sim
