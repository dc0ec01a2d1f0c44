# shellcheck shell=bash disable=SC2034,SC2154 # build, whole_build_s and whole_steps come from others
# Sourced by tools/setup/build.sh: what a person sees of the set-up. Everything goes to stderr.
#
# On a terminal one line is redrawn, as `label  [####....]  rest`, like the line of a training run. Elsewhere a plain
# line comes for each tenth of the work.

is_on_terminal() { [[ -t 2 && ${TERM:-dumb} != dumb ]]; }

# A line of ours replaces the one that is redrawn.
clear_line() { if is_on_terminal; then printf '\r\033[K' >&2; fi; }

say() {
  clear_line
  printf 'nanobench: %s\n' "$*" >&2
}

fail() { # CODE SENTENCE
  say "$2"
  exit "$1"
}

# 45 s, 4 min: seconds below a minute and a half, else minutes, both rounded up.
time_text() { # SECONDS
  if (($1 < 90)); then printf '%d s' "$1"; else printf '%d min' $((($1 + 59) / 60)); fi
}

terminal_columns() {
  local size
  size=$(stty size <&2 2>/dev/null) || size=''
  size=${size#* }
  printf '%s' "$((${size:-0} > 0 ? size : 80))"
}

draw_bar() { # LABEL DONE TOTAL REST
  local places filled bar columns
  columns=$(terminal_columns)
  # The usual length of the rest, so that the bar's does not change with it.
  places=$((columns - ${#1} - (${#4} > 32 ? ${#4} : 32) - 7))
  places=$((places > 30 ? 30 : places))
  if ((places < 5)); then
    bar="$1  $4"
    printf '\r%s\033[K' "${bar:0:columns - 1}" >&2
    return
  fi
  filled=$((places * $2 / $3))
  printf -v bar '%*s' "$filled" ''
  printf -v places '%*s' $((places - filled)) ''
  printf '\r%s  [%s%s]  %s\033[K' "$1" "${bar// /#}" "${places// /.}" "$4" >&2
}

# Seconds until all steps are done. The pace counts once a tenth is done: first steps are long. Until then it is the estimate less
# what has passed; 0 if nobody knows.
seconds_left() { # DONE TOTAL SECONDS_SO_FAR ESTIMATE
  if (($1 * 10 >= $2)); then
    printf '%d' $((($3 * ($2 - $1) + $1 - 1) / $1))
  else
    printf '%d' $(($4 > $3 ? $4 - $3 : 0))
  fi
}

show_steps() { # DONE TOTAL BEGIN ESTIMATE
  local left rest
  left=$(seconds_left "$1" "$2" $((SECONDS - $3)) "$4")
  rest="$1/$2 steps"
  if ((left > 0)); then rest+="  $(time_text "$left") left"; fi
  if is_on_terminal; then
    draw_bar 'nanobench: build' "$1" "$2" "$(($1 * 100 / $2)) %  $rest"
  else
    say "  $rest"
  fi
}

# [DONE/ALL] TEXT, with NINJA_STATUS as build_targets sets it. Before its steps, ninja looks for new files and may configure
# again; what it counts then says nothing about the build.
readonly step_pattern='^\[([0-9]+)/([0-9]+)\] '
readonly own_step_pattern='^\[[0-9]+/[0-9]+\] Re-(checking globbed directories|running CMake)'

# Seconds for a build of so many steps; 0 if nobody knows.
estimate_for() { # STEPS
  if ((whole_steps > $1)); then printf '%d' $((whole_build_s * $1 / whole_steps)); else printf '%d' "$whole_build_s"; fi
}

# Reads ninja's output: its steps become the progress, what compilers say is passed on at once. All of it, with the command
# lines, goes to $build/build.log. The remaining time starts from that share of whole_build_s that the steps are of whole_steps.
show_build() {
  local line='' part='' done_steps=0 steps=0 estimate=0 shown=-1 begin=$SECONDS is_command=no code
  while true; do
    code=0
    IFS= read -r -t 1 part || code=$?
    line+=$part
    if ((code > 128)); then
      # Nothing came for a second: the remaining time still changes.
      if ((steps > 0)) && is_on_terminal; then show_steps "$done_steps" "$steps" "$begin" "$estimate"; fi
      continue
    fi
    if ((code != 0)) && [[ -z $line ]]; then break; fi
    printf '%s\n' "$line" >&7
    if [[ $line =~ $own_step_pattern ]]; then
      is_command=no
    elif [[ $line =~ $step_pattern ]]; then
      done_steps=${BASH_REMATCH[1]} steps=${BASH_REMATCH[2]} is_command=no
      estimate=$(estimate_for "$steps")
      if is_on_terminal || ((done_steps * 10 / steps > shown)); then
        shown=$((done_steps * 10 / steps))
        show_steps "$done_steps" "$steps" "$begin" "$estimate"
      fi
    elif [[ $is_command == yes ]]; then
      is_command=no
    elif [[ $line != --\ * && $line != ninja:\ Entering* && $line != ninja:\ no\ work* ]]; then
      if [[ $line == FAILED:* ]]; then is_command=yes; fi
      clear_line
      printf '%s\n' "$line" >&2
    fi
    line=''
  done 7>"$build/build.log"
  clear_line
}
