// SPDX-License-Identifier: GPL-2.0-or-later
// kernel-sallyport: strongSwan's charon on a Sallyport box. It speaks to sallyportd through its
// control socket; docs/how-to/ike.md.
#include <kernel/kernel_ipsec.h>
#include <plugins/plugin.h>

#include "ipsec.h"

METHOD(plugin_t, get_name, char *, plugin_t *this) { return "kernel-sallyport"; }

METHOD(plugin_t, get_features, int, plugin_t *this, plugin_feature_t *features[]) {
  static plugin_feature_t provided[] = {
      PLUGIN_CALLBACK(kernel_ipsec_register, ipsec_create),
      PLUGIN_PROVIDE(CUSTOM, "kernel-ipsec"),
  };
  *features = provided;
  return countof(provided);
}

METHOD(plugin_t, destroy, void, plugin_t *this) { free(this); }

// From 6.1 on, charon's plugin loader takes no plugin without the version that it was compiled for.
__attribute__((visibility("default"))) const char *kernel_sallyport_plugin_version = VERSION;

// What the loader calls, by the name of the plugin.
__attribute__((visibility("default"))) plugin_t *kernel_sallyport_plugin_create() {
  plugin_t *this;
  INIT(this, .get_name = _get_name, .get_features = _get_features, .destroy = _destroy, );
  return this;
}
