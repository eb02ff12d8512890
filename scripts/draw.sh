#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draws docs/drawings/*.dot as SVG by Graphviz (Debian's package graphviz). The SVG files are
# committed, because a forge shows them without any tool; each ends with its source's checksum,
# which tests/repo/test_drawings.py compares.
set -euo pipefail
cd "$(dirname "$0")/../docs/drawings"
command -v neato >/dev/null || { echo "draw.sh: neato is missing; install Debian's package graphviz" >&2; exit 2; }
for source in *.dot; do
  drawing=${source%.dot}.svg
  neato -n2 -Tsvg "$source" -o "$drawing"
  echo "<!-- $source $(sha256sum "$source" | cut -d' ' -f1) -->" >> "$drawing"
done
