#!/usr/bin/env bash
# The gate against this repository itself, with built programs and in a folder of its own: the mock engine against itself
# must pass, planted regressions must be found, and the real engine against itself must give the same bits.
#
#   tests/ci/gate_self.sh BIN     folder with nanobench and, for the last step, nanobench-train
set -euo pipefail

root=$(readlink -f -- "$(dirname -- "$(readlink -f -- "$0")")/../..")
bin=$(readlink -f -- "${1:?usage: tests/ci/gate_self.sh BIN}")
nanobench=$bin/nanobench
suites=$root/suites

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
export NANOBENCH_ROOT=$root NANOBENCH_DB=$folder/gate.db
unset NANOBENCH_ENGINE GITHUB_ACTIONS
cd -- "$folder"

say() { printf 'gate: %s\n' "$*" >&2; }

# expect CODE WHAT COMMAND...: the command's output is shown only when it ends otherwise.
expect() {
  local wanted=$1 what=$2 code=0 begin=$SECONDS
  shift 2
  "$@" >output.txt 2>&1 || code=$?
  if ((code != wanted)); then
    cat output.txt >&2
    say "$what: exit code $code, expected $wanted"
    exit 1
  fi
  say "$what: exit code $code, $((SECONDS - begin)) s"
}

# planted SETTINGS: mock_gate with other settings of the mock engine, as planted.json.
planted() {
  sed "s/\"steps\": 20/\"steps\": 20, $1/" "$suites/mock_gate.json" >planted.json
  ! cmp -s planted.json "$suites/mock_gate.json" || { say 'nothing was planted'; exit 1; }
}

mock=(--margin 'loss=0.002' --margin 'time=0.01' --quiet)
expect 0 'the mock engine against itself' \
  "$nanobench" gate "$suites/mock_gate.json" --baseline-suite "$suites/mock_gate.json" "${mock[@]}"
for effect in '"effect": 0.01' '"step_ms": 11' '"peak_bytes": 120000000'; do
  planted "$effect"
  expect 1 "planted $effect" "$nanobench" gate planted.json --baseline-suite "$suites/mock_gate.json" "${mock[@]}"
done

if [[ -x $bin/nanobench-train ]]; then
  expect 0 'nanobench-train against itself' "$nanobench" gate "$suites/smoke_gate.json" \
    --baseline-engine "$bin/nanobench-train" --only loss,cost --quiet --json
  if ! grep -q 'bit for bit' output.txt; then
    cat output.txt >&2
    say 'the losses of nanobench-train against itself differ'
    exit 1
  fi
else
  say "no nanobench-train in $bin: the real engine is not gated"
fi
