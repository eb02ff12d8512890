# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For scripts to source that install Debian packages by name. Such a script sets `self`, its name
# in messages.
say() { printf '%s: %s\n' "${self:?}" "$*" >&2; }
die() { say "$*"; exit 2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else die "needs root or sudo to install: $*"; fi
}

# shellcheck source=scripts/progress.sh
source scripts/progress.sh

# Runs a command that may take minutes, and shows its last words if it fails.
quietly() {
  local what=$1 log
  shift
  log=$(mktemp)
  watch "$log" "$what" "$@" ||
    { tail -n 5 "$log" >&2; rm -f "$log"; die "$what failed; check the network and the lines above, then run 'make $self' again"; }
  rm -f "$log"
}

has_package() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# Waits for another apt-get, as two clones on one machine have it.
apt_install() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600)
  quietly "apt-get update" as_root "${apt[@]}" update
  quietly "apt-get install" as_root "${apt[@]}" install -y --no-install-recommends "$@"
}
