#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/test.sh [--long] [PART]: the tests of `make test`, or one part of them, and what they need
# built.
#
# make starts the parts in the order below and keeps every core busy; builds and tests of different
# parts overlap. The closing lines list every test that was skipped with its reason, and the time of
# each part, by the clock and of all processors that it used. The last ones say what failed in which
# part, and the number of parts that passed and failed.
set -uo pipefail
cd "$(dirname "$0")/.."
long= crypto=model all=1
[ "${1:-}" != --long ] || { long=1 crypto=both; shift; }
parts=(boxes tester ike differential fuzz boards shells daemon live crypto interface common lint formal management processors engine registers repo)
# Half an hour of one core, for figures that change with the RTL alone.
[ -z "$long" ] || parts+=(route)
wanted=("${parts[@]}")
if [ -n "${1:-}" ]; then
  case " ${parts[*]} " in
    *" $1 "*) wanted=("$1") all= ;;
    *) echo "PART=$1: choose one of ${parts[*]}" >&2; exit 2 ;;
  esac
fi

rm -rf build/test
mkdir -p build/test
[ -n "$all" ] || scripts/setup.sh || exit
start=$SECONDS
# Tests wait for their simulations and for sockets, so one job more than there are cores.
TIMEFORMAT='%U %S'
{ time make --no-print-directory -k "-j$(($(nproc) + 1))" CRYPTO="$crypto" LONG=$long ALL=$all "${wanted[@]/#/part-}" 2>&4; } \
  4>&2 2>build/test/time
# No part runs without its set-up, which has said why it failed.
compgen -G 'build/test/*.result' >/dev/null || scripts/setup.sh >/dev/null 2>&1 || exit

if cat build/test/*.log 2>/dev/null | grep -hE '^SKIPPED |!!! CANCELED !!!' >build/test/skipped; then
  printf '\nskipped:\n'
  sed 's/^/  /' build/test/skipped
fi
failed=()
printf '\n%-12s %8s %13s\n' part seconds 'of processors'
for part in "${wanted[@]}"; do
  read -r result seconds used 2>/dev/null <"build/test/$part.result" ||
    { result="NOT RUN: its build failed" seconds=- used=-; }
  printf '%-12s %8s %13s %s\n' "$part" "$seconds" "$used" "$result"
  [ "$result" = passed ] || failed+=("$part")
done
printf '%-12s %8s %13.0f with all builds\n' together $((SECONDS - start)) "$(awk '{ print $1 + $2 }' build/test/time)"
# The failures come last: a record of CI may keep only the end of the output.
if [ ${#failed[@]} != 0 ]; then
  printf '\nfailed:\n'
  for part in "${failed[@]}"; do
    scripts/failures.sh "build/test/$part.log"
  done | sed 's/^/  /'
fi
printf '\n%d passed, %d failed%s\n' $((${#wanted[@]} - ${#failed[@]})) ${#failed[@]} "${failed[*]:+: ${failed[*]}}"
[ ${#failed[@]} = 0 ]
