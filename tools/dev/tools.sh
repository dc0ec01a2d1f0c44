# shellcheck shell=bash
# Sourced: puts the tools of requirements.txt into .deps/dev of this checkout, and onto PATH. Fails where they cannot be had.
dev_root=$(readlink -f -- "$(dirname -- "${BASH_SOURCE[0]}")/../..")
dev_pins=$dev_root/tools/dev/requirements.txt
dev_tools=$dev_root/.deps/dev

if ! cmp -s "$dev_pins" "$dev_tools/requirements.txt"; then
  echo "installing $(grep -v '^#' "$dev_pins" | tr '\n' ' ')into $dev_tools" >&2
  rm -rf "$dev_tools"
  mkdir -p "$dev_tools"
  python3 -m venv --without-pip "$dev_tools"
  python3 -m pip --python "$dev_tools/bin/python" install -q --no-deps --disable-pip-version-check --root-user-action ignore -r "$dev_pins"
  cp "$dev_pins" "$dev_tools/requirements.txt"
fi
export PATH=$dev_tools/bin:$PATH
