// SPDX-License-Identifier: GPL-2.0-or-later
// What SM2's private and public keys share: both are EVP_PKEYs of OpenSSL.
#ifndef SALLYPORT_SM2_H_
#define SALLYPORT_SM2_H_

#include <credentials/cred_encoding.h>
#include <openssl/evp.h>
#include <utils/chunk.h>

// Bits of a key.
#define SM2_KEY_SIZE 256

// The key, or NULL, and then the key is freed, if it is not on curveSM2.
EVP_PKEY *sm2_only(EVP_PKEY *key);

// The blob that a builder of keys was given, in DER if it is a key for us; empty if it was given
// anything else.
chunk_t sm2_builder_blob(va_list args);

// A context in which OpenSSL signs, or verifies, with SM3 over Z of the key and the identity of
// GM/T 0009 for signers without another; NULL if OpenSSL fails. The caller frees it with
// sm2_context_free().
EVP_MD_CTX *sm2_context(EVP_PKEY *key, bool sign);
void sm2_context_free(EVP_MD_CTX *context);

// subjectPublicKeyInfo in DER, allocated.
bool sm2_public_encoding(EVP_PKEY *key, cred_encoding_type_t type, chunk_t *encoding);

// The SHA-1 over subjectPublicKey or subjectPublicKeyInfo, which names keys; lib->encoding owns it
// until the key goes.
bool sm2_fingerprint(EVP_PKEY *key, cred_encoding_type_t type, chunk_t *fingerprint);

#endif
