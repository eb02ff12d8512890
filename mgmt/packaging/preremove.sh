#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Not at an upgrade, where the new daemon takes over.
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl disable --now sallyportd.service
fi
