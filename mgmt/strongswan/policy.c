// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy.h"

#include "selector.h"

// As in strongSwan's kernel-netlink: regular policies stand between passes and fallbacks; of one
// class the narrower selector has the lower number, and a trap stands directly behind the policy
// that it is for.
#define CLASS_SIZE 200000

static uint32_t compute_priority(const kernel_ipsec_manage_policy_t *policy, const selector_t *selector) {
  uint32_t priority = CLASS_SIZE;
  switch (policy->prio) {
    case POLICY_PRIORITY_FALLBACK:
      priority += 2 * CLASS_SIZE;
      break;
    case POLICY_PRIORITY_ROUTED:
    case POLICY_PRIORITY_DEFAULT:
      priority += CLASS_SIZE;
      break;
    case POLICY_PRIORITY_PASS:
      break;
  }
  return priority - selector->narrowness - (policy->prio != POLICY_PRIORITY_ROUTED);
}

static const char *missing(const kernel_ipsec_policy_id_t *id, const kernel_ipsec_manage_policy_t *policy) {
  if (id->mark.value || id->mark.mask) {
    return "marks are not supported";
  }
  // charon names it for outbound policies alone, and a VRF has policies in both directions: those
  // have the if_id of an XFRM interface in the VRF.
  if (id->interface) {
    return "policies of one network interface are not supported: leave interface out";
  }
  if (id->label) {
    return "security labels are not supported";
  }
  if (policy->type != POLICY_IPSEC) {
    return NULL;
  }
  if (!policy->sa->esp.use || policy->sa->ah.use || policy->sa->ipcomp.transform != IPCOMP_NONE) {
    return "only ESP is supported";
  }
  if (policy->sa->mode != MODE_TUNNEL && policy->sa->mode != MODE_TRANSPORT) {
    return "only tunnel and transport mode are supported";
  }
  return NULL;
}

// No SPI: the template asks for the newest SA of its reqid, so a rekeyed one takes over without a
// change of the policy.
static void add_template(line_t *words, const kernel_ipsec_manage_policy_t *policy) {
  line_add(words, "tmpl ");
  if (policy->sa->mode == MODE_TUNNEL) {
    line_add(words, "src %H dst %H ", policy->src, policy->dst);
  }
  line_add(words, "proto esp reqid %u mode %s", policy->sa->reqid,
           policy->sa->mode == MODE_TUNNEL ? "tunnel" : "transport");
}

wanted_t *wanted_create(const kernel_ipsec_policy_id_t *id, const kernel_ipsec_manage_policy_t *policy, line_t *name,
                        line_t *why) {
  static const char *directions[] = {[POLICY_IN] = "in", [POLICY_OUT] = "out"};
  const char *lack = missing(id, policy);
  line_t words = LINE_EMPTY;
  selector_t selector;
  wanted_t *this;

  if (lack) {
    line_add(why, "%s", lack);
    return NULL;
  }
  if (!selector_of(&selector, id->src_ts, id->dst_ts, why)) {
    return NULL;
  }
  selector_add_words(name, &selector);
  line_add(name, " dir %s", directions[id->dir]);
  if (id->if_id) {
    line_add(name, " if_id %u", id->if_id);
  }

  INIT(this, .computed = compute_priority(policy, &selector), .spi = policy->sa->esp.spi, .reqid = policy->sa->reqid, );
  this->priority = policy->manual_prio ?: this->computed;
  line_add(&words, "priority %u ", this->priority);
  switch (policy->type) {
    case POLICY_IPSEC:
      add_template(&words, policy);
      break;
    case POLICY_PASS:
      line_add(&words, "action allow");
      break;
    case POLICY_DROP:
      line_add(&words, "action block");
      break;
  }
  this->words = strdup(words.text);
  return this;
}

void wanted_destroy(wanted_t *this) {
  free(this->words);
  free(this);
}

bool wanted_before(const wanted_t *this, const wanted_t *later) {
  if (this->priority != later->priority) {
    return this->priority < later->priority;
  }
  if (this->computed != later->computed) {
    return this->computed < later->computed;
  }
  return this->reqid && !later->reqid;
}

bool wanted_equals(const wanted_t *this, const wanted_t *other) {
  return this->spi == other->spi && this->computed == other->computed && streq(this->words, other->words);
}
