# shellcheck shell=bash disable=SC2154 # root comes from ./nanobench
# Sourced by tools/setup/build.sh: what the system must provide, and which Debian packages provide it.
#
# An item counts as present if its file is found, however it was installed; a package that dpkg has not finished does
# not.

# PACKAGE KIND NAME: kind command (on PATH) or header (in an include folder).
readonly required_packages='
g++                 command c++
cmake               command cmake
python3             command python3
ninja-build         command ninja
ccache              command ccache
nlohmann-json3-dev  header  nlohmann/json.hpp
libcli11-dev        header  CLI/CLI.hpp
libsqlite3-dev      header  sqlite3.h
libbenchmark-dev    header  benchmark/benchmark.h
libgtest-dev        header  gtest/gtest.h
libboost-math-dev   header  boost/math/distributions/students_t.hpp
libxxhash-dev       header  xxhash.h'

has_header() {
  local folder folders
  IFS=: read -r -a folders <<<"/usr/include:/usr/local/include:${CPATH-}:${CPLUS_INCLUDE_PATH-}"
  while IFS= read -r -d : folder; do
    if [[ -n $folder ]]; then folders+=("$folder/include"); fi
  done <<<"${CMAKE_PREFIX_PATH-}:"
  for folder in "${folders[@]}"; do
    if [[ -n $folder && -e $folder/$1 ]]; then return 0; fi
  done
  return 1
}

# True if dpkg knows the package but an interruption left it half installed.
is_unfinished() {
  command -v dpkg-query >/dev/null || return 1
  local status
  status=$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) || return 1
  [[ $status != installed && $status != not-installed && $status != config-files ]]
}

missing_packages() {
  local package kind name present
  while read -r package kind name; do
    [[ -n $package ]] || continue
    present=no
    case $kind in
      command) if command -v "$name" >/dev/null; then present=yes; fi ;;
      header) if has_header "$name"; then present=yes; fi ;;
    esac
    if [[ $name == c++ && -n ${CXX-} ]]; then present=yes; fi
    if [[ $present == no ]] || is_unfinished "$package"; then printf '%s ' "$package"; fi
  done <<<"$required_packages"
  # pip is needed for the package index, unless everything from there is already here or provided by the user.
  if needs_wheels && ! python3 -c 'import pip' 2>/dev/null; then printf 'python3-pip'; fi
}

wants_libtorch_wheels() { needs_libtorch && ! user_has_libtorch && [[ ! -e $root/.deps/libtorch.stamp ]]; }
wants_chart_wheel() { has_charts && [[ ! -e $root/.deps/vl_convert/stamp ]]; }
needs_wheels() { wants_libtorch_wheels || wants_chart_wheel; }

# Sets `missing`, `by_hand` and `become_root`; ends with one sentence if a package is missing that cannot be installed here.
find_missing_packages() {
  become_root=()
  missing=$(missing_packages)
  missing=${missing% }
  if [[ -z $missing ]]; then return 0; fi
  by_hand="apt-get install -y --no-install-recommends $missing"
  if ! command -v apt-get >/dev/null; then
    fail 2 "missing on this system (named as Debian packages): $missing; install what provides them, then run this again"
  fi
  if ((EUID != 0)); then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      become_root=(sudo -n)
    else
      fail 2 "Debian packages are missing; run this, then the same command again: sudo $by_hand"
    fi
  fi
}

install_packages() {
  local begin=$SECONDS
  if [[ -z $missing ]]; then return 0; fi
  say "installing Debian packages: $missing"
  # shellcheck disable=SC2086 # the list is meant to be split
  if ! install_by_apt $missing; then
    tail -n 15 "$root/.deps/apt.log" >&2 || true
    fail 2 "apt-get could not install the packages (all of its output: $root/.deps/apt.log); run this by hand: $by_hand"
  fi
  local still
  still=$(missing_packages)
  still=${still% }
  if [[ -z $still ]]; then
    say "installed them in $((SECONDS - begin)) s"
  else
    # Somebody removed files of a package, which apt takes for installed.
    say "apt-get ended well, but this is still missing: $still; apt-get install --reinstall $still brings it again"
  fi
}

# First a plain installation; then again with fresh package lists and after repairing an interrupted one.
install_by_apt() {
  : >"$root/.deps/apt.log"
  if [[ -n $(find /var/lib/apt/lists -maxdepth 1 -name '*Packages*' -print -quit 2>/dev/null) ]]; then
    if apt_get install -y --no-install-recommends "$@"; then return 0; fi
  fi
  say '  refreshing the package lists'
  apt_get update || true
  as_root dpkg --configure -a || true
  say '  downloading and installing'
  apt_get install -y --no-install-recommends "$@"
}

apt_get() { as_root apt-get -q -o DPkg::Lock::Timeout=600 "$@"; }

as_root() {
  run_shown show_packages "${become_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
}

# Writes all of apt's lines to the log, and shows one every ten seconds.
show_packages() {
  local line next=$((SECONDS + 10))
  while IFS= read -r line; do
    printf '%s\n' "$line"
    if ((SECONDS >= next)); then
      say "  ${line:0:100}"
      next=$((SECONDS + 10))
    fi
  done >>"$root/.deps/apt.log"
}
