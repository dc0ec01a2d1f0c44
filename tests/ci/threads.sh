#!/usr/bin/env bash
# The tests of what has threads or signal handlers, under the thread sanitizer: the kernels' pool, the watcher of GPUs, the
# file of a run's progress, the runner alone, side by side, in turns and when it is interrupted. LibTorch and its threads
# are not instrumented and stay out.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/../.."
build=build/tsan
mkdir -p "$build"
if ! { cmake -S . --preset tsan && cmake --build "$build" --target threads_test fault_test -j "$(nproc)"; } >"$build/build.log" 2>&1; then
  grep -m 20 -A 5 'error' "$build/build.log" >&2 || tail -n 30 "$build/build.log" >&2
  exit 1
fi
# Without random addresses: some kernels spread them wider than the sanitizer's shadow.
export TSAN_OPTIONS=halt_on_error=1 GTEST_BRIEF=1
setarch "$(uname -m)" -R "$build/bin/threads_test"
# Runners wait more than they compute: several shares at once. Not by "&", with which they would ignore an interrupt.
export GTEST_TOTAL_SHARDS=4 GTEST_FILTER='*Runner*:*SideBySide*:*Turn*:*Pilot*:*Interrupt*-*ManyRunners*'
# shellcheck disable=SC2016 # the inner shell expands them
if ! seq 0 $((GTEST_TOTAL_SHARDS - 1)) | xargs -P "$GTEST_TOTAL_SHARDS" -I{} env GTEST_SHARD_INDEX={} \
  setarch "$(uname -m)" -R sh -c '"$0" >"$1" 2>&1' "$build/bin/fault_test" "$build/fault_{}.log"; then
  grep -h -B 2 -A 20 'Failure\|WARNING: ThreadSanitizer' "$build"/fault_*.log >&2
  exit 1
fi
grep -h '^\[  PASSED' "$build"/fault_*.log
