// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_STATE_H_
#define SALLYPORT_STATE_H_

#include <kernel/kernel_ipsec.h>

#include "line.h"

// Writes `xfrm state add …` for an SA. FALSE if the words cannot express a part of the request;
// then `why` names it. All that the words can express is written, even if the box will refuse it:
// the box says why.
bool state_add_words(line_t *words, const kernel_ipsec_sa_id_t *id, const kernel_ipsec_add_sa_t *sa, line_t *why);

// Writes `xfrm state deleteall …` for an SA, which finds nothing wrong with one that is not there.
// `spi` is in network order.
void state_delete_words(line_t *words, host_t *src, host_t *dst, uint32_t spi);

#endif
