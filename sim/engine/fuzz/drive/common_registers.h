// SPDX-License-Identifier: Apache-2.0
// The registers of regs/common.rdl that the fuzzing uses. They stand at the same place in
// each chip.
#pragma once

#include <cstdint>

namespace sallyport::fuzz {

inline constexpr uint16_t kMagic = 0x000, kControl = 0x080, kTableData = 0x100, kSelect = 0x180, kIndex = 0x184,
                          kCommand = 0x188, kStatus = 0x18C;
inline constexpr uint32_t kReadCommand = 1, kWriteCommand = 2;
inline constexpr uint32_t kMagicValue = 0x534C5950;

}  // namespace sallyport::fuzz
