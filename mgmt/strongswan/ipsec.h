// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_IPSEC_H_
#define SALLYPORT_IPSEC_H_

#include <kernel/kernel_ipsec.h>

// Makes charon's IPsec backend of the chips that sallyportd owns. It is there whether the daemon is
// or not.
kernel_ipsec_t *ipsec_create();

#endif
