#!/usr/bin/env bash
# Run the Go tests as arm64 and loong64 programs, under qemu-user (Debian: qemu-user). What takes minutes there, with whole tables, is left out.
set -euo pipefail
cd "$(dirname "$0")/.."
for each in "arm64 qemu-aarch64 purego" "loong64 qemu-loongarch64 "; do
  IFS=' ' read -r arch emulator tags <<< "$each"
  command -v "$emulator" > /dev/null || { echo "$emulator is not installed: apt-get install qemu-user" >&2; exit 2; }
  echo "== $arch"
  CGO_ENABLED=0 GOOS=linux GOARCH=$arch go test -short -tags "$tags" -exec "$emulator" ./...
done
