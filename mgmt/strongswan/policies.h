// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_POLICIES_H_
#define SALLYPORT_POLICIES_H_

#include <kernel/kernel_ipsec.h>

#include "client.h"

// The policies of charon's CHILD_SAs. Several may want one selector, old and new ones of a rekey
// above all, and the box has it once: the one of the best priority is in the box, of equal ones
// the latest.
typedef struct policies_t policies_t;

policies_t *policies_create(client_t *client);

// What a kernel_ipsec_t guarantees of add_policy, del_policy and flush_policies. Why something was
// refused is logged.
status_t policies_add(policies_t *this, const kernel_ipsec_policy_id_t *id, const kernel_ipsec_manage_policy_t *policy);
status_t policies_remove(policies_t *this, const kernel_ipsec_policy_id_t *id,
                         const kernel_ipsec_manage_policy_t *policy);
status_t policies_flush(policies_t *this);

// The daemon is there again: takes away what it was not told to delete. `lost`: the chips have lost
// their configuration, so installs everything again.
void policies_resume(policies_t *this, bool lost);

// Does not touch the box: installed policies stay.
void policies_destroy(policies_t *this);

#endif
