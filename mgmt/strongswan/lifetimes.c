// SPDX-License-Identifier: GPL-2.0-or-later
#include "lifetimes.h"

#include <collections/hashtable.h>
#include <daemon.h>
#include <netinet/in.h>
#include <processing/jobs/callback_job.h>
#include <threading/mutex.h>

typedef struct {
  uint32_t spi;
  host_t *src, *dst;
  bool inbound;
  // Tells it from an earlier SA of the same name, whose jobs may still wait.
  uint64_t serial;
} sa_clock_t;

struct lifetimes_t {
  mutex_t *mutex;
  hashtable_t *clocks;
  uint64_t serial;
};

typedef struct {
  lifetimes_t *lifetimes;
  sa_clock_t clock;
  bool hard;
} alarm_t;

static u_int hash(const sa_clock_t *clock) {
  return chunk_hash_inc(clock->dst->get_address(clock->dst), chunk_hash(chunk_from_thing(clock->spi)));
}

static bool equals(const sa_clock_t *a, const sa_clock_t *b) {
  return a->spi == b->spi && a->dst->ip_equals(a->dst, b->dst);
}

lifetimes_t *lifetimes_create() {
  lifetimes_t *this;
  INIT(this, .mutex = mutex_create(MUTEX_TYPE_DEFAULT),
       .clocks = hashtable_create((hashtable_hash_t)hash, (hashtable_equals_t)equals, 64), );
  return this;
}

static void destroy_clock(sa_clock_t *clock) {
  clock->src->destroy(clock->src);
  clock->dst->destroy(clock->dst);
  free(clock);
}

static void destroy_alarm(alarm_t *alarm) {
  alarm->clock.dst->destroy(alarm->clock.dst);
  free(alarm);
}

static job_requeue_t ring(alarm_t *alarm) {
  lifetimes_t *this = alarm->lifetimes;
  this->mutex->lock(this->mutex);
  sa_clock_t *clock = this->clocks->get(this->clocks, &alarm->clock);
  bool due = clock && clock->serial == alarm->clock.serial;
  this->mutex->unlock(this->mutex);
  if (due) {
    charon->kernel->expire(charon->kernel, IPPROTO_ESP, alarm->clock.spi, alarm->clock.dst, alarm->hard);
  }
  return JOB_REQUEUE_NONE;
}

static void set_alarm(lifetimes_t *this, const sa_clock_t *clock, bool hard, uint64_t seconds) {
  alarm_t *alarm;
  if (!seconds) {
    return;
  }
  INIT(alarm, .lifetimes = this, .clock = *clock, .hard = hard, );
  alarm->clock.dst = clock->dst->clone(clock->dst);
  lib->scheduler->schedule_job(
      lib->scheduler,
      (job_t *)callback_job_create((callback_job_cb_t)ring, alarm, (callback_job_cleanup_t)destroy_alarm, NULL),
      min(seconds, UINT32_MAX));
}

void lifetimes_start(lifetimes_t *this, const kernel_ipsec_sa_id_t *id, const kernel_ipsec_add_sa_t *sa) {
  sa_clock_t *clock;
  this->mutex->lock(this->mutex);
  INIT(clock, .spi = id->spi, .src = id->src->clone(id->src), .dst = id->dst->clone(id->dst), .inbound = sa->inbound,
       .serial = ++this->serial, );
  sa_clock_t *before = this->clocks->put(this->clocks, clock, clock);
  set_alarm(this, clock, FALSE, sa->lifetime->time.rekey);
  set_alarm(this, clock, TRUE, sa->lifetime->time.life);
  this->mutex->unlock(this->mutex);
  if (before) {
    destroy_clock(before);
  }
}

bool lifetimes_stop(lifetimes_t *this, uint32_t spi, host_t *dst) {
  sa_clock_t name = {.spi = spi, .dst = dst};
  this->mutex->lock(this->mutex);
  sa_clock_t *clock = this->clocks->remove(this->clocks, &name);
  this->mutex->unlock(this->mutex);
  if (clock) {
    destroy_clock(clock);
  }
  return clock != NULL;
}

void lifetimes_stop_all(lifetimes_t *this) {
  sa_clock_t *clock;
  this->mutex->lock(this->mutex);
  enumerator_t *clocks = this->clocks->create_enumerator(this->clocks);
  while (clocks->enumerate(clocks, NULL, &clock)) {
    this->clocks->remove_at(this->clocks, clocks);
    destroy_clock(clock);
  }
  clocks->destroy(clocks);
  this->mutex->unlock(this->mutex);
}

void lifetimes_replace(lifetimes_t *this, host_t *peer) {
  sa_clock_t *clock;
  this->mutex->lock(this->mutex);
  enumerator_t *clocks = this->clocks->create_enumerator(this->clocks);
  while (clocks->enumerate(clocks, NULL, &clock)) {
    // One of the two SAs of a CHILD_SA stands for both. This does no more than queue a job.
    if (clock->inbound && (!peer || peer->ip_equals(peer, clock->src))) {
      charon->kernel->expire(charon->kernel, IPPROTO_ESP, clock->spi, clock->dst, FALSE);
    }
  }
  clocks->destroy(clocks);
  this->mutex->unlock(this->mutex);
}

bool lifetimes_add_example(lifetimes_t *this, line_t *fields) {
  sa_clock_t *clock;
  this->mutex->lock(this->mutex);
  enumerator_t *clocks = this->clocks->create_enumerator(this->clocks);
  bool found = clocks->enumerate(clocks, NULL, &clock);
  if (found) {
    line_add(fields, "\"src\":\"%H\",\"dst\":\"%H\",\"proto\":\"esp\",\"spi\":%u", clock->src, clock->dst,
             ntohl(clock->spi));
  }
  clocks->destroy(clocks);
  this->mutex->unlock(this->mutex);
  return found;
}

void lifetimes_destroy(lifetimes_t *this) {
  lifetimes_stop_all(this);
  this->clocks->destroy(this->clocks);
  this->mutex->destroy(this->mutex);
  free(this);
}
