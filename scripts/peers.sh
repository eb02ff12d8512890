#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/peers.sh [PEER]: what programs of Debian say of a simulated box (docs/reference/peers.md).
#
# Each peer is tests/peers/test_PEER*.py and its packages, which are installed here. The closing
# lines list the program's version, the seconds and the outcome of each peer, and every skip with
# its reason.
set -uo pipefail
cd "$(dirname "$0")/.."
self=peers
# shellcheck source=scripts/apt.sh
source scripts/apt.sh

# By peer: its packages; the version of the first is reported.
declare -A packages=(
  [wireshark]="tshark"
  [slurm]="slurmctld slurmd slurm-client munge"
  [linux]="qemu-system-x86 busybox-static kmod iproute2 gcc libc6-dev"
  [prometheus]="prometheus"
  [nginx]="nginx-light openssl"
  [frr]="frr"
  [apt]="apt-utils gpg"
  [strongswan6]="mmdebstrap"
)
peers=(wireshark slurm linux prometheus nginx frr apt strongswan6)

wanted=("${peers[@]}")
if [ -n "${1:-}" ]; then
  case " ${peers[*]} " in
    *" $1 "*) wanted=("$1") ;;
    *) echo "PEER=$1: choose one of ${peers[*]}" >&2; exit 2 ;;
  esac
fi
make --no-print-directory sim mgmt || exit

# Installs a peer's packages that are missing; false if apt-get cannot.
install() {
  local name missing=()
  for name in ${packages[$1]}; do has_package "$name" || missing+=("$name"); done
  [ ${#missing[@]} = 0 ] && return
  say "$1: installing ${missing[*]}"
  (apt_install "${missing[@]}")
}

version() { dpkg-query -W -f='${Package} ${Version}' "${packages[$1]%% *}"; }

# Runs a peer's tests, and puts a line about it into $lines.
run() {
  local peer=$1 log=$folder/$1.log start=$SECONDS outcome
  install "$peer" || { lines+=("$peer|-|-|skipped: its packages cannot be installed: ${packages[$peer]}"); return; }
  say "$peer: started"
  (source scripts/env.sh && exec python -m pytest -q -rs --basetemp="$PWD/$folder/$peer" tests/peers/test_"$peer"*.py) >"$log" 2>&1
  case $? in
    0) outcome=$(tail -n 1 "$log") ;;
    *) outcome="FAILED: $(tail -n 1 "$log")" failed=1; sed "s/^/$peer | /" "$log" ;;
  esac
  lines+=("$peer|$(version "$peer")|$((SECONDS - start))|$outcome")
}

folder=build/peers failed=0 lines=()
mkdir -p "$folder"
rm -f "$folder"/*.log
for peer in "${wanted[@]}"; do run "$peer"; done

printf '\n%-11s %-38s %8s  %s\n' peer program seconds outcome
for line in "${lines[@]}"; do
  IFS='|' read -r peer program seconds outcome <<<"$line"
  printf '%-11s %-38s %8s  %s\n' "$peer" "$program" "$seconds" "$outcome"
done
grep -hs '^SKIPPED ' "$folder"/*.log
exit $failed
