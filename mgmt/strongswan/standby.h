// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_STANDBY_H_
#define SALLYPORT_STANDBY_H_

#include "installed.h"

// On a pair of boxes (docs/how-to/ike.md) the ha plugin makes the IKE_SAs of a charon that takes
// over active. Their CHILD_SAs are then rekeyed: the box leaves numbers out to be safe, and what
// the peer sends under them counts as received.
typedef struct standby_t standby_t;

// The SAs are those of `installed`, which must outlive it.
standby_t *standby_create(installed_t *installed);

void standby_destroy(standby_t *this);

#endif
