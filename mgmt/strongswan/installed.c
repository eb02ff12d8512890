// SPDX-License-Identifier: GPL-2.0-or-later
#include "installed.h"

#include <collections/hashtable.h>
#include <daemon.h>
#include <netinet/in.h>
#include <threading/mutex.h>

struct installed_t {
  mutex_t *mutex;
  hashtable_t *sas;
};

static u_int hash(const installed_sa_t *sa) {
  return chunk_hash_inc(sa->dst->get_address(sa->dst), chunk_hash(chunk_from_thing(sa->spi)));
}

static bool equals(const installed_sa_t *a, const installed_sa_t *b) {
  return a->spi == b->spi && a->dst->ip_equals(a->dst, b->dst);
}

installed_t *installed_create() {
  installed_t *this;
  INIT(this, .mutex = mutex_create(MUTEX_TYPE_DEFAULT),
       .sas = hashtable_create((hashtable_hash_t)hash, (hashtable_equals_t)equals, 64), );
  return this;
}

static installed_sa_t *create_sa(uint32_t spi, host_t *src, host_t *dst, bool inbound) {
  installed_sa_t *sa;
  INIT(sa, .spi = spi, .src = src->clone(src), .dst = dst->clone(dst), .inbound = inbound, );
  return sa;
}

void installed_sa_destroy(installed_sa_t *this) {
  this->src->destroy(this->src);
  this->dst->destroy(this->dst);
  free(this);
}

void installed_add(installed_t *this, const kernel_ipsec_sa_id_t *id, bool inbound) {
  installed_sa_t *sa = create_sa(id->spi, id->src, id->dst, inbound);
  this->mutex->lock(this->mutex);
  installed_sa_t *before = this->sas->put(this->sas, sa, sa);
  this->mutex->unlock(this->mutex);
  if (before) {
    installed_sa_destroy(before);
  }
}

bool installed_remove(installed_t *this, uint32_t spi, host_t *dst) {
  installed_sa_t name = {.spi = spi, .dst = dst};
  this->mutex->lock(this->mutex);
  installed_sa_t *sa = this->sas->remove(this->sas, &name);
  this->mutex->unlock(this->mutex);
  if (sa) {
    installed_sa_destroy(sa);
  }
  return sa != NULL;
}

bool installed_owe(installed_t *this, uint32_t spi, host_t *dst) {
  installed_sa_t name = {.spi = spi, .dst = dst};
  this->mutex->lock(this->mutex);
  installed_sa_t *sa = this->sas->get(this->sas, &name);
  if (sa) {
    sa->owed = TRUE;
  }
  this->mutex->unlock(this->mutex);
  return sa != NULL;
}

void installed_clear(installed_t *this) {
  installed_sa_t *sa;
  this->mutex->lock(this->mutex);
  enumerator_t *sas = this->sas->create_enumerator(this->sas);
  while (sas->enumerate(sas, NULL, &sa)) {
    this->sas->remove_at(this->sas, sas);
    installed_sa_destroy(sa);
  }
  sas->destroy(sas);
  this->mutex->unlock(this->mutex);
}

void installed_replace(installed_t *this, host_t *peer) {
  installed_sa_t *sa;
  this->mutex->lock(this->mutex);
  enumerator_t *sas = this->sas->create_enumerator(this->sas);
  while (sas->enumerate(sas, NULL, &sa)) {
    // One of the two SAs of a CHILD_SA stands for both. This does no more than queue a job.
    if (sa->inbound && !sa->owed && (!peer || peer->ip_equals(peer, sa->src))) {
      charon->kernel->expire(charon->kernel, IPPROTO_ESP, sa->spi, sa->dst, FALSE);
    }
  }
  sas->destroy(sas);
  this->mutex->unlock(this->mutex);
}

linked_list_t *installed_list(installed_t *this) {
  linked_list_t *copy = linked_list_create();
  installed_sa_t *sa;
  this->mutex->lock(this->mutex);
  enumerator_t *sas = this->sas->create_enumerator(this->sas);
  while (sas->enumerate(sas, NULL, &sa)) {
    installed_sa_t *one = create_sa(sa->spi, sa->src, sa->dst, sa->inbound);
    one->owed = sa->owed;
    copy->insert_last(copy, one);
  }
  sas->destroy(sas);
  this->mutex->unlock(this->mutex);
  return copy;
}

void installed_destroy(installed_t *this) {
  installed_clear(this);
  this->sas->destroy(this->sas);
  this->mutex->destroy(this->mutex);
  free(this);
}
