// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_EVENTS_H_
#define SALLYPORT_EVENTS_H_

#include <json-c/json.h>

#include "client.h"
#include "installed.h"
#include "policies.h"

// Where events of the box lead.
typedef struct {
  client_t *client;
  policies_t *policies;
  installed_t *installed;
} events_t;

// Passes an event of sallyportd on to charon: expire, acquire and mapping as a kernel would. After
// a restart of the chips, which then have no SA, policies are installed again and every CHILD_SA is
// rekeyed. What charon has no use for is logged at level 2.
void events_handle(events_t *this, json_object *event);

// To be called when events come again: finds out what of limits and restarts was missed.
void events_resume(events_t *this);

#endif
