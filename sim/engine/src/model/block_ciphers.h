// SPDX-License-Identifier: Apache-2.0
// AES and SM4: libcrypto's. Expanded keys are kept by thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/suites.h"

namespace sallyport::model {

// Each block of 16 bytes is independent (ECB); `out` may be `in`. Decryption takes the same key
// bytes as the lane: the end of the key schedule. For AES these are its last words (AesPipe.scala),
// for SM4 words 39 to 36 (Sm4Pipe.scala).
void encryptBlocks(const Suite& suite, const uint8_t* key, const uint8_t* in, size_t blocks, uint8_t* out);
void decryptBlocks(const Suite& suite, const uint8_t* lastWords, const uint8_t* in, size_t blocks, uint8_t* out);
// CBC from an IV of zeros (NIST SP 800-38A 6.2).
void encryptChained(const Suite& suite, const uint8_t* key, const uint8_t* in, size_t blocks, uint8_t* out);

}  // namespace sallyport::model
