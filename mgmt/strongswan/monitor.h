// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SALLYPORT_MONITOR_H_
#define SALLYPORT_MONITOR_H_

#include <json-c/json.h>
#include <library.h>

// A connection on which sallyportd sends its events. It is there from the start and made again,
// once a second, when it has been lost: the log has a line when the daemon goes and one when it
// is back.
typedef struct monitor_t monitor_t;

// `handle` is called with each event, one at a time, on some thread; `resume` when the connection
// has been made again, for events may have been missed.
monitor_t *monitor_create(void (*handle)(void *data, json_object *event), void (*resume)(void *data), void *data);

void monitor_destroy(monitor_t *this);

#endif
