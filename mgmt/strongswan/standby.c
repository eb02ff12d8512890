// SPDX-License-Identifier: GPL-2.0-or-later
#include "standby.h"

#include <daemon.h>

struct standby_t {
  listener_t listener;
  installed_t *installed;
};

// An IKE_SA's own list of CHILD_SAs is no way to them: where it stands in ike_sa_t depends on how
// charon was configured.
METHOD(listener_t, ike_state_change, bool, standby_t *this, ike_sa_t *ike_sa, ike_sa_state_t state) {
  if (ike_sa->get_state(ike_sa) == IKE_PASSIVE && state == IKE_ESTABLISHED) {
    DBG1(DBG_KNL, "this charon has taken over: rekeying the CHILD_SAs of %s", ike_sa->get_name(ike_sa));
    installed_replace(this->installed, ike_sa->get_other_host(ike_sa));
  }
  return TRUE;
}

standby_t *standby_create(installed_t *installed) {
  standby_t *this;
  INIT(this, .listener = {.ike_state_change = _ike_state_change}, .installed = installed, );
  charon->bus->add_listener(charon->bus, &this->listener);
  return this;
}

void standby_destroy(standby_t *this) {
  charon->bus->remove_listener(charon->bus, &this->listener);
  free(this);
}
