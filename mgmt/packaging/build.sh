#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make build/packages/sallyport-mgmt_VERSION_ARCH.deb for each architecture: static programs,
# crossed by Go. Needs Go and gzip alone. The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
VERSION=$(cat "$root/VERSION")
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export VERSION SOURCE_DATE_EPOCH CGO_ENABLED=0 GOFLAGS=-trimpath

# The programs hold other modules and Go's own library: path, version and folder of each.
modules() {
  (cd .. && go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/...)
  echo "std $(go env GOVERSION) $(go env GOROOT)"
}

# Man pages and completions, which are the same for every machine.
pages="$root/build/packages/pages"
rm -rf "$pages"
mkdir -p "$pages"
for program in sallyctl sallyportd; do
  (cd .. && go run -tags pages -ldflags "-X main.version=$VERSION" "./cmd/$program" "$pages")
done
gzip -9n "$pages"/man*/*
export PAGES="$pages"

mkdir -p "$root/build/packages"
for ARCH in amd64 arm64 loong64; do
  export ARCH GOOS=linux GOARCH=$ARCH BUILD="$root/build/packages/$ARCH"
  tags=
  # gmsm's SM4 assembly for arm64 uses instructions that most such processors do not have.
  [ "$ARCH" != arm64 ] || tags=purego
  (cd .. && go build -tags "$tags" -ldflags "-s -w -X main.version=$VERSION" -o "$BUILD/" ./cmd/...)
  modules | sort -u | env -u GOOS -u GOARCH go run ./meta -version "$VERSION" -changelog "$root/CHANGELOG.md" -out "$BUILD"
  gzip -9nf "$BUILD/changelog"
  env -u GOOS -u GOARCH go tool nfpm package --config nfpm.yaml --packager deb --target "$root/build/packages/"
done
