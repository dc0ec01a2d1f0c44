#!/usr/bin/env bash
# Chromium for the tests of this folder, by apt; nothing when there is one.
set -euo pipefail
for program in chromium chromium-browser google-chrome; do
  if command -v "$program" >/dev/null; then exit 0; fi
done
log=$(mktemp)
trap 'rm -f -- "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
echo 'installing Chromium for the tests of HTML reports' >&2
if ! { apt-get -q install -y --no-install-recommends chromium ||
  { apt-get -q update && apt-get -q install -y --no-install-recommends chromium; }; } >"$log" 2>&1; then
  tail -n 15 "$log" >&2
  exit 1
fi
