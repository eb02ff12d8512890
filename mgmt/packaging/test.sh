#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run the Go tests as arm64 and loong64 programs, under qemu-user (Debian: qemu-user). Without an
# argument those of every package, which takes long; with --quick of those in which processors
# differ, and an emulator that is not there is no failure.
set -euo pipefail
cd "$(dirname "$0")/.."
# The compiled packages are those of build.sh.
export CGO_ENABLED=0 GOFLAGS=-trimpath
packages=(./...)
if [ "${1:-}" = --quick ]; then
  # Ciphers and their assembly, byte order and alignment of registers and tables, files, sockets and
  # system calls of the daemon.
  packages=(./internal/keys ./internal/suite ./internal/transport ./internal/chip ./internal/cuckoo ./internal/xfrm ./internal/config ./internal/daemon ./cmd/sallyportd)
fi
# The store of used keys maps a file beyond its end before it grows, as Linux allows. qemu-user maps
# nothing there where the emulated pages (16 KiB of loong64) are larger than the machine's, so
# packages whose tests have the store fault under it alone.
without_store() {
  local package
  for package in $(go list "$@"); do
    # Not grep -q: it would end before go has written all, which pipefail takes for "not found".
    if go list -deps -test "$package" | grep '^go.etcd.io/bbolt$' > /dev/null; then
      echo "$package: not run, because qemu-user faults in its memory map" >&2
    else
      echo "$package"
    fi
  done
}
# TestRights, TestNoKeysInMemory, TestSilentChips, TestHangUpAtStart, TestPairOutOfTime and those of
# a whole daemon on the network (TestRemote…) start a second program, which the kernel refuses. The
# others wait for bounds in time that an emulator breaks.
skipped='^(TestRights|TestNoKeysInMemory|TestSilentChips|TestHangUpAtStart|TestPairOutOfTime|TestRemote.*|TestBusyIsNotDead|TestStop|TestFence)$'
echo "not run under emulation: $skipped"
for each in "arm64 qemu-aarch64 purego" "loong64 qemu-loongarch64 "; do
  IFS=' ' read -r arch emulator tags <<< "$each"
  if ! command -v "$emulator" > /dev/null; then
    echo "$arch: $emulator is not installed, so nothing of $arch was tested: apt-get install qemu-user" >&2
    [ "${1:-}" = --quick ] || exit 2
    continue
  fi
  echo "== $arch"
  these=("${packages[@]}")
  [ "$arch" != loong64 ] || mapfile -t these < <(without_store "${packages[@]}")
  GOOS=linux GOARCH=$arch go test -vet=off -tags "$tags" -exec "$emulator" -skip "$skipped" "${these[@]}"
done
