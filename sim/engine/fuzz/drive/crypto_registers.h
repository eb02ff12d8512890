// SPDX-License-Identifier: Apache-2.0
// What the fuzzing knows of the crypto chip's registers and tables.
#pragma once

#include "fuzz/drive/common_registers.h"
#include "fuzz/registers/tables.h"

namespace sallyport::fuzz {

using crypto::kInboundKey;
using crypto::kOutboundKey;
using crypto::kOutboundNumber;
inline constexpr uint32_t kEnable = 1, kBypassBits = 0xe, kZeroize = 1u << 31;

}  // namespace sallyport::fuzz
