// SPDX-License-Identifier: GPL-2.0-or-later
#include "line.h"

#include <stdarg.h>
#include <stdio.h>

void line_add(line_t *line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  size_t room = sizeof(line->text) - line->used;
  int written = vsnprintf(line->text + line->used, room, format, arguments);
  va_end(arguments);
  if (written < 0 || (size_t)written >= room) {
    line->text[line->used] = '\0';
    line->too_long = TRUE;
    return;
  }
  line->used += written;
}

void line_add_key(line_t *line, chunk_t key) {
  line_add(line, "0x");
  for (size_t i = 0; i < key.len; i++) {
    line_add(line, "%02x", key.ptr[i]);
  }
}

void line_add_string(line_t *line, const char *text) {
  line_add(line, "\"");
  for (; *text; text++) {
    line_add(line, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
  }
  line_add(line, "\"");
}

void line_wipe(line_t *line) {
  memwipe(line->text, sizeof(line->text));
  line->used = 0;
  line->too_long = FALSE;
}
