# shellcheck shell=bash disable=SC2034,SC2154 # root, preset, build and programs come from ./nanobench
# Sourced by tools/setup/build.sh: what a first use is about to do, and how long that takes.

# Seconds that one compiler would need, rounded. Measured: the programs took 342 to 352 s with two at once; everything
# takes 2.6 times as long, by the sum of its steps in ninja's log.
readonly programs_core_s=700
readonly everything_core_s=1820
readonly shortest_build_s=60 # the largest source and the links come one after the other
readonly download_mb_per_s=10
readonly packages_s=60
readonly configure_s=10
readonly unpack_s=30

is_first_use() { [[ ! -x $build/bin/nanobench || -n ${missing-} ]] || needs_wheels; }

megabytes_to_download() { # PINS_FILE: those of this machine type that are not in the cache
  local cache file bytes sum=0
  cache=$(cache_folder)
  while read -r bytes file; do
    if [[ ! -e $cache/$file ]]; then sum=$((sum + bytes)); fi
  done < <(awk -v machine="\"$HOSTTYPE\":" -F '[ ,]+' '
    $2 ~ /^"[a-z0-9_]+":$/ && $3 == "[" { here = $2 == machine }
    here && $2 == "\"file\":" { gsub("\"", "", $3); file = $3 }
    here && $2 == "\"bytes\":" { print $3, file }' "$root/tools/setup/$1")
  printf '%d' $((sum >> 20))
}

build_seconds() { # CORE_SECONDS
  local seconds=$(($1 / $(compile_jobs)))
  printf '%d' $((seconds > shortest_build_s ? seconds : shortest_build_s))
}

# A build that was begun may need less than a whole one; only ninja finds out how much less.
bound() { if [[ -e $build/.ninja_log ]]; then printf 'at most'; else printf 'about'; fi; }

plan_line() { # SECONDS TEXT [BOUND]
  say "  - $2: ${3:-about} $(time_text "$1")"
  planned_s=$((planned_s + $1))
}

plan_packages() {
  if [[ -n $missing ]]; then plan_line "$packages_s" "install Debian packages, $missing"; fi
}

plan_wheels() {
  local megabytes=0
  if wants_libtorch_wheels; then megabytes=$(megabytes_to_download libtorch.json); fi
  if wants_chart_wheel; then megabytes=$((megabytes + $(megabytes_to_download vl_convert.json))); fi
  if ((megabytes > 0)); then
    plan_line $((megabytes / download_mb_per_s + 1)) "download $megabytes MB into $(cache_folder), at $download_mb_per_s MB/s"
  fi
  if needs_wheels; then plan_line "$unpack_s" "unpack LibTorch and the chart library into $root/.deps"; fi
}

plan_build() { # WHAT CORE_SECONDS
  local seconds rest=''
  seconds=$(build_seconds "$2")
  if [[ -e $build/.ninja_log ]]; then rest='the rest of '; fi
  if [[ $programs == programs_with_gpu ]]; then rest+='the GPU plugin and '; fi
  plan_line $((seconds + configure_s)) "build $rest$1 in build/$preset, $(compile_jobs) compilers at once" "$(bound)"
}

# Steps of a build of the target from the beginning; 0 if ninja does not say.
steps_of() { # TARGET
  local commands=()
  mapfile -t commands < <(ninja -C "$build" -t commands "$1" 2>/dev/null)
  printf '%d' "${#commands[@]}"
}

# Prints nothing where only sources changed. Sets whole_build_s, the estimate for a build from the beginning; 0 if this is no
# first use.
announce_first_use() { # WHAT CORE_SECONDS NEXT
  local planned_s=0 what='first use of this checkout'
  whole_build_s=0
  if ! is_first_use; then return 0; fi
  whole_build_s=$(build_seconds "$2")
  if [[ -x $build/bin/nanobench ]]; then what='something is missing here'; fi
  say "$what; these steps are done once, and nothing is asked:"
  plan_packages
  plan_wheels
  plan_build "$1" "$2"
  say "then $3; $(bound) $(time_text "$planned_s") until then. Stop it whenever you like: the same command continues."
}
