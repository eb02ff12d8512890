#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formatters and linters of every language. With --fix the formatters rewrite the tree; without it
# any difference fails.
set -euo pipefail
cd "$(dirname "$0")/.."
fix=${1:-}
failed=0

# Runs one check and goes on, so that one call shows everything that is wrong.
check() {
  local name=$1
  shift
  if "$@"; then printf 'lint: %-15s ok\n' "$name"; else printf 'lint: %-15s FAILED\n' "$name"; failed=1; fi
}

go_format() {
  local wrong
  wrong=$(gofmt -l mgmt)
  [ -z "$wrong" ] || { echo "gofmt would change:"; echo "$wrong"; return 1; }
}

# Every source file says its licence in its first lines.
licences() {
  local missing
  missing=$(git ls-files '*.scala' '*.go' '*.py' '*.c' '*.cpp' '*.h' '*.rdl' '*.sh' '*.tcl' '*.js' ':!*uPlot*' |
    while read -r file; do head -n 5 "$file" | grep -qE "SPDX-License-Identifier: [A-Za-z0-9.-]+( \*/| -->)?$" || echo "$file"; done)
  [ -z "$missing" ] || { echo "no line with SPDX-License-Identifier, the licence and no more among the first five of:"; echo "$missing"; return 1; }
}

mapfile -t c_family < <(git ls-files '*.c' '*.cc' '*.h' '*.cpp')

if [ "$fix" = --fix ]; then
  mill --no-daemon --ticker false mill.scalalib.scalafmt/reformatAll >/dev/null
  ruff format -q . && ruff check -q --fix .
  gofmt -w mgmt
  [ ${#c_family[@]} = 0 ] || clang-format -i "${c_family[@]}"
fi
check scalafmt mill --no-daemon --ticker false mill.scalalib.scalafmt/checkFormatAll
check "ruff format" ruff format -q --check .
check "ruff check" ruff check -q .
check pyright pyright --warnings
check gofmt go_format
check "go vet" bash -c 'cd mgmt && go vet ./... && cd api/generate && go vet ./...'
check staticcheck bash -c 'cd mgmt && go tool staticcheck ./...'
[ ${#c_family[@]} = 0 ] || check clang-format clang-format --dry-run -Werror "${c_family[@]}"
check licences licences
check "comment columns" python scripts/comment_columns.py
check "comment words" python scripts/comment_words.py
check prose scripts/prose.sh
check "register drift" regs/generate.sh --check
check "API drift" mgmt/api/generate.sh --check
exit $failed
