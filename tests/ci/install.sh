#!/usr/bin/env bash
# What tests need beside the build, by apt; nothing when it is there.
#   install.sh WHAT PACKAGE...               left out, with a sentence, where this is not root or not Debian
#   install.sh --required WHAT PACKAGE...    fails there
set -euo pipefail
required=no
if [[ $1 == --required ]]; then
  required=yes
  shift
fi
what=$1
missing=()
for package in "${@:2}"; do
  if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then missing+=("$package"); fi
done
if ((${#missing[@]} == 0)); then exit 0; fi
if [[ $required == no ]] && { ((EUID != 0)) || ! command -v apt-get >/dev/null; }; then
  echo "left out: $what (it needs root, and Debian's ${missing[*]})" >&2
  exit 0
fi

log=$(mktemp)
trap 'rm -f -- "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
echo "installing for $what: ${missing[*]}" >&2
if ! { apt-get -q install -y --no-install-recommends "${missing[@]}" ||
  { apt-get -q update && apt-get -q install -y --no-install-recommends "${missing[@]}"; }; } >"$log" 2>&1; then
  tail -n 15 "$log" >&2
  exit 1
fi
