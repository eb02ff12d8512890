#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# charon loads a plugin when it starts, so a charon that runs is started again with the first one.
# After an upgrade it goes on with the old one, and its tunnels too.
set -e
if [ "$1" = configure ] && [ -z "$2" ] && [ -d /run/systemd/system ]; then
  systemctl try-restart strongswan.service
fi
