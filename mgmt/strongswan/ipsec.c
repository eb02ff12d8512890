// SPDX-License-Identifier: GPL-2.0-or-later
#include "ipsec.h"

#include <daemon.h>
#include <netinet/in.h>
#include <time.h>

#include "client.h"
#include "events.h"
#include "installed.h"
#include "monitor.h"
#include "policies.h"
#include "selector.h"
#include "standby.h"
#include "state.h"

// Where the box tells ESP in UDP from IKE.
#define NAT_T_PORT 4500

typedef struct {
  kernel_ipsec_t public;
  client_t *client;
  policies_t *policies;
  installed_t *installed;
  events_t events;
  monitor_t *monitor;
  standby_t *standby;
} ipsec_t;

// Seconds since the epoch, 0 for never, as charon counts time.
static time_t monotonic(json_object *reply, const char *name) {
  json_object *field;
  int64_t used = json_object_object_get_ex(reply, name, &field) ? json_object_get_int64(field) : 0;
  return used ? time_monotonic(NULL) - (time(NULL) - used) : 0;
}

static uint64_t count(json_object *reply, const char *name) {
  json_object *field;
  return json_object_object_get_ex(reply, name, &field) ? json_object_get_uint64(field) : 0;
}

// No KERNEL_POLICY_SPI: policies name SAs by reqid, and the newest one counts; so charon installs a
// rekeyed outbound SA when its peer has the inbound one. KERNEL_NO_POLICY_UPDATES: see update_sa().
METHOD(kernel_ipsec_t, get_features, kernel_feature_t, ipsec_t *this) {
  return KERNEL_ESP_V3_TFC | KERNEL_NO_POLICY_UPDATES;
}

METHOD(kernel_ipsec_t, get_spi, status_t, ipsec_t *this, host_t *src, host_t *dst, uint8_t protocol, uint32_t *spi) {
  uint32_t least = lib->settings->get_int(lib->settings, "%s.spi_min", KERNEL_SPI_MIN, lib->ns);
  uint32_t most = lib->settings->get_int(lib->settings, "%s.spi_max", KERNEL_SPI_MAX, lib->ns);
  line_t request = LINE_EMPTY, why = LINE_EMPTY;
  json_object *reply;

  if (protocol != IPPROTO_ESP) {
    DBG1(DBG_KNL, "unable to get an SPI: only ESP is supported");
    return NOT_SUPPORTED;
  }
  line_add(&request, "\"do\":\"alloc-spi\",\"src\":\"%H\",\"dst\":\"%H\",\"min\":%u,\"max\":%u", src, dst,
           min(least, most), max(least, most));
  if (client_ask(this->client, &request, &reply, &why) != SUCCESS) {
    DBG1(DBG_KNL, "unable to get an SPI: %s", why.text);
    return FAILED;
  }
  *spi = htonl(count(reply, "spi"));
  json_object_put(reply);
  return SUCCESS;
}

METHOD(kernel_ipsec_t, get_cpi, status_t, ipsec_t *this, host_t *src, host_t *dst, uint16_t *cpi) {
  return NOT_SUPPORTED;
}

METHOD(kernel_ipsec_t, add_sa, status_t, ipsec_t *this, kernel_ipsec_sa_id_t *id, kernel_ipsec_add_sa_t *data) {
  line_t words = LINE_EMPTY, why = LINE_EMPTY;
  status_t status = SUCCESS;

  if (!state_add_words(&words, id, data, &why)) {
    status = NOT_SUPPORTED;
  } else {
    status = client_batch(this->client, &words, &why);
  }
  line_wipe(&words);
  if (status == SUCCESS || status == INVALID_STATE) {
    installed_add(this->installed, id, data->inbound);
  }
  if (status == INVALID_STATE) {
    // Without an answer the box may have it: it is deleted when the daemon is there again.
    installed_owe(this->installed, id->spi, id->dst);
  }
  if (status != SUCCESS) {
    DBG1(DBG_KNL, "unable to add %s SA with SPI %.8x: %s", data->inbound ? "inbound" : "outbound", ntohl(id->spi),
         why.text);
  }
  return status == SUCCESS || status == NOT_SUPPORTED ? status : FAILED;
}

