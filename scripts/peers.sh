#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/peers.sh [PEER]: what programs of Debian say of a simulated box (docs/reference/peers.md).
#
# Each peer is test_PEER*.py of tests/peers or tests/system, and its packages, which are installed
# here. The closing lines list the program's version, the seconds and the outcome of each peer, and
# every skip with its reason.
set -uo pipefail
cd "$(dirname "$0")/.."
self=peers
# shellcheck source=scripts/apt.sh
source scripts/apt.sh

system="mmdebstrap apt-utils gpg e2fsprogs charon-systemd strongswan-swanctl libcharon-extra-plugins"
# By peer: its packages; the version of the first is reported.
declare -A packages=(
  [wireshark]="tshark"
  [slurm]="slurmctld slurmd slurm-client munge"
  [linux]="qemu-system-x86 busybox-static kmod iproute2 gcc libc6-dev mmdebstrap"
  [pcie]="pciutils busybox-static kmod iproute2 gcc libc6-dev mmdebstrap"
  [prometheus]="prometheus"
  [nginx]="nginx-light openssl"
  [frr]="frr"
  [apt]="apt-utils gpg"
  [strongswan6]="mmdebstrap"
  [journald]="systemd logrotate"
  [plugin]="mmdebstrap apt-utils gpg"
  [system-arm64]="$system"
  [system-loong64]="$system"
)
peers=(wireshark slurm linux pcie prometheus nginx frr apt strongswan6 journald plugin system-arm64 system-loong64)

wanted=("${peers[@]}")
if [ -n "${1:-}" ]; then
  case " ${peers[*]} " in
    *" $1 "*) wanted=("$1") ;;
    *" $1-"*) wanted=(); for peer in "${peers[@]}"; do [ "${peer%-*}" != "$1" ] || wanted+=("$peer"); done ;;
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

# Runs a peer's tests, and puts a line about it into $lines. `system-arm64` is what of
# test_system.py has arm64 in its name, and `system` is all of these.
run() {
  local peer=$1 log=$folder/$1.log start=$SECONDS only= outcome files
  case $peer in *-*) only=${peer#*-} ;; esac
  install "$peer" || { lines+=("$peer|-|-|skipped: its packages cannot be installed: ${packages[$peer]}"); return; }
  case $peer in plugin | system-*)
    make --no-print-directory packages ike-packages >"$log" 2>&1 ||
      { lines+=("$peer|-|$((SECONDS - start))|skipped: no package of charon's plugin: $(tail -n 1 "$log")"); return; } ;;
  pcie)
    make --no-print-directory sim-shell >"$log" 2>&1 ||
      { lines+=("$peer|-|$((SECONDS - start))|FAILED: make sim-shell: $(tail -n 1 "$log")"); failed=1; return; } ;;
  esac
  say "$peer: started"
  mapfile -t files < <(compgen -G "tests/peers/test_${peer%-*}*.py"; compgen -G "tests/system/test_${peer%-*}*.py")
  (source scripts/env.sh && exec python -m pytest -q -rsP --basetemp="$PWD/$folder/$peer" "${files[@]}" -k "$only") >"$log" 2>&1
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

printf '\n%-15s %-38s %8s  %s\n' peer program seconds outcome
for line in "${lines[@]}"; do
  IFS='|' read -r peer program seconds outcome <<<"$line"
  printf '%-15s %-38s %8s  %s\n' "$peer" "$program" "$seconds" "$outcome"
done
grep -hs '^SKIPPED ' "$folder"/*.log
exit $failed
