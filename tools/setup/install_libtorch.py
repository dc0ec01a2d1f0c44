#!/usr/bin/env python3
"""Puts LibTorch into a folder (.deps/ of the checkout) from the wheels pinned in libtorch.json.

    install_libtorch.py DEPS_FOLDER CACHE_FOLDER

Result: DEPS/torch and DEPS/nvidia side by side (libtorch_cpu.so looks for libcudart and libcupti in ../../nvidia), and
DEPS/libtorch.stamp, written last: it names the wheels, and only its presence means that the other two are complete.
Only what the engine needs is unpacked, with LibTorch's part for CUDA where nvcc is (for libnanobench_cuda.so); Python code
stays in the wheel.
Exit code 0: installed; 2: one sentence on stderr says why not; 130: interrupted.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import time
from collections.abc import Callable

from progress import Progress, say
from wheels import Pin, bytes_to_download, check_space, fetch, read_pins, run_setup, unpack, unpacked_size

UNPACKED_BYTES = 560 << 20  # size of the x86_64 wheels, rounded up
WANTED = re.compile(
    r"torch/include/"
    r"|torch/lib/lib(?!torch_cuda|c10_cuda|torch_python|torch_nvshmem|torch_global_deps|caffe2_nvrtc|shm)[^/]*\.so"
    r"|nvidia/cu13/lib/lib(cudart|cupti)\.so"
)
CUDA_WANTED = re.compile(r"torch/lib/lib(torch_cuda|torch_cuda_linalg|c10_cuda|torch_nvshmem)\.so")
CUDA_BYTES = 520 << 20
LICENCE = re.compile(r"([A-Za-z_]+)-[^/]*\.dist-info/licenses/(.+)")
OTHERWISE = "build or download LibTorch, and name it by NANOBENCH_TORCH=/path/to/libtorch"


def main(deps: pathlib.Path, cache: pathlib.Path) -> None:
    pins, _ = read_pins("libtorch.json", "LibTorch", OTHERWISE)
    if is_installed(deps, pins):
        return
    deps.mkdir(parents=True, exist_ok=True)
    cache.mkdir(parents=True, exist_ok=True)
    for leftover in deps.glob(".unpacking-[0-9]*"):
        shutil.rmtree(leftover)
    unpacked = UNPACKED_BYTES + (CUDA_BYTES if wants_cuda() else 0)
    check_space({deps: unpacked, cache: bytes_to_download(pins, cache)}, "LibTorch")
    wheels = fetch(pins, cache, "LibTorch")
    begin_s = time.monotonic()
    say("unpacking LibTorch")
    install(deps, wheels, pins)
    say(f"unpacked LibTorch into {deps} in {time.monotonic() - begin_s:.0f} s")


def wants_cuda() -> bool:
    """Whether CUDA kernels can be compiled. NANOBENCH_CUDA=ON or OFF overrides."""
    choice = os.environ.get("NANOBENCH_CUDA", "AUTO").upper()
    if choice in ("ON", "OFF"):
        return choice == "ON"
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("nvcc") is not None or os.access(f"{toolkit}/bin/nvcc", os.X_OK)


def stamp_text(pins: list[Pin], has_cuda: bool) -> str:
    return "".join(f"{pin['file']} {pin['sha256']}\n" for pin in pins) + ("with CUDA\n" if has_cuda else "")


def is_installed(deps: pathlib.Path, pins: list[Pin]) -> bool:
    stamp = deps / "libtorch.stamp"
    complete = (deps / "torch/lib/libtorch_cpu.so").exists() and (deps / "nvidia").is_dir()
    accepted = [stamp_text(pins, True)] + ([] if wants_cuda() else [stamp_text(pins, False)])
    return complete and stamp.is_file() and stamp.read_text() in accepted


def install(deps: pathlib.Path, wheels: list[pathlib.Path], pins: list[Pin]) -> None:
    """Unpacks beside the final place and renames. A stop before the last line leaves no stamp, so it is redone."""
    stamp = deps / "libtorch.stamp"
    stamp.unlink(missing_ok=True)
    fresh = deps / f".unpacking-{os.getpid()}"
    has_cuda = wants_cuda()

    def place_of(name: str) -> str | None:
        licence = LICENCE.fullmatch(name)
        if licence:
            return f"licences/{licence[1]}/{licence[2]}"
        return name if WANTED.match(name) or (has_cuda and CUDA_WANTED.fullmatch(name)) else None

    unpack_all(wheels, fresh, place_of)
    for name in ("torch", "nvidia", "licences"):
        if (deps / name).exists():
            (deps / name).rename(fresh / f"old-{name}")
        (fresh / name).rename(deps / name)
    shutil.rmtree(fresh)
    os.sync()  # after a power cut, no stamp vouches for files that never reached the disk
    fresh_stamp = deps / "libtorch.stamp.new"
    fresh_stamp.write_text(stamp_text(pins, has_cuda))
    fresh_stamp.rename(stamp)


def unpack_all(wheels: list[pathlib.Path], folder: pathlib.Path, place_of: Callable[[str], str | None]) -> None:
    sizes = [unpacked_size(wheel, place_of) for wheel in wheels]
    progress = Progress("unpacking LibTorch", sum(sizes))
    for number, wheel in enumerate(wheels):
        before = sum(sizes[:number])
        unpack(wheel, folder, place_of, lambda unpacked, before=before: progress.show(before + unpacked))
    progress.close()


if __name__ == "__main__":
    run_setup(main, __doc__, "LibTorch")
