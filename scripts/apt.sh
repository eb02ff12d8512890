# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For scripts to source that install Debian packages by name. Such a script sets `self`, its name
# in messages.
say() { printf '%s: %s\n' "${self:?}" "$*" >&2; }
die() { say "$*"; exit 2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else die "needs root or sudo to install: $*"; fi
}

# Runs a command that may take minutes, shows its last words if it fails, and a line every 15 s
# until then.
quietly() {
  local what=$1 start=$SECONDS log pid
  shift
  log=$(mktemp)
  "$@" >"$log" 2>&1 &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 1
    [ $(((SECONDS - start) % 15)) != 14 ] || say "$what: $((SECONDS - start)) s so far"
  done
  wait "$pid" || { tail -n 5 "$log" >&2; rm -f "$log"; die "$what failed; check the network and the lines above, then run 'make $self' again"; }
  rm -f "$log"
}

has_package() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# Waits for another apt-get, as two clones on one machine have it.
apt_install() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600)
  quietly "apt-get update" as_root "${apt[@]}" update
  quietly "apt-get install" as_root "${apt[@]}" install -y --no-install-recommends "$@"
}
