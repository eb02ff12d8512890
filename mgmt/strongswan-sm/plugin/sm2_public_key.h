// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_SM2_PUBLIC_KEY_H_
#define SALLYPORT_SM2_PUBLIC_KEY_H_

#include <credentials/keys/public_key.h>
#include <openssl/evp.h>

// An SM2 key from a subjectPublicKeyInfo in DER; NULL if it is another kind of key. A builder of
// charon's, for KEY_SM2 and, since certificates do not say which of the kinds of elliptic curves
// theirs is, for KEY_ANY.
public_key_t *sm2_public_key_load(key_type_t type, va_list args);

// The public part of a key, as a key of its own; NULL if OpenSSL fails.
public_key_t *sm2_public_key_create(EVP_PKEY *key);

#endif
