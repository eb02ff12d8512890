// SPDX-License-Identifier: GPL-2.0-or-later
#include "client.h"

#include <errno.h>
#include <threading/mutex.h>
#include <unistd.h>

#include "link.h"

// How long a request waits for its answer, unless answer_timeout says otherwise. An answer takes
// milliseconds, a change of full tables some seconds, and a simulation at work longer.
#define ANSWER_S 30
// How long requests wait for a daemon that is being restarted, counted from when it was missed.
#define RESTART_S 5

struct client_t {
  mutex_t *mutex;
  link_t link;
  int64_t last_id;
  // When the daemon was missed first (monotonic), 0 while it is there.
  time_t missed;
};

client_t *client_create() {
  client_t *this;
  INIT(this, .mutex = mutex_create(MUTEX_TYPE_DEFAULT), );
  link_init(&this->link);
  return this;
}

static unsigned answer_s() {
  return lib->settings->get_time(lib->settings, "%s.plugins.kernel-sallyport.answer_timeout", ANSWER_S, lib->ns);
}

// One try on a connection, which is closed if anything goes wrong. NULL if there was no answer,
// with errno set.
static json_object *exchange(client_t *this, const line_t *line) {
  json_object *reply = NULL, *id;

  if (this->link.fd < 0 && !link_open(&this->link, answer_s())) {
    return NULL;
  }
  if (link_send(&this->link, line->text, line->used)) {
    reply = link_receive(&this->link, TRUE);
  }
  if (reply && json_object_object_get_ex(reply, "id", &id) && json_object_get_int64(id) == this->last_id) {
    return reply;
  }
  int reason = reply ? EPROTO : errno;
  json_object_put(reply);
  link_close(&this->link);
  errno = reason;
  return NULL;
}

// Tries until there is an answer, or the daemon has been away for too long.
static json_object *insist(client_t *this, const line_t *line) {
  while (TRUE) {
    json_object *reply = exchange(this, line);
    if (reply) {
      this->missed = 0;
      return reply;
    }
    int reason = errno;
    time_t now = time_monotonic(NULL);
    if (!this->missed) {
      this->missed = now;
    }
    // One that is there but does not answer, or answers something else, would not do better the
    // next time.
    if (reason == EAGAIN || reason == EPROTO || now - this->missed >= RESTART_S) {
      errno = reason;
      return NULL;
    }
    usleep(100 * 1000);
  }
}

static bool truth(json_object *answer, const char *name) {
  json_object *field;
  return json_object_object_get_ex(answer, name, &field) && json_object_get_boolean(field);
}

status_t client_ask(client_t *this, const line_t *request, json_object **reply, line_t *why) {
  line_t line = LINE_EMPTY;
  json_object *answer = NULL, *field;
  status_t status = INVALID_STATE;

  this->mutex->lock(this->mutex);
  line_add(&line, "{\"id\":%lld,%s}\n", (long long)++this->last_id, request->text);
  if (request->too_long || line.too_long) {
    line_add(why, "the request is too long");
  } else if (!(answer = insist(this, &line))) {
    line_add(why, "sallyportd at %s gives no answer: %s", link_path(),
             errno == EAGAIN ? "it takes too long" : strerror(errno));
  }
  this->mutex->unlock(this->mutex);
  line_wipe(&line);

  if (answer) {
    if (truth(answer, "ok")) {
      status = SUCCESS;
    } else {
      status = truth(answer, "input") ? INVALID_ARG : FAILED;
      bool said = json_object_object_get_ex(answer, "error", &field);
      line_add(why, "%.1000s", said ? json_object_get_string(field) : "sallyportd gives no reason");
    }
  }
  if (status == SUCCESS) {
    *reply = answer;
  } else {
    json_object_put(answer);
  }
  return status;
}

// Warnings and notes do not change the result.
static void log_notes(json_object *reply) {
  json_object *notes;
  if (json_object_object_get_ex(reply, "notes", &notes) && json_object_is_type(notes, json_type_array)) {
    for (size_t i = 0; i < json_object_array_length(notes); i++) {
      DBG2(DBG_KNL, "sallyportd: %s", json_object_get_string(json_object_array_get_idx(notes, i)));
    }
  }
}

status_t client_batch(client_t *this, const line_t *words, line_t *why) {
  line_t request = LINE_EMPTY;
  line_add(&request, "\"do\":\"batch\",\"lines\":[");
  line_add_string(&request, words->text);
  line_add(&request, "]");
  request.too_long |= words->too_long;
  json_object *reply = NULL;
  status_t status = client_ask(this, &request, &reply, why);
  line_wipe(&request);
  if (status == SUCCESS) {
    log_notes(reply);
    json_object_put(reply);
  }
  return status;
}

void client_destroy(client_t *this) {
  link_close(&this->link);
  this->mutex->destroy(this->mutex);
  free(this);
}
