#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The user stays, as Debian has it: files may be its own. So does /etc/sallyport while the
# administrator's files are in it.
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
