#!/usr/bin/env bash
# Make build/packages/sallyport-mgmt_VERSION_ARCH.deb for each architecture: static programs, crossed by Go. Needs Go alone.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
VERSION=$(cat "$root/VERSION")
export VERSION
mkdir -p "$root/build/packages"
for ARCH in amd64 arm64 loong64; do
  export ARCH BUILD="$root/build/packages/$ARCH"
  tags=
  # gmsm's SM4 assembly for arm64 uses instructions that most such processors do not have.
  [ "$ARCH" != arm64 ] || tags=purego
  (cd .. && CGO_ENABLED=0 GOOS=linux GOARCH=$ARCH go build -trimpath -tags "$tags" -ldflags "-s -w -X main.version=$VERSION" -o "$BUILD/" ./cmd/...)
  go tool nfpm package --config nfpm.yaml --packager deb --target "$root/build/packages/"
done
