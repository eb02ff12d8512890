// SPDX-License-Identifier: Apache-2.0
// The registers of regs/common.rdl and regs/crypto.rdl that the fuzzing uses.
#pragma once

#include <cstdint>

namespace sallyport::fuzz {

inline constexpr uint16_t kMagic = 0x000, kControl = 0x080, kTableData = 0x100, kSelect = 0x180, kIndex = 0x184,
                          kCommand = 0x188, kStatus = 0x18C;
inline constexpr uint32_t kEnable = 1, kBypassBits = 0xe, kZeroize = 1u << 31, kWriteCommand = 2;
inline constexpr unsigned kOutboundKey = 0, kInboundKey = 1, kOutboundNumber = 2;
inline constexpr uint32_t kMagicValue = 0x534C5950;

}  // namespace sallyport::fuzz
