// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_POLICY_H_
#define SALLYPORT_POLICY_H_

#include <kernel/kernel_ipsec.h>

#include "line.h"

// What one CHILD_SA (or trap, or shunt) wants done with the packets of a selector.
typedef struct {
  // What follows the name of the policy in the box: `priority … tmpl …`.
  char *words;
  // The number that was configured or computed, and the computed one.
  uint32_t priority, computed;
  // SPI and reqid of its SA: two CHILD_SAs may want the same words.
  uint32_t spi, reqid;
} wanted_t;

// Makes one, and writes the policy's name, `src … dst … dir …` with its `if_id`. NULL, and `why`
// says so, for what the box cannot do.
wanted_t *wanted_create(const kernel_ipsec_policy_id_t *id, const kernel_ipsec_manage_policy_t *policy, line_t *name,
                        line_t *why);

void wanted_destroy(wanted_t *this);

// Whether it stays before one that comes later: a lower number is better, as in ip xfrm, and so is
// a later one with an SA.
bool wanted_before(const wanted_t *this, const wanted_t *later);

bool wanted_equals(const wanted_t *this, const wanted_t *other);

#endif
