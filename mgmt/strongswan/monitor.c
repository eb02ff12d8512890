// SPDX-License-Identifier: GPL-2.0-or-later
#include "monitor.h"

#include <errno.h>
#include <processing/jobs/callback_job.h>

#include "link.h"

#define ASK_AGAIN_S 1

struct monitor_t {
  link_t link;
  void (*handle)(void *data, json_object *event);
  void (*resume)(void *data);
  void *data;
  // Whether the log says that the daemon is away.
  bool away;
};

static job_requeue_t start(monitor_t *this);

static job_t *start_job(monitor_t *this) {
  return (job_t *)callback_job_create((callback_job_cb_t)start, this, NULL, NULL);
}

// Takes the events that have come. The connection is not watched any more behind FALSE.
static bool receive(monitor_t *this, int fd, watcher_event_t happened) {
  json_object *event, *ok;
  while ((event = link_receive(&this->link, FALSE))) {
    if (json_object_object_get_ex(event, "event", NULL)) {
      this->handle(this->data, event);
    } else if (json_object_object_get_ex(event, "ok", &ok) && !json_object_get_boolean(ok)) {
      DBG1(DBG_KNL, "sallyportd gives no events: %s", json_object_to_json_string(event));
    }
    json_object_put(event);
  }
  if (errno == EAGAIN) {
    return TRUE;
  }
  DBG1(DBG_KNL, "connection to sallyportd at %s lost (%s): SAs and policies stay as they are, changes wait or fail",
       link_path(), strerror(errno));
  this->away = TRUE;
  lib->scheduler->schedule_job(lib->scheduler, start_job(this), ASK_AGAIN_S);
  return FALSE;
}

// Connects and asks for events.
static job_requeue_t start(monitor_t *this) {
  static const char request[] = "{\"id\":0,\"do\":\"monitor\"}\n";
  if (!link_open(&this->link, 0) || !link_send(&this->link, request, sizeof(request) - 1)) {
    if (!this->away) {
      DBG1(DBG_KNL, "no connection to sallyportd at %s (%s): no SA can be installed", link_path(), strerror(errno));
      this->away = TRUE;
    }
    link_close(&this->link);
    return JOB_RESCHEDULE(ASK_AGAIN_S);
  }
  if (this->away) {
    DBG1(DBG_KNL, "sallyportd at %s is there again", link_path());
    this->away = FALSE;
    this->resume(this->data);
  }
  lib->watcher->add(lib->watcher, this->link.fd, WATCHER_READ, (watcher_cb_t)receive, this);
  return JOB_REQUEUE_NONE;
}

monitor_t *monitor_create(void (*handle)(void *data, json_object *event), void (*resume)(void *data), void *data) {
  monitor_t *this;
  INIT(this, .handle = handle, .resume = resume, .data = data, );
  link_init(&this->link);
  lib->processor->queue_job(lib->processor, start_job(this));
  return this;
}

void monitor_destroy(monitor_t *this) {
  if (this->link.fd >= 0) {
    lib->watcher->remove(lib->watcher, this->link.fd);
  }
  link_close(&this->link);
  free(this);
}
