#!/bin/sh
# Checks nanobench on this machine with the files beside this one (README.md): a thin wrapper around gpu_check/, which
# runs in the interpreter that has torch: --python PROGRAM, else python3.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P) || exit 2
python=python3
previous=
for argument in "$@"; do
  case $previous in --python) python=$argument ;; esac
  case $argument in --python=*) python=${argument#--python=} ;; esac
  previous=$argument
done
if ! command -v "$python" >/dev/null 2>&1; then
  echo "gpu_check: there is no $python here; name an interpreter that has torch with --python PROGRAM" >&2
  exit 2
fi
if [ ! -f "$here/gpu_check/__main__.py" ]; then
  echo "gpu_check: the bundle $here is not whole: gpu_check/__main__.py is missing; copy it here again" >&2
  exit 2
fi
exec "$python" -B "$here/gpu_check" "$@"