// An SA with other addresses or ports is a new SA for the chips, whose sequence numbers begin at 1
// again: under the same key that would repeat every nonce (RFC 4106, 9), and reopen the anti-replay
// window. So charon is told to rekey the CHILD_SA instead, which it does on the new addresses.
METHOD(kernel_ipsec_t, update_sa, status_t, ipsec_t *this, kernel_ipsec_sa_id_t *id, kernel_ipsec_update_sa_t *data) {
  DBG1(DBG_KNL, "SA with SPI %.8x cannot move from %#H === %#H to %#H === %#H under its key: its CHILD_SA is rekeyed",
       ntohl(id->spi), id->src, id->dst, data->new_src, data->new_dst);
  return NOT_SUPPORTED;
}

METHOD(kernel_ipsec_t, query_sa, status_t, ipsec_t *this, kernel_ipsec_sa_id_t *id, kernel_ipsec_query_sa_t *data,
       uint64_t *bytes, uint64_t *packets, time_t *time) {
  line_t request = LINE_EMPTY, why = LINE_EMPTY;
  json_object *reply;

  line_add(&request, "\"do\":\"query-state\",\"src\":\"%H\",\"dst\":\"%H\",\"proto\":\"esp\",\"spi\":%u", id->src,
           id->dst, ntohl(id->spi));
  if (client_ask(this->client, &request, &reply, &why) != SUCCESS) {
    DBG1(DBG_KNL, "unable to query SA with SPI %.8x: %s", ntohl(id->spi), why.text);
    return FAILED;
  }
  if (bytes) {
    *bytes = count(reply, "bytes");
  }
  if (packets) {
    *packets = count(reply, "packets");
  }
  if (time) {
    *time = monotonic(reply, "use_time");
  }
  json_object_put(reply);
  return SUCCESS;
}

METHOD(kernel_ipsec_t, del_sa, status_t, ipsec_t *this, kernel_ipsec_sa_id_t *id, kernel_ipsec_del_sa_t *data) {
  line_t words = LINE_EMPTY, why = LINE_EMPTY;

  // charon deletes the SA of an SPI that it has only reserved, too. The daemon forgets such
  // by itself.
  if (!installed_owe(this->installed, id->spi, id->dst)) {
    return SUCCESS;
  }
  // The daemon may have deleted the SA at its hard limit, or a reset has.
  state_delete_words(&words, id->src, id->dst, id->spi);
  status_t status = client_batch(this->client, &words, &why);
  // charon has forgotten it. If the daemon has not heard of it, it is deleted when that is back.
  if (status != INVALID_STATE) {
    installed_remove(this->installed, id->spi, id->dst);
  }
  if (status != SUCCESS) {
    DBG1(DBG_KNL, "unable to delete SA with SPI %.8x: %s", ntohl(id->spi), why.text);
    return FAILED;
  }
  return SUCCESS;
}

METHOD(kernel_ipsec_t, flush_sas, status_t, ipsec_t *this) {
  line_t words = LINE_EMPTY, why = LINE_EMPTY;

  installed_clear(this->installed);
  line_add(&words, "xfrm state flush");
  if (client_batch(this->client, &words, &why) != SUCCESS) {
    DBG1(DBG_KNL, "unable to flush SAs: %s", why.text);
    return FAILED;
  }
  return SUCCESS;
}

// charon has each inbound policy installed twice, for the host and for forwarded packets. In the
// box `in` is for both, and two that differ for a moment would be refused.
METHOD(kernel_ipsec_t, add_policy, status_t, ipsec_t *this, kernel_ipsec_policy_id_t *id,
       kernel_ipsec_manage_policy_t *data) {
  return id->dir == POLICY_FWD ? SUCCESS : policies_add(this->policies, id, data);
}

