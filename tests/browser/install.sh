#!/usr/bin/env bash
# What the tests of documents and pages need besides the program, by apt; nothing when all of it is there.
set -euo pipefail
packages=(tidy python3-html5lib python3-jsonschema python3-yaml cmark-gfm)
browser=no
for program in chromium chromium-browser google-chrome; do
  if command -v "$program" >/dev/null; then browser=yes; fi
done
if [[ $browser == no ]]; then packages+=(chromium); fi
exec "$(dirname -- "$0")/../ci/install.sh" --required 'the tests of documents and pages' "${packages[@]}"
