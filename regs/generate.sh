#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Generates files from regs/suites.yaml and regs/*.rdl: lists and tables in every language
# (committed; .gitattributes marks them), C headers, Markdown and HTML (build/regs). With --check it
# writes nothing and fails where the committed files differ.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
check=${1:-}

scala_dir=common/src/registers/map
go_dir=mgmt/internal/regs
cpp_dir=sim/engine/fuzz/registers
export_rdl() { peakrdl "$1" regs/sallyport.rdl "${@:2}"; }

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
(cd regs && python -m suite_list suites.yaml "$fresh")
gofmt -w "$fresh"/mgmt/internal/suite/*.go
# The registers include the list; a stale one in the tree is a difference like any other.
[ "$check" = --check ] || cp "$fresh/regs/suites.rdl" regs/
export_rdl scala -o "$fresh/$scala_dir"
export_rdl go -o "$fresh/$go_dir"
export_rdl cpp -o "$fresh/$cpp_dir"

# Files that say at their top that they are generated: committed ones and those that would be, so
# that a stale file is found.
folders=(common crypto_fpga docs mgmt regs sim)
generated() {
  (cd "$1" && find "${folders[@]}" -type f -not -name '*.py[co]' -not -name generate.sh \
    -exec awk 'FNR > 2 { nextfile } /[Gg]enerated by `?make regs/ { print FILENAME; nextfile }' {} + 2>/dev/null | sort)
}
marked() { git ls-files --cached --others --exclude-standard ':(attr:linguist-generated)' ':!mgmt/api' | sort; }

if [ "$check" = --check ]; then
  status=0
  diff <(generated .) <(generated "$fresh") >&2 || status=1
  for file in $(generated "$fresh"); do
    diff -u "$file" "$fresh/$file" >&2 || status=1
  done
  [ $status = 0 ] || echo "regs: the committed files differ from regs/*.rdl or regs/suites.yaml; run 'make regs' and commit the result" >&2
  diff <(marked) <(generated .) >&2 || { echo "regs: mark these files linguist-generated in .gitattributes" >&2; status=1; }
  exit $status
fi

for file in $(generated .); do rm "$file"; done
cp -r "$fresh"/* .

mkdir -p build/regs
for chip in inner crypto outer shell; do
  export_rdl c-header -t "${chip}_registers" -o "build/regs/sallyport_$chip.h" >/dev/null
done
export_rdl markdown -o build/regs/sallyport.md >/dev/null
export_rdl html -o build/regs/html >/dev/null
