// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_LINE_H_
#define SALLYPORT_LINE_H_

#include <library.h>

// Text that is put together piece by piece: the words of a state, a request. It may hold keys, so
// it never leaves the stack and line_wipe() overwrites it. Text that no longer fits marks the line
// as too long; no text is cut silently.
typedef struct {
  char text[4096];
  size_t used;
  bool too_long;
} line_t;

#define LINE_EMPTY \
  { .text = "", .used = 0, .too_long = FALSE }

// Appends as printf does, with strongSwan's own conversions too (%H an address).
void line_add(line_t *line, const char *format, ...);

// Appends a key as 0x and hexadecimal digits.
void line_add_key(line_t *line, chunk_t key);

// Appends a string of JSON with its quotes. The words of states and policies have only ASCII
// characters; quotes and backslashes are escaped.
void line_add_string(line_t *line, const char *text);

// Overwrites everything that was in the line and empties it.
void line_wipe(line_t *line);

#endif
