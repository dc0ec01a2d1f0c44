# shellcheck shell=bash disable=SC2154 # root, preset, build and programs come from ./nanobench
# Sourced by ./nanobench, which sets root, preset, build and programs: set-up and build, in stages that report what they
# do.
#
# Every stage may be stopped at any moment: it leaves either its finished result or a state that the next run repairs.
# One launcher at a time works on a checkout; the lock is released by the system even when its holder is killed.

source "$root/tools/setup/show.sh"
source "$root/tools/setup/packages.sh"
source "$root/tools/setup/first_use.sh"

# --- running tools -------------------------------------------------------------------------------------------------

child=''
shower=''
# A tool runs in the background of this shell, so that a signal to only the launcher also stops the tool at once.
run_tool() {
  "$@" </dev/null &
  child=$!
  wait_for_tool
}

wait_for_tool() {
  local code=0
  wait "$child" || code=$?
  child=''
  return "$code"
}

# Runs a tool with all of its output piped to one of our functions, and waits for both. Ctrl-C reaches every process of the
# terminal; the function goes on until the tool has ended.
run_shown() { # FUNCTION COMMAND...
  local code=0
  exec 8> >(trap '' INT TERM HUP && "$1" 9>&-)
  shower=$!
  "${@:2}" </dev/null >&8 2>&1 8>&- &
  child=$!
  exec 8>&-
  wait_for_tool || code=$?
  wait "$shower" || true
  shower=''
  return "$code"
}

stop() { # EXIT_CODE
  trap '' INT TERM HUP
  if [[ -n $child ]]; then
    kill -TERM "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  fi
  if [[ -n $shower ]]; then wait "$shower" 2>/dev/null || true; fi
  say 'interrupted; the same command continues from here'
  exit "$1"
}

take_lock() {
  if ! { mkdir -p "$root/.deps" && : >>"$root/.deps/lock"; } 2>/dev/null; then
    fail 2 "cannot write into $root: build as its owner, or clone the repository into a folder of your own"
  fi
  exec 9>>"$root/.deps/lock"
  trap 'stop 130' INT
  trap 'stop 143' TERM
  trap 'stop 129' HUP
  if ! flock -n 9; then
    say 'another ./nanobench is setting up or building here; waiting for it'
    run_tool flock 9
  fi
}

release_lock() {
  trap - INT TERM HUP
  exec 9>&-
}

# --- stage: LibTorch -----------------------------------------------------------------------------------------------

# Presets without the engine need no LibTorch.
needs_libtorch() { [[ $preset != asan && $preset != tsan && $preset != fuzz ]]; }

is_libtorch() {
  local place
  for place in "$1" "$1/torch" "$1/libtorch"; do
    if [[ -e $place/include/ATen/ATen.h && -e $place/lib/libtorch_cpu.so ]]; then return 0; fi
  done
  return 1
}

user_has_libtorch() {
  if [[ -n ${NANOBENCH_TORCH-} ]]; then
    is_libtorch "$NANOBENCH_TORCH" ||
      fail 2 "NANOBENCH_TORCH=$NANOBENCH_TORCH is not LibTorch: include/ATen/ATen.h and lib/libtorch_cpu.so are expected there"
    return 0
  fi
  local place
  while IFS= read -r -d : place; do
    if [[ -n $place ]] && is_libtorch "$place"; then return 0; fi
  done <<<"${CMAKE_PREFIX_PATH-}:"
  return 1
}

cache_folder() {
  local cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
  if [[ -n $cache ]] && mkdir -p "$cache/nanobench" 2>/dev/null && [[ -w $cache/nanobench ]]; then
    printf '%s' "$cache/nanobench"
  else
    printf '%s' "$root/.deps/cache"
  fi
}

install_libtorch() {
  if ! needs_libtorch || user_has_libtorch; then return 0; fi
  local cache
  cache=$(cache_folder)
  run_tool python3 -B "$root/tools/setup/install_libtorch.py" "$root/.deps" "$cache" || exit $?
}

# --- stage: chart library -------------------------------------------------------------------------------------------

has_charts() { [[ ${NANOBENCH_CHARTS:-ON} != OFF ]]; }

install_vl_convert() {
  if ! has_charts; then return 0; fi
  local cache
  cache=$(cache_folder)
  run_tool python3 -B "$root/tools/setup/install_vl_convert.py" "$root/.deps" "$cache" || exit $?
}

# --- stage: configure and build ------------------------------------------------------------------------------------

# With LibTorch's headers a compiler needs 2 GB, so memory limits the number of compilers as well as cores.
compile_jobs() {
  local cores memory_mb jobs
  cores=$(nproc)
  memory_mb=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
  jobs=$((memory_mb / 2048))
  jobs=$((jobs < cores ? jobs : cores))
  printf '%s' "${NANOBENCH_JOBS:-$((jobs > 0 ? jobs : 1))}"
}

