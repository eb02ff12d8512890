#!/usr/bin/env bash
# scripts/test.sh [--long] [PART]: the tests of `make test`, or one part of them, and what they need built.
#
# make starts the parts in the order below and keeps every core busy; builds and tests of different parts
# overlap. The closing lines list the time of each part, every test that was skipped with its reason, and
# the number of parts that passed and failed.
set -uo pipefail
cd "$(dirname "$0")/.."
long=
[ "${1:-}" != --long ] || { long=1; shift; }
parts=(crypto boxes interface tester ike differential common boards daemon live lint management processors engine registers repo)
wanted=("${parts[@]}")
if [ -n "${1:-}" ]; then
  case " ${parts[*]} " in
    *" $1 "*) wanted=("$1") ;;
    *) echo "PART=$1: choose one of ${parts[*]}" >&2; exit 2 ;;
  esac
fi

rm -rf build/test
mkdir -p build/test
scripts/setup.sh || exit
start=$SECONDS
# mill serves one caller at a time, so one job more than there are cores.
make --no-print-directory -k "-j$(($(nproc) + 1))" CRYPTO=model LONG=$long "${wanted[@]/#/part-}"

passed=0
failed=0
<<<<<<< HEAD
printf '\n%-12s %8s\n' part seconds
for part in "${wanted[@]}"; do
  read -r result seconds 2>/dev/null <"build/test/$part.result" || { result="NOT RUN: its build failed" seconds=-; }
  printf '%-12s %8s %s\n' "$part" "$seconds" "$result"
  if [ "$result" = passed ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
printf '%-12s %8s with all builds\n' together $((SECONDS - start))
if cat build/test/*.log 2>/dev/null | grep -hE '^SKIPPED |!!! CANCELED !!!' >build/test/skipped; then
  printf '\nskipped:\n'
  sed 's/^/  /' build/test/skipped
fi
=======

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
part "front end and whole boxes (Python)" python -m pytest -q tests
part "boards, without Vivado" make --no-print-directory board-check
part "common" mill --no-daemon --ticker false common.test
part "interface FPGAs" mill --no-daemon --ticker false interface_fpga.test
part "crypto FPGA" mill --no-daemon --ticker false crypto_fpga.test

>>>>>>> 7c24003 (Make the Python side one package, installed as it lies here)
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
