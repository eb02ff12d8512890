// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_CLIENT_H_
#define SALLYPORT_CLIENT_H_

#include <json-c/json.h>

#include "line.h"

// Asks sallyportd, one request at a time, from any thread. The connection is made when it is needed
// and made again when the daemon has been restarted. Installed SAs and policies stay there, so only
// the request under way is repeated.
typedef struct client_t client_t;

client_t *client_create();

// Sends a request, `"do":"…",…` without braces and id, and waits for the answer. SUCCESS with the
// reply, which is the caller's (json_object_put). INVALID_ARG if the daemon finds the request at
// fault, FAILED if it refuses for another reason, INVALID_STATE if it cannot be reached, and `why`
// says so in a sentence. A request whose answer is lost with the connection is sent again: the
// daemon may see it twice.
status_t client_ask(client_t *this, const line_t *request, json_object **reply, line_t *why);

// Has the daemon carry out one line of ip xfrm; all of it or nothing. The same answers.
status_t client_batch(client_t *this, const line_t *words, line_t *why);

void client_destroy(client_t *this);

#endif
