// SPDX-License-Identifier: Apache-2.0
// HMAC (RFC 2104) from the states behind the inner and the outer key block, which is what a key
// row has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/suites.h"

namespace sallyport::model {

using Digest = std::array<uint8_t, 32>;

// A step of SHA-256, SHA-1 or SM3 by a block of 64 bytes; `state` is as digests are written.
void compress(Auth hash, Digest& state, const uint8_t* block);

// With one of these; `states` are the inner and the outer one, as digests are written, in 32 bytes
// each. SHA-1's digest is followed by zeros.
Digest hmac(Auth hash, const uint8_t* states, const uint8_t* message, size_t length);

}  // namespace sallyport::model
