// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_VECTORS_H_
#define SALLYPORT_VECTORS_H_

// Gives strongSwan's self-test the vectors of the standards, for every algorithm of ours that it can test.
void vectors_add();

#endif
