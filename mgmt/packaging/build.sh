#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make build/packages/sallyport-mgmt_VERSION_ARCH.deb for each architecture: static programs,
# crossed by Go. Needs Go alone. The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
VERSION=$(cat "$root/VERSION")
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export VERSION SOURCE_DATE_EPOCH

# The programs hold other modules and Go's own library, whose licences ask to be handed on
# with them.
licences() {
  local module folder file
  cat "$root/LICENSE"
  { (cd .. && go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/...)
    echo "Go $(go env GOVERSION) $(go env GOROOT)"
  } | sort -u | while read -r module version folder; do
    for file in "$folder"/[Ll][Ii][Cc][Ee][Nn][Ss][Ee]* "$folder"/NOTICE*; do
      [ ! -f "$file" ] || { printf '\n\n== %s %s: %s\n\n' "$module" "$version" "${file##*/}"; cat "$file"; }
    done
  done
}

mkdir -p "$root/build/packages"
for ARCH in amd64 arm64 loong64; do
  export ARCH GOOS=linux GOARCH=$ARCH CGO_ENABLED=0 BUILD="$root/build/packages/$ARCH"
  tags=
  # gmsm's SM4 assembly for arm64 uses instructions that most such processors do not have.
  [ "$ARCH" != arm64 ] || tags=purego
  (cd .. && go build -trimpath -tags "$tags" -ldflags "-s -w -X main.version=$VERSION" -o "$BUILD/" ./cmd/...)
  licences > "$BUILD/copyright"
  env -u GOOS -u GOARCH go tool nfpm package --config nfpm.yaml --packager deb --target "$root/build/packages/"
done
