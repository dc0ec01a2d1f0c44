#!/usr/bin/env bash
# What the tests of documents and pages need besides the program, by apt; nothing when all of it is there.
set -euo pipefail
packages=(tidy python3-html5lib python3-jsonschema cmark-gfm)
missing=()
browser=no
for program in chromium chromium-browser google-chrome; do
  if command -v "$program" >/dev/null; then browser=yes; fi
done
if [[ $browser == no ]]; then missing+=(chromium); fi
for package in "${packages[@]}"; do
  if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then missing+=("$package"); fi
done
if ((${#missing[@]} == 0)); then exit 0; fi

log=$(mktemp)
trap 'rm -f -- "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
echo "installing for the tests of documents and pages: ${missing[*]}" >&2
if ! { apt-get -q install -y --no-install-recommends "${missing[@]}" ||
  { apt-get -q update && apt-get -q install -y --no-install-recommends "${missing[@]}"; }; } >"$log" 2>&1; then
  tail -n 15 "$log" >&2
  exit 1
fi
