// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_SM2_PRIVATE_KEY_H_
#define SALLYPORT_SM2_PRIVATE_KEY_H_

#include <credentials/keys/private_key.h>

// An SM2 key from PKCS#8 in DER, which strongSwan has decrypted; NULL if it is another kind of key.
// A builder of charon's, for KEY_SM2 and, since PKCS#8 does not say which of the kinds of elliptic
// curves it holds, for KEY_ANY.
private_key_t *sm2_private_key_load(key_type_t type, va_list args);

#endif