configure() {
  local choices log=$build/configure.log begin=$SECONDS
  choices=$(printf '%s\n' "$root" "${NANOBENCH_TORCH-}" "${CMAKE_PREFIX_PATH-}" "${CXX-}" "${NANOBENCH_CHARTS:-ON}" \
    "${NANOBENCH_CUDA:-AUTO}" "$(cat "$root/.deps/libtorch.stamp" 2>/dev/null)")
  if [[ -e $build/build.ninja && -e $build/configured.stamp && $(<"$build/configured.stamp") == "$choices" ]]; then
    return 0
  fi
  # An interrupted configuration may have cached wrong answers, and a moved checkout has wrong paths.
  rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles/pkgRedirects" "$build/configured.stamp" "$build"/CMakeFiles/[0-9]*
  mkdir -p "$build"
  if ! run_tool cmake -S "$root" --preset "$preset" "-DNANOBENCH_TORCH=${NANOBENCH_TORCH-}" \
    "-DNANOBENCH_CHARTS=${NANOBENCH_CHARTS:-ON}" "-DNB_CUDA=${NANOBENCH_CUDA:-AUTO}" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    fail 2 "cmake could not configure $build: see the lines above, or all of its output in $log"
  fi
  printf '%s\n' "$choices" >"$build/configured.stamp"
  say "configured build/$preset in $((SECONDS - begin)) s"
}

build_targets() { # NAME TARGET
  local begin=$SECONDS name=$1 code=0
  usable_ccache
  whole_steps=0
  if ((whole_build_s > 0)); then whole_steps=$(steps_of "$2"); fi
  run_shown show_build env NINJA_STATUS='[%f/%t] ' ninja -C "$build" -j "$(compile_jobs)" "$2" || code=$?
  ((code == 0)) || fail 70 "the build of $name failed; the lines above say why$(memory_hint), and $build/build.log has them all"
  say "built $name in $((SECONDS - begin)) s"
}

memory_hint() {
  if grep -q 'Killed signal terminated program' "$build/build.log"; then
    printf ' (the memory was not enough: NANOBENCH_JOBS=1 compiles one source at a time)'
  fi
}

# ccache ends the build if it cannot write; without a home folder it has nowhere to write.
usable_ccache() {
  if [[ -z ${CCACHE_DIR-} && ( -z ${HOME-} || ! -w ${HOME-} ) ]]; then export CCACHE_DISABLE=1; fi
}

prepare() { # WHAT CORE_SECONDS NEXT
  take_lock
  find_missing_packages
  announce_first_use "$@"
  install_packages
  install_libtorch
  install_vl_convert
  configure
}

build_programs() { # NEXT
  prepare 'the programs' "$programs_core_s" "$1"
  local fingerprint
  fingerprint=$(sources_fingerprint)
  say "building the programs ($(compile_jobs) at once)"
  build_targets 'the programs' "$programs"
  # A program that a power cut leaves empty would pass for built.
  sync -f "$build/bin" 2>/dev/null || true
  local stamp
  for stamp in programs "$programs"; do
    printf '%s\n' "$fingerprint" >"$build/$stamp.stamp.new"
    mv "$build/$stamp.stamp.new" "$build/$stamp.stamp"
  done
  release_lock
}

# --- commands of the launcher itself -------------------------------------------------------------------------------

command_setup() {
  if [[ ${1-} == -h || ${1-} == --help ]]; then usage; fi
  (($# == 0)) || fail 2 "setup takes no arguments, got '$1'"
  build_programs 'this command ends'
  say "ready: $build/bin/nanobench"
}

command_bundle() {
  if [[ ${1-} == -h || ${1-} == --help ]]; then exec python3 -B "$root/tools/bundle/make_bundle.py" --help; fi
  needs_libtorch || fail 2 "the preset $preset builds no engine, and a bundle tests the engine; set NANOBENCH_PRESET=release"
  prepare 'what a bundle holds' "$everything_core_s" 'the bundle is made'
  say "building what a bundle holds ($(compile_jobs) at once)"
  build_targets 'the programs of the bundle' bundle_programs
  release_lock
  exec python3 -B "$root/tools/bundle/make_bundle.py" --build "$build" "$@"
}

command_wheel() {
  if [[ ${1-} == -h || ${1-} == --help ]]; then exec python3 -B "$root/tools/package/make_wheel.py" --help; fi
  needs_libtorch || fail 2 "the preset $preset builds no engine, and a wheel brings the engine; set NANOBENCH_PRESET=release"
  build_programs 'the wheel is made'
  exec python3 -B "$root/tools/package/make_wheel.py" --build "$build" "$@"
}

command_deb() {
  if [[ ${1-} == -h || ${1-} == --help ]]; then exec python3 -B "$root/tools/package/make_deb.py" --help; fi
  needs_libtorch || fail 2 "the preset $preset builds no engine, and a package brings the engine; set NANOBENCH_PRESET=release"
  build_programs 'the package is made'
  exec python3 -B "$root/tools/package/make_deb.py" --build "$build" "$@"
}

command_test() {
  if [[ ${1-} == -h || ${1-} == --help ]]; then usage; fi
  prepare 'the programs and the tests' "$everything_core_s" 'the tests run'
  say "building the programs and the tests ($(compile_jobs) at once)"
  build_targets 'everything' all
  release_lock
  cd -- "$root" || exit
  # Many tests wait for processes most of the time, so two per core; -j among ctest's arguments still wins.
  CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-${NANOBENCH_JOBS:-$((2 * $(nproc)))}}
  # LibTorch's threads spin while they wait: those of several tests at once would block each other.
  OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
  OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
  # Trainers of tests are started as python3: pyenv's is a script that takes far longer to start than the interpreter.
  PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
  export CTEST_PARALLEL_LEVEL OMP_NUM_THREADS OMP_WAIT_POLICY PATH
  exec ctest --preset "$preset" "$@"
}

usage() {
  sed -n '2,/^$/{/^#/!d; s/^# \{0,1\}//; p}' "$root/nanobench"
  exit 0
}
