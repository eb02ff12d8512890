// SPDX-License-Identifier: GPL-2.0-or-later
#include "policies.h"

#include <collections/hashtable.h>
#include <collections/linked_list.h>
#include <threading/mutex.h>

#include "policy.h"

// One selector and direction.
typedef struct {
  // Its words, by which it is found.
  char *name;
  // What follows them in the box, NULL if that is not known.
  char *installed;
  // wanted_t*, the best first. Empty: the box has not been told yet to delete it.
  linked_list_t *wanted;
} entry_t;

struct policies_t {
  client_t *client;
  mutex_t *mutex;
  // char* to entry_t*
  hashtable_t *entries;
};

policies_t *policies_create(client_t *client) {
  policies_t *this;
  INIT(this, .client = client, .mutex = mutex_create(MUTEX_TYPE_DEFAULT),
       .entries = hashtable_create(hashtable_hash_str, hashtable_equals_str, 64), );
  return this;
}

static void destroy_entry(entry_t *entry) {
  entry->wanted->destroy_function(entry->wanted, (void *)wanted_destroy);
  free(entry->installed);
  free(entry->name);
  free(entry);
}

static void forget(policies_t *this, entry_t *entry) {
  this->entries->remove(this->entries, entry->name);
  destroy_entry(entry);
}

static entry_t *create_entry(policies_t *this, const char *name) {
  entry_t *entry;
  INIT(entry, .name = strdup(name), .wanted = linked_list_create(), );
  this->entries->put(this->entries, entry->name, entry);
  return entry;
}

static wanted_t *best_of(entry_t *entry) {
  wanted_t *best = NULL;
  entry->wanted->get_first(entry->wanted, (void **)&best);
  return best;
}

static bool is_installed(entry_t *entry) { return entry->installed && streq(entry->installed, best_of(entry)->words); }

static void forget_installed(entry_t *entry) {
  free(entry->installed);
  entry->installed = NULL;
}

// Installs the first of the wanted policies. One that the box has already it has without an answer,
// too.
static status_t install(policies_t *this, entry_t *entry, line_t *why) {
  line_t words = LINE_EMPTY;
  wanted_t *best = best_of(entry);

  line_add(&words, "xfrm policy update %s %s", entry->name, best->words);
  status_t status = client_batch(this->client, &words, why);
  if (status != INVALID_STATE || !is_installed(entry)) {
    forget_installed(entry);
    entry->installed = status == SUCCESS ? strdup(best->words) : NULL;
  }
  return status;
}

// The same, unless the box has it already.
static status_t keep(policies_t *this, entry_t *entry, line_t *why) {
  return is_installed(entry) ? SUCCESS : install(this, entry, why);
}

static status_t uninstall(policies_t *this, entry_t *entry, line_t *why) {
  line_t words = LINE_EMPTY;
  line_add(&words, "xfrm policy delete %s", entry->name);
  forget_installed(entry);
  return client_batch(this->client, &words, why);
}

static void insert(entry_t *entry, wanted_t *one) {
  enumerator_t *others = entry->wanted->create_enumerator(entry->wanted);
  wanted_t *other;
  while (others->enumerate(others, &other) && wanted_before(other, one)) {
  }
  entry->wanted->insert_before(entry->wanted, others, one);
  others->destroy(others);
}

static bool take_out(entry_t *entry, const wanted_t *like) {
  enumerator_t *others = entry->wanted->create_enumerator(entry->wanted);
  wanted_t *other;
  bool found = FALSE;
  while (!found && others->enumerate(others, &other)) {
    if (wanted_equals(other, like)) {
      entry->wanted->remove_at(entry->wanted, others);
      wanted_destroy(other);
      found = TRUE;
    }
  }
  others->destroy(others);
  return found;
}

static void complain(const char *what, const kernel_ipsec_policy_id_t *id, const line_t *why) {
  DBG1(DBG_KNL, "unable to %s policy %R === %R %N: %s", what, id->src_ts, id->dst_ts, policy_dir_names, id->dir,
       why->text);
}

