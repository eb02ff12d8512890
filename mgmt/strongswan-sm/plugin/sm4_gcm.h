// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_SM4_GCM_H_
#define SALLYPORT_SM4_GCM_H_

#include <crypto/aead.h>

// SM4-GCM with salt and IV as RFC 4106 has them for AES: a key of 16 bytes and the salt of 4 behind
// it, an IV of 8 and an ICV of 16. NULL for any other algorithm, key or salt size; 0 is the default
// of either. OpenSSL 3.0 has SM4, and GCM for any cipher of 128-bit blocks, but no SM4-GCM of
// its own.
aead_t *sm4_gcm_create(encryption_algorithm_t algorithm, size_t key_size, size_t salt_size);

#endif