METHOD(kernel_ipsec_t, query_policy, status_t, ipsec_t *this, kernel_ipsec_policy_id_t *id,
       kernel_ipsec_query_policy_t *data, time_t *use_time) {
  static const char *directions[] = {[POLICY_IN] = "in", [POLICY_OUT] = "out", [POLICY_FWD] = "in"};
  line_t request = LINE_EMPTY, fields = LINE_EMPTY, why = LINE_EMPTY;
  selector_t selector;
  json_object *reply;

  if (!selector_of(&selector, id->src_ts, id->dst_ts, &why)) {
    return FAILED;
  }
  selector_add_fields(&fields, &selector);
  if (id->if_id) {
    line_add(&fields, ",\"if_id\":%u", id->if_id);
  }
  line_add(&request, "\"do\":\"query-policy\",%s,\"dir\":\"%s\"", fields.text, directions[id->dir]);
  if (client_ask(this->client, &request, &reply, &why) != SUCCESS) {
    DBG1(DBG_KNL, "unable to query policy %R === %R %N: %s", id->src_ts, id->dst_ts, policy_dir_names, id->dir,
         why.text);
    return FAILED;
  }
  *use_time = monotonic(reply, "use_time");
  json_object_put(reply);
  return SUCCESS;
}

METHOD(kernel_ipsec_t, del_policy, status_t, ipsec_t *this, kernel_ipsec_policy_id_t *id,
       kernel_ipsec_manage_policy_t *data) {
  return id->dir == POLICY_FWD ? SUCCESS : policies_remove(this->policies, id, data);
}

METHOD(kernel_ipsec_t, flush_policies, status_t, ipsec_t *this) { return policies_flush(this->policies); }

// charon's sockets are this machine's, whose packets never pass the chips' policies: the box punts
// IKE to it and takes its frames as they are.
METHOD(kernel_ipsec_t, bypass_socket, bool, ipsec_t *this, int fd, int family) { return TRUE; }

METHOD(kernel_ipsec_t, enable_udp_decap, bool, ipsec_t *this, int fd, int family, uint16_t port) {
  if (port != NAT_T_PORT) {
    DBG1(DBG_KNL, "the box finds ESP in UDP at port %d alone: set charon's port_nat_t to it, not %d", NAT_T_PORT, port);
    return FALSE;
  }
  return TRUE;
}

// The box keeps its SAs and policies.
METHOD(kernel_ipsec_t, destroy, void, ipsec_t *this) {
  standby_destroy(this->standby);
  monitor_destroy(this->monitor);
  installed_destroy(this->installed);
  policies_destroy(this->policies);
  client_destroy(this->client);
  free(this);
}

kernel_ipsec_t *ipsec_create() {
  ipsec_t *this;
  INIT(this,
       .public = {
           .get_features = _get_features,
           .get_spi = _get_spi,
           .get_cpi = _get_cpi,
           .add_sa = _add_sa,
           .update_sa = _update_sa,
           .query_sa = _query_sa,
           .del_sa = _del_sa,
           .flush_sas = _flush_sas,
           .add_policy = _add_policy,
           .query_policy = _query_policy,
           .del_policy = _del_policy,
           .flush_policies = _flush_policies,
           .bypass_socket = _bypass_socket,
           .enable_udp_decap = _enable_udp_decap,
           .destroy = _destroy,
       }, );
  this->client = client_create();
  this->policies = policies_create(this->client);
  this->installed = installed_create();
  this->events = (events_t){this->client, this->policies, this->installed};
  this->monitor = monitor_create((void *)events_handle, (void *)events_resume, &this->events);
  this->standby = standby_create(this->installed);
  return &this->public;
}
