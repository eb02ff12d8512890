// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_LIFETIMES_H_
#define SALLYPORT_LIFETIMES_H_

#include <kernel/kernel_ipsec.h>

#include "line.h"

// The SAs in the box and their time limits: the chips count bytes and packets alone. When an SA's time has come charon
// is told as a kernel would tell it.
typedef struct lifetimes_t lifetimes_t;

lifetimes_t *lifetimes_create();

// Starts the clocks of an SA that has been installed.
void lifetimes_start(lifetimes_t *this, const kernel_ipsec_sa_id_t *id, const kernel_ipsec_add_sa_t *sa);

// Stops them. FALSE if the SA has not been installed.
bool lifetimes_stop(lifetimes_t *this, uint32_t spi, host_t *dst);
void lifetimes_stop_all(lifetimes_t *this);

// Has charon replace every SA now, or with a peer those that it sends under.
void lifetimes_replace(lifetimes_t *this, host_t *peer);

// Appends the fields of a JSON object that name one of the SAs, whichever. FALSE if there is none.
bool lifetimes_add_example(lifetimes_t *this, line_t *fields);

void lifetimes_destroy(lifetimes_t *this);

#endif
