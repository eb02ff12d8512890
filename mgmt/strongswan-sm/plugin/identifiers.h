// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_IDENTIFIERS_H_
#define SALLYPORT_IDENTIFIERS_H_

#include <utils/utils.h>

// FALSE, with a sentence in the log, if what strongswan.conf says in transform_ids would make
// messages ambiguous: a number that is none, is that of another algorithm, or stands there twice.
bool identifiers_are_sound();

// Makes the algorithms' names words of proposals in swanctl.conf: sm4, sm4gcm16, sm3, sm3_256,
// prfsm3, curvesm2.
void identifiers_register_words();

#endif
