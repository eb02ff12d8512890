// SPDX-License-Identifier: GPL-2.0-or-later
#include "events.h"

#include <daemon.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "state.h"

static const char *text(json_object *event, const char *name) {
  json_object *field;
  return json_object_object_get_ex(event, name, &field) ? json_object_get_string(field) : "";
}

static uint32_t number(json_object *event, const char *name) {
  json_object *field;
  return json_object_object_get_ex(event, name, &field) ? json_object_get_int64(field) : 0;
}

static bool truth(json_object *event, const char *name) {
  json_object *field;
  return json_object_object_get_ex(event, name, &field) && json_object_get_boolean(field);
}

// Reads ADDRESS:PORT, or [ADDRESS]:PORT of IPv6. NULL if it is neither.
static host_t *endpoint(const char *written) {
  char address[64];
  const char *colon = strrchr(written, ':');
  if (!colon || (size_t)(colon - written) >= sizeof(address)) {
    return NULL;
  }
  bool bracketed = written[0] == '[' && colon[-1] == ']';
  snprintf(address, sizeof(address), "%.*s", (int)(colon - written) - 2 * bracketed, written + bracketed);
  return host_create_from_string(address, atoi(colon + 1));
}

// Each does no more than queue a job.
static void expired(const installed_sa_t *sa, bool hard) {
  charon->kernel->expire(charon->kernel, IPPROTO_ESP, sa->spi, sa->dst, hard);
}

static void ended(json_object *event, bool hard) {
  installed_sa_t sa = {.spi = htonl(number(event, "spi")),
                       .dst = host_create_from_string((char *)text(event, "dst"), 0)};
  if (sa.dst) {
    expired(&sa, hard);
    sa.dst->destroy(sa.dst);
  }
}

static void expire(events_t *this, json_object *event) { ended(event, truth(event, "hard")); }

// An outbound SA sends nothing more, an inbound one accepts nothing more: new keys mend both. Such
// an event may come again until then.
static void sequence(events_t *this, json_object *event) { ended(event, FALSE); }

static void audit(events_t *this, json_object *event) {
  if (streq(text(event, "reason"), "window_upset")) {
    ended(event, FALSE);
  }
}

static void mapping(events_t *this, json_object *event) {
  host_t *dst = host_create_from_string((char *)text(event, "dst"), 0);
  host_t *moved = endpoint(text(event, "new"));
  if (dst && moved) {
    charon->kernel->mapping(charon->kernel, IPPROTO_ESP, htonl(number(event, "spi")), dst, moved);
  }
  DESTROY_IF(dst);
  DESTROY_IF(moved);
}

// One side of the packet that waits for an SA. Type and code of a message stand in the ports of
// both (RFC 7296, 3.13.1).
static traffic_selector_t *side(json_object *event, const char *address, const char *port) {
  host_t *host = host_create_from_string((char *)text(event, address), 0);
  bool message = json_object_object_get_ex(event, "type", NULL);
  uint16_t at = message ? number(event, "type") << 8 | number(event, "code") : number(event, port);
  if (!host) {
    return NULL;
  }
  return traffic_selector_create_from_subnet(host, host->get_family(host) == AF_INET ? 32 : 128, number(event, "proto"),
                                             at, at ?: 0xFFFF);
}

static void acquire(events_t *this, json_object *event) {
  kernel_acquire_data_t packet = {.src = side(event, "src", "sport"), .dst = side(event, "dst", "dport")};
#ifdef CPU_ID_MAX
  // From strongSwan 6.1 on an SA may be of one processor of the kernel, and 0 would be the first.
  packet.cpu = CPU_ID_MAX;
#endif
  charon->kernel->acquire(charon->kernel, number(event, "reqid"), &packet);
  DESTROY_IF(packet.src);
  DESTROY_IF(packet.dst);
}

static void restart(events_t *this, json_object *event) {
  DBG1(DBG_KNL, "the chips have lost their configuration: installing policies again, rekeying all CHILD_SAs");
  policies_resume(this->policies, TRUE);
  installed_replace(this->installed, NULL);
}

void events_handle(events_t *this, json_object *event) {
  static const struct {
    const char *name;
    void (*handle)(events_t *this, json_object *event);
  } handlers[] = {{"expire", expire},   {"acquire", acquire},   {"mapping", mapping},
                  {"restart", restart}, {"sequence", sequence}, {"audit", audit}};
  for (size_t i = 0; i < countof(handlers); i++) {
    if (streq(text(event, "event"), handlers[i].name)) {
      handlers[i].handle(this, event);
      return;
    }
  }
  DBG2(DBG_KNL, "sallyportd: %s", json_object_to_json_string(event));
}

// Deletes an SA that charon has deleted while the daemon was away.
static status_t take_away(events_t *this, const installed_sa_t *sa) {
  line_t words = LINE_EMPTY, why = LINE_EMPTY;

  state_delete_words(&words, sa->src, sa->dst, sa->spi);
  status_t status = client_batch(this->client, &words, &why);
  if (status == INVALID_STATE) {
    return status;
  }
  if (status != SUCCESS) {
    DBG1(DBG_KNL, "unable to delete SA with SPI %.8x: %s", ntohl(sa->spi), why.text);
  }
  installed_remove(this->installed, sa->spi, sa->dst);
  return SUCCESS;
}

// Asks for what events would have told of an SA. INVALID_ARG if the box has it no longer; anything
// else but SUCCESS if it does not say.
static status_t catch_up(events_t *this, const installed_sa_t *sa) {
  line_t request = LINE_EMPTY, why = LINE_EMPTY;
  json_object *reply;

  line_add(&request, "\"do\":\"query-state\",\"src\":\"%H\",\"dst\":\"%H\",\"proto\":\"esp\",\"spi\":%u", sa->src,
           sa->dst, ntohl(sa->spi));
  status_t status = client_ask(this->client, &request, &reply, &why);
  if (status == SUCCESS) {
    const char *limit = text(reply, "expired");
    if (*limit) {
      expired(sa, streq(limit, "hard"));
    }
    json_object_put(reply);
  }
  return status;
}

void events_resume(events_t *this) {
  linked_list_t *sas = installed_list(this->installed), *gone = linked_list_create();
  enumerator_t *each = sas->create_enumerator(sas);
  status_t status = SUCCESS;
  installed_sa_t *sa;
  int asked = 0;

  while ((status == SUCCESS || status == INVALID_ARG) && each->enumerate(each, &sa)) {
    if (sa->owed) {
      status = take_away(this, sa);
      continue;
    }
    status = catch_up(this, sa);
    asked++;
    if (status == INVALID_ARG) {
      gone->insert_last(gone, sa);
    }
  }
  each->destroy(each);
  // A daemon that is away again will be there again, and everything be asked again.
  if (status == SUCCESS || status == INVALID_ARG) {
    // A reset takes all SAs, a hard limit single ones. Were they all, replacing them is right too.
    if (asked && gone->get_count(gone) == asked) {
      restart(this, NULL);
    } else {
      // Policies are lost with some SAs if others were added behind a reset, and without any SA
      // there is no telling.
      policies_resume(this->policies, !asked || gone->get_count(gone));
      each = gone->create_enumerator(gone);
      while (each->enumerate(each, &sa)) {
        expired(sa, TRUE);
      }
      each->destroy(each);
    }
  }
  gone->destroy(gone);
  sas->destroy_function(sas, (void *)installed_sa_destroy);
}