status_t policies_add(policies_t *this, const kernel_ipsec_policy_id_t *id,
                      const kernel_ipsec_manage_policy_t *policy) {
  line_t name = LINE_EMPTY, why = LINE_EMPTY;
  wanted_t *one = wanted_create(id, policy, &name, &why);
  if (!one) {
    complain("add", id, &why);
    return FAILED;
  }
  this->mutex->lock(this->mutex);
  entry_t *entry = this->entries->get(this->entries, name.text);
  bool owed = entry && !best_of(entry);
  entry = entry ?: create_entry(this, name.text);
  insert(entry, one);
  // Said again though the box should have it: if others took it away, a rekey mends that.
  bool again = is_installed(entry);
  status_t status = best_of(entry) == one ? install(this, entry, &why) : keep(this, entry, &why);
  if (status == INVALID_STATE && again) {
    // Were that a failure, charon would close the CHILD_SA.
    DBG1(DBG_KNL, "policy %R === %R %N stays as it was: %s", id->src_ts, id->dst_ts, policy_dir_names, id->dir,
         why.text);
    status = SUCCESS;
  }
  if (status != SUCCESS) {
    // The CHILD_SA fails. What the box had before it still has, and without an answer perhaps this
    // one, too: then it is deleted when the daemon is there again.
    entry->wanted->remove(entry->wanted, one, NULL);
    wanted_destroy(one);
    if (!best_of(entry) && !owed && status != INVALID_STATE) {
      forget(this, entry);
    }
  }
  this->mutex->unlock(this->mutex);
  if (status != SUCCESS) {
    complain("add", id, &why);
  }
  return status == SUCCESS ? SUCCESS : FAILED;
}

status_t policies_remove(policies_t *this, const kernel_ipsec_policy_id_t *id,
                         const kernel_ipsec_manage_policy_t *policy) {
  line_t name = LINE_EMPTY, why = LINE_EMPTY;
  wanted_t *like = wanted_create(id, policy, &name, &why);
  status_t status = NOT_FOUND;

  // What could not be added needs no removal.
  if (!like) {
    return NOT_FOUND;
  }
  this->mutex->lock(this->mutex);
  entry_t *entry = this->entries->get(this->entries, name.text);
  if (entry && take_out(entry, like)) {
    if (entry->wanted->get_count(entry->wanted)) {
      status = keep(this, entry, &why) == SUCCESS ? SUCCESS : FAILED;
    } else {
      status = uninstall(this, entry, &why);
      // charon has forgotten it. If the daemon has not heard of it, it is deleted later.
      if (status != INVALID_STATE) {
        forget(this, entry);
      }
      status = status == SUCCESS ? SUCCESS : FAILED;
    }
  }
  this->mutex->unlock(this->mutex);
  wanted_destroy(like);
  if (status == FAILED) {
    complain("delete", id, &why);
  }
  return status;
}

status_t policies_flush(policies_t *this) {
  line_t words = LINE_EMPTY, why = LINE_EMPTY;
  enumerator_t *entries;
  entry_t *entry;

  line_add(&words, "xfrm policy flush");
  this->mutex->lock(this->mutex);
  bool ok = client_batch(this->client, &words, &why) == SUCCESS;
  if (ok) {
    entries = this->entries->create_enumerator(this->entries);
    while (entries->enumerate(entries, NULL, &entry)) {
      this->entries->remove_at(this->entries, entries);
      destroy_entry(entry);
    }
    entries->destroy(entries);
  } else {
    DBG1(DBG_KNL, "unable to flush policies: %s", why.text);
  }
  this->mutex->unlock(this->mutex);
  return ok ? SUCCESS : FAILED;
}

void policies_resume(policies_t *this, bool lost) {
  enumerator_t *entries;
  entry_t *entry;

  this->mutex->lock(this->mutex);
  entries = this->entries->create_enumerator(this->entries);
  while (entries->enumerate(entries, NULL, &entry)) {
    line_t why = LINE_EMPTY;
    if (!best_of(entry)) {
      if (uninstall(this, entry, &why) != INVALID_STATE) {
        this->entries->remove_at(this->entries, entries);
        destroy_entry(entry);
      }
    } else if (lost) {
      forget_installed(entry);
      if (install(this, entry, &why) != SUCCESS) {
        DBG1(DBG_KNL, "unable to restore policy %s: %s", entry->name, why.text);
      }
    }
  }
  entries->destroy(entries);
  this->mutex->unlock(this->mutex);
}

void policies_destroy(policies_t *this) {
  enumerator_t *entries = this->entries->create_enumerator(this->entries);
  entry_t *entry;
  while (entries->enumerate(entries, NULL, &entry)) {
    destroy_entry(entry);
  }
  entries->destroy(entries);
  this->entries->destroy(this->entries);
  this->mutex->destroy(this->mutex);
  free(this);
}
