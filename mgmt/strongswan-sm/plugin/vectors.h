// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_VECTORS_H_
#define SALLYPORT_VECTORS_H_

// Gives strongSwan's self-test the vectors of the standards, for SM4, SM3 and its HMAC. OpenSSL
// takes no private key from outside for curveSM2, so that there is none for it.
void vectors_add();

#endif
