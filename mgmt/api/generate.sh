#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Generates the Go files of the API from mgmt/api/sallyport/v1/sallyport.proto. With --check it
# writes nothing and fails where the committed files differ.
set -euo pipefail
cd "$(dirname "$0")"
. ../../scripts/env.sh
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
api=$PWD
(cd generate && go run . "$api" sallyport/v1/sallyport.proto "$fresh")
# The plugins copy comments of the .proto; each file says its licence first.
find "$fresh" -name '*.go' -exec sed -i '1{/SPDX/!s|^|// SPDX-License-Identifier: Apache-2.0\n\n|}' {} +
# The daemon has every method, so a server without any, which stands at the end, serves no program.
find "$fresh" -name '*.connect.go' -exec sed -i '/^\/\/ Unimplemented.*Handler returns /,$d; /^\terrors "errors"$/d' {} +
gofmt -w "$fresh"
if [ "${1:-}" = --check ]; then
  files() { (cd "$1" && find sallyport -name '*.go' | sort); }
  diff <(files .) <(files "$fresh") >&2 && diff -r -x '*.proto' sallyport "$fresh/sallyport" >&2 && exit 0
  echo "api: the committed files differ from sallyport.proto; run mgmt/api/generate.sh and commit the result" >&2
  exit 1
fi
cp -r "$fresh/sallyport" .
