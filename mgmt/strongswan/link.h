// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_LINK_H_
#define SALLYPORT_LINK_H_

#include <json-c/json.h>
#include <library.h>

// One connection to sallyportd's control socket: JSON objects, one a line each way.
typedef struct {
  int fd;
  struct json_tokener *parser;
  // The bytes read and not parsed yet lie from `next` to `end`.
  char buffer[8192];
  size_t next, end;
} link_t;

// Where the daemon listens: charon.plugins.kernel-sallyport.socket.
const char *link_path();

// Connects. FALSE with errno set if there is no daemon; then the link is closed. A reply is waited
// for `seconds` at most, 0 for ever.
bool link_open(link_t *link, unsigned seconds);

// A link that is not connected, for link_close() to be harmless.
void link_init(link_t *link);

// Sends a whole line. FALSE with errno set if the daemon has gone.
bool link_send(link_t *link, const char *line, size_t length);

// The next object that the daemon sends, which is the caller's. NULL with errno set if there is
// none: EAGAIN if nothing has come (in time), ECONNRESET behind the last, EPROTO for anything else
// than a JSON object.
json_object *link_receive(link_t *link, bool wait);

// Closes; a closed link stays so.
void link_close(link_t *link);

#endif
