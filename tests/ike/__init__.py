# SPDX-License-Identifier: Apache-2.0
"""strongSwan's charon with the plugin of mgmt/strongswan, and with SM algorithms, in front of
simulated boxes."""
