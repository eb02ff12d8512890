#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run the Go tests as arm64 and loong64 programs, under qemu-user (Debian: qemu-user). Without an argument those of every package, which takes
# long; with --quick of those in which processors differ, and an emulator that is not there is no failure.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=(./...)
if [ "${1:-}" = --quick ]; then
  # Ciphers and their assembly, byte order and alignment of registers and tables, files, sockets and system calls of the daemon.
  packages=(./internal/keys ./internal/suite ./internal/transport ./internal/chip ./internal/cuckoo ./internal/xfrm ./internal/config ./internal/daemon ./cmd/sallyportd)
fi
# TestRights starts a second program, which the kernel refuses; the others wait for bounds in time that an emulator breaks.
skipped='^(TestRights|TestBusyIsNotDead|TestStop)$'
echo "not run under emulation: $skipped"
for each in "arm64 qemu-aarch64 purego" "loong64 qemu-loongarch64 "; do
  IFS=' ' read -r arch emulator tags <<< "$each"
  if ! command -v "$emulator" > /dev/null; then
    echo "$arch: $emulator is not installed, so nothing of $arch was tested: apt-get install qemu-user" >&2
    [ "${1:-}" = --quick ] || exit 2
    continue
  fi
  echo "== $arch"
  CGO_ENABLED=0 GOOS=linux GOARCH=$arch go test -tags "$tags" -exec "$emulator" -skip "$skipped" "${packages[@]}"
done
