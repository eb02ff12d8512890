#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests of the management, under the race detector where goroutines share most. With --long
# all of them without and under it, and each fuzz target for FUZZ_TIME, 60 s without it. What a
# target finds goes into testdata/fuzz of its package: commit it with the cure, and every later run
# of the tests tries it again.
set -euo pipefail
cd "$(dirname "$0")"

# Go counts the end of a target's time as a failure where it falls into a try; such a failure has
# found nothing.
fuzz() {
  local output
  output=$(go test -run '^$' -fuzz "^$1\$" -fuzztime "${FUZZ_TIME:-60s}" -fuzzminimizetime 1s "$2" 2>&1) && { echo "$1: nothing found"; return; }
  grep -q 'context deadline exceeded' <<< "$output" && ! grep -q 'Failing input' <<< "$output" || { echo "$output"; return 1; }
}

raced=(sallyport/mgmt/internal/{control,daemon,events,peer})
# The nodes of a cluster live by wall time, which a busy machine takes away: the long form alone.
patient=(sallyport/mgmt/internal/membership)

# `make lint` runs all of go vet, so the tests do not run a part of it again.
if [ "${1:-}" = --long ]; then
  go test -vet=off -timeout 30m ./...
else
  mapfile -t others < <(go list ./... | grep -vxFf <(printf '%s\n' "${raced[@]}" "${patient[@]}"))
  go test -vet=off -timeout 30m "${others[@]}"
  CGO_ENABLED=1 go test -race -vet=off -timeout 30m "${raced[@]}"
fi
(cd packaging && go test -vet=off ./meta)
[ "${1:-}" = --long ] || exit 0
# A million repetitions show it nothing that a thousand do not.
CGO_ENABLED=1 env -u SALLYPORT_USED_KEYS -u SALLYPORT_STATE_REKEYS -u SALLYPORT_EVERY_KILL go test -race -timeout 60m ./...
while read -r file; do
  for target in $(sed -nE 's/^func (Fuzz[A-Za-z]+)\(.*/\1/p' "$file"); do
    fuzz "$target" "$(dirname "$file")"
  done
done < <(grep -rlE '^func Fuzz' --include='*_test.go' . | sort)
