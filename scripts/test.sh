#!/usr/bin/env bash
# Every test that needs neither Vivado nor a board, part by part; the closing line counts the parts.
set -uo pipefail
cd "$(dirname "$0")/.."
passed=0
failed=0

part() {
  local name=$1 start=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); printf '== %s FAILED\n' "$name"; fi
  printf '== %s: %d s\n' "$name" $((SECONDS - start))
}

part "management (Go)" bash -c 'cd mgmt && CGO_ENABLED=0 go test ./...'
part "management as arm64 and loong64 programs (Go, qemu)" mgmt/packaging/test.sh --quick
part "simulator (C++)" make --no-print-directory -C sim/engine test
part "registers (Python)" python -m pytest -q regs
part "front end and whole boxes (Python)" python -m pytest -q tests
part "boards, without Vivado" make --no-print-directory board-check
part "common" mill --no-daemon --ticker false common.test
part "interface FPGAs" mill --no-daemon --ticker false interface_fpga.test
part "crypto FPGA" mill --no-daemon --ticker false crypto_fpga.test

printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
