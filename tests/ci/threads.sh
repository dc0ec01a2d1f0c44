#!/usr/bin/env bash
# The tests of what has threads, under the thread sanitizer: the kernels' pool, the watcher of GPUs, the file of a run's
# progress. LibTorch and its threads are not instrumented and stay out.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/../.."
build=build/tsan
mkdir -p "$build"
if ! { cmake -S . --preset tsan && cmake --build "$build" --target engine_kernels_test core_test suites_test -j "$(nproc)"; } >"$build/build.log" 2>&1; then
  grep -m 20 -A 5 'error' "$build/build.log" >&2 || tail -n 30 "$build/build.log" >&2
  exit 1
fi

# Without random addresses: some kernels spread them wider than the sanitizer's shadow.
run() { # PROGRAM FILTER
  TSAN_OPTIONS=halt_on_error=1 setarch "$(uname -m)" -R "$build/bin/$1" --gtest_brief=1 --gtest_filter="$2"
}
run engine_kernels_test '*Thread*:*Pool*:*AnyThreads*:Dispatch*'
run core_test '*Gpu*:*Processors*'
run suites_test 'SlurmProgress*'
