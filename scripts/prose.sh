#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the prose of every Markdown file by Vale, with the rules in styles/Sallyport. Vale is a Go
# program, built once into .tools: PyPI's package downloads its binary from elsewhere when it
# first runs.
set -euo pipefail
cd "$(dirname "$0")/.."
version=3.22.0
vale=.tools/vale-$version/vale
if [ ! -x "$vale" ]; then
  echo "prose: building Vale $version into .tools, once" >&2
  # Its parsers are in C.
  CGO_ENABLED=1 GOBIN=$PWD/.tools/vale-$version go install "github.com/vale-cli/vale/v3/cmd/vale@v$version"
fi
mapfile -t pages < <(git ls-files '*.md')
"$vale" --output=line "${pages[@]}"
