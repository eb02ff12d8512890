// SPDX-License-Identifier: GPL-2.0-or-later
// sm: what a strongSwan with our patches lacks of the ShangMi algorithms; docs/how-to/ike-sm.md.
// SM4-CBC, SM3 and curveSM2 are its openssl plugin's.
#include <library.h>
#include <plugins/plugin.h>

#include "identifiers.h"
#include "sm2_private_key.h"
#include "sm2_public_key.h"
#include "sm4_gcm.h"
#include "vectors.h"

METHOD(plugin_t, get_name, char *, plugin_t *this) { return "sm"; }

METHOD(plugin_t, get_features, int, plugin_t *this, plugin_feature_t *features[]) {
  static plugin_feature_t provided[] = {
      PLUGIN_REGISTER(AEAD, sm4_gcm_create),
      PLUGIN_PROVIDE(AEAD, ENCR_SM4_GCM_ICV16, 16),
      PLUGIN_REGISTER(PRIVKEY, sm2_private_key_load, TRUE),
      PLUGIN_PROVIDE(PRIVKEY, KEY_SM2),
      PLUGIN_DEPENDS(HASHER, HASH_SHA1),
      PLUGIN_PROVIDE(PRIVKEY, KEY_ANY),
      PLUGIN_DEPENDS(HASHER, HASH_SHA1),
      PLUGIN_REGISTER(PUBKEY, sm2_public_key_load, TRUE),
      PLUGIN_PROVIDE(PUBKEY, KEY_SM2),
      PLUGIN_DEPENDS(HASHER, HASH_SHA1),
      PLUGIN_PROVIDE(PUBKEY, KEY_ANY),
      PLUGIN_DEPENDS(HASHER, HASH_SHA1),
      PLUGIN_PROVIDE(PRIVKEY_SIGN, SIGN_SM2_WITH_SM3),
      PLUGIN_PROVIDE(PUBKEY_VERIFY, SIGN_SM2_WITH_SM3),
  };
  *features = provided;
  return countof(provided);
}

METHOD(plugin_t, destroy, void, plugin_t *this) { free(this); }

// What charon's plugin loader calls, by the name of the plugin.
__attribute__((visibility("default"))) plugin_t *sm_plugin_create() {
  plugin_t *this;

  if (!identifiers_are_sound()) {
    return NULL;
  }
  identifiers_register_words();
  // They are there before any algorithm is, so that `crypto_test { on_add = yes }` tests the
  // openssl plugin's as well.
  vectors_add();
  INIT(this, .get_name = _get_name, .get_features = _get_features, .destroy = _destroy, );
  return this;
}
