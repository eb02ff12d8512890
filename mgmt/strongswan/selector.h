// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_SELECTOR_H_
#define SALLYPORT_SELECTOR_H_

#include <kernel/kernel_ipsec.h>

#include "line.h"

// The selector of a policy in the words of ip xfrm with sallyctl's ranges: exactly what IKE
// negotiated (RFC 7296, 3.13.1), where kernel-netlink has to widen ranges to prefixes and masks. A
// word that is empty is not given.
typedef struct {
  char src[96], dst[96];
  char proto[4], sport[12], dport[12], type[8], code[8];
  // What makes it win against wider ones, weighed as kernel-netlink does.
  uint32_t narrowness;
} selector_t;

// Makes a selector of two traffic selectors. FALSE, and `why` says so, for what no selector of the
// box can be.
bool selector_of(selector_t *selector, traffic_selector_t *src, traffic_selector_t *dst, line_t *why);

// Appends `src … dst … proto …`.
void selector_add_words(line_t *words, const selector_t *selector);

// Appends the same as fields of a JSON object, `"src":"…","dst":"…"`.
void selector_add_fields(line_t *fields, const selector_t *selector);

#endif
