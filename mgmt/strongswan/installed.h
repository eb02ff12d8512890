// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_INSTALLED_H_
#define SALLYPORT_INSTALLED_H_

#include <collections/linked_list.h>
#include <kernel/kernel_ipsec.h>

// An SA that charon has had installed.
typedef struct {
  uint32_t spi;
  host_t *src, *dst;
  bool inbound;
  // charon has deleted it, and the box has not been told yet.
  bool owed;
} installed_sa_t;

void installed_sa_destroy(installed_sa_t *this);

// The SAs that charon has had installed, until the box has been told to delete them. The box may
// have fewer: it deletes them at hard limits in time, and a reset takes them all.
typedef struct installed_t installed_t;

installed_t *installed_create();

void installed_add(installed_t *this, const kernel_ipsec_sa_id_t *id, bool inbound);

// FALSE if it was not there.
bool installed_remove(installed_t *this, uint32_t spi, host_t *dst);

// Marks one as owed. FALSE if it was not there.
bool installed_owe(installed_t *this, uint32_t spi, host_t *dst);
void installed_clear(installed_t *this);

// Has charon replace every SA now, or with a peer those that it sends under.
void installed_replace(installed_t *this, host_t *peer);

// A copy of all, installed_sa_t*, which is the caller's.
linked_list_t *installed_list(installed_t *this);

void installed_destroy(installed_t *this);

#endif
