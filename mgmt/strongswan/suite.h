// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_SUITE_H_
#define SALLYPORT_SUITE_H_

#include <kernel/kernel_ipsec.h>

#include "line.h"

// Appends an SA's algorithms and keys in the words of ip xfrm, as docs/reference/suites.md lists
// them. FALSE, with nothing appended, if the box has no such suite.
bool suite_add_words(line_t *words, const kernel_ipsec_add_sa_t *sa);

#endif
