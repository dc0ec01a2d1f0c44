#!/bin/sh
# The first 25 minutes with a GPU that is lent by the minute, in three calls of gpu_check.sh that each end within ten minutes.
# What matters most comes first; every call stands alone and leaves its own file in OUT.
#
#   gpu_session.sh 1|2|3 OUT [OPTION...]     options of gpu_check.sh: --device cpu tries the plan without a GPU
#
#   1  is it right: programs and driver, tests of the kernels, golden cases, every record on GPU and CPU   560 s
#   2  is it fast: each kernel beside the libraries', whole steps beside PyTorch's compiled FlexAttention  560 s
#   3  does it answer: the history of records at scale official_brief, continued by the same call          380 s
set -eu
usage() {
  sed -n 's/^#   gpu_session/usage: gpu_session/p' "$0" >&2
  exit 2
}
[ $# -ge 2 ] || usage
call=$1 out=$2
shift 2
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
mkdir -p -- "$out"
case $call in
  1) exec "$here/gpu_check.sh" --parts environment,parity,records --budget 560 --out "$out/right.json" "$@" ;;
  2) exec "$here/gpu_check.sh" --parts micro,side_by_side --budget 560 --out "$out/fast.json" "$@" ;;
  3) exec "$here/gpu_check.sh" --parts history --budget 380 --out "$out/history.json" --work "$out/work" "$@" ;;
  *) usage ;;
esac
