#!/usr/bin/env bash
# Formats C++, CUDA and Python sources with the pinned tools (requirements.txt), and checks Python with ruff.
#   tools/dev/format.sh               formats every source that git does not ignore
#   tools/dev/format.sh --check       changes nothing, and fails where something would change
#   tools/dev/format.sh --check FILE...    the same for these files alone
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/../.."
source tools/dev/tools.sh

check=no
if [[ ${1-} == --check ]]; then
  check=yes
  shift
fi
sources() { # PATTERN...: files of these patterns that git does not ignore, of the named ones if there are any; NUL-separated
  git ls-files -z --cached --others --exclude-standard --deduplicate -- "$@" | while IFS= read -r -d '' file; do
    if [[ ${#named[@]} -eq 0 || -n ${named[$file]-} ]]; then printf '%s\0' "$file"; fi
  done
}
declare -A named=()
for file in "$@"; do named[$file]=1; done

cpp=(--style=file) python=(format --quiet) rules=(check --quiet --fix)
if [[ $check == yes ]]; then
  cpp+=(--dry-run -Werror) python+=(--diff) rules=(check --quiet)
else
  cpp+=(-i)
fi
sources '*.cpp' '*.h' '*.cu' '*.cuh' '*.inl' | xargs -0 -r -P 2 -n 200 clang-format "${cpp[@]}"
# tests/peers/compare is Python without a suffix.
sources '*.py' tests/peers/compare | xargs -0 -r ruff "${python[@]}"
sources '*.py' tests/peers/compare | xargs -0 -r ruff "${rules[@]}"
