#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The daemon's user; a daemon that runs is replaced, under traffic. It is not started before it
# is configured.
set -e
if [ -d /run/systemd/system ]; then
  systemd-sysusers sallyport.conf
  systemctl daemon-reload
  systemctl try-restart sallyportd.service
elif command -v systemd-sysusers > /dev/null; then
  systemd-sysusers sallyport.conf
fi
