// SPDX-License-Identifier: Apache-2.0
// ChaCha20-Poly1305 (RFC 8439 2.8): libcrypto's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sallyport::model {

// `out` may be `in`; gives the tag, which is made of the ciphertext either way.
std::array<uint8_t, 16> sealChaChaPoly(const uint8_t* key, const uint8_t* nonce, const uint8_t* aad, size_t aadBytes,
                                       const uint8_t* in, size_t length, uint8_t* out);
// Whether the tag is right; if it is not, do not use `out`.
bool openChaChaPoly(const uint8_t* key, const uint8_t* nonce, const uint8_t* aad, size_t aadBytes, const uint8_t* in,
                    size_t length, const uint8_t* tag, uint8_t* out);

}  // namespace sallyport::model
