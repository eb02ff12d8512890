"""strongSwan's charon with the plugin of mgmt/strongswan, and with SM algorithms, in front of simulated boxes."""
