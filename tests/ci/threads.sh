#!/usr/bin/env bash
# The tests of what has threads, under the thread sanitizer: the kernels' pool, the watcher of GPUs, turns, the file of a
# run's progress. LibTorch and its threads are not instrumented and stay out.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/../.."
build=build/tsan
mkdir -p "$build"
if ! { cmake -S . --preset tsan && cmake --build "$build" --target threads_test -j "$(nproc)"; } >"$build/build.log" 2>&1; then
  grep -m 20 -A 5 'error' "$build/build.log" >&2 || tail -n 30 "$build/build.log" >&2
  exit 1
fi
# Without random addresses: some kernels spread them wider than the sanitizer's shadow.
TSAN_OPTIONS=halt_on_error=1 setarch "$(uname -m)" -R "$build/bin/threads_test" --gtest_brief=1
