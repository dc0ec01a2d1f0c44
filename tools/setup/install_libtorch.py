#!/usr/bin/env python3
"""Puts LibTorch into a folder (.deps/ of the checkout) from the wheels pinned in libtorch.json.

    install_libtorch.py DEPS_FOLDER CACHE_FOLDER

Result: DEPS/torch and DEPS/nvidia side by side (libtorch_cpu.so looks for libcudart and libcupti in ../../nvidia), and
DEPS/libtorch.stamp, written last: it names the wheels, and only its presence means that the other two are complete.
Only what the engine needs is unpacked, with LibTorch's part for CUDA where nvcc is (for libnanobench_cuda.so); Python code
stays in the wheel.
Exit code 0: installed; 2: it says in one sentence why not; 130: interrupted.
"""

import fcntl
import json
import os
import pathlib
import platform
import re
import shutil
import sys
import time
import zipfile

from fetch_wheel import SetupError, fetch, run_setup, say
from pip_settings import read_pip_settings

UNPACKED_BYTES = 560 << 20  # of the x86_64 wheels, rounded up
WANTED = re.compile(
    r"torch/include/"
    r"|torch/lib/lib(?!torch_cuda|c10_cuda|torch_python|torch_nvshmem|torch_global_deps|caffe2_nvrtc|shm)[^/]*\.so"
    r"|nvidia/cu13/lib/lib(cudart|cupti)\.so"
)
CUDA_WANTED = re.compile(r"torch/lib/lib(torch_cuda|torch_cuda_linalg|c10_cuda|torch_nvshmem)\.so")
CUDA_BYTES = 520 << 20
LICENCE = re.compile(r"([A-Za-z_]+)-[^/]*\.dist-info/licenses/(.+)")


def main(deps, cache):
    pins = read_pins()
    if is_installed(deps, pins):
        return
    deps.mkdir(parents=True, exist_ok=True)
    cache.mkdir(parents=True, exist_ok=True)
    for leftover in deps.glob(".unpacking-*"):
        shutil.rmtree(leftover)
    with open(cache / "lock", "w") as lock:  # one cache may serve several checkouts
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another download into {cache} is running; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        check_space(deps, cache, pins)
        begin_s = time.monotonic()
        say(
            f"LibTorch {pins[0]['version']}: {sum(pin['bytes'] for pin in pins) >> 20} MB to download once, into {cache}"
        )
        settings = read_pip_settings()
        wheels = [fetch(pin, cache, settings) for pin in pins]
    say(f"LibTorch is here and verified after {time.monotonic() - begin_s:.0f} s; unpacking it")
    begin_s = time.monotonic()
    install(deps, wheels, pins)
    say(f"unpacked LibTorch into {deps} in {time.monotonic() - begin_s:.0f} s")


def read_pins():
    pins = json.loads((pathlib.Path(__file__).parent / "libtorch.json").read_text())
    machine = platform.machine()
    if machine not in pins or sys.platform != "linux":
        raise SetupError(
            f"there is no LibTorch {pins['version']} wheel for {sys.platform} {machine}: build or download LibTorch "
            "and name it, NANOBENCH_TORCH=/path/to/libtorch ./nanobench ..."
        )
    return pins[machine]


def wants_cuda():
    """Where CUDA kernels can be compiled. NANOBENCH_CUDA=ON or OFF decides otherwise."""
    choice = os.environ.get("NANOBENCH_CUDA", "AUTO").upper()
    if choice in ("ON", "OFF"):
        return choice == "ON"
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("nvcc") is not None or os.access(f"{toolkit}/bin/nvcc", os.X_OK)


def stamp_text(pins, has_cuda):
    return "".join(f"{pin['file']} {pin['sha256']}\n" for pin in pins) + ("with CUDA\n" if has_cuda else "")


def is_installed(deps, pins):
    stamp = deps / "libtorch.stamp"
    complete = (deps / "torch/lib/libtorch_cpu.so").exists() and (deps / "nvidia").is_dir()
    accepted = [stamp_text(pins, True)] + ([] if wants_cuda() else [stamp_text(pins, False)])
    return complete and stamp.is_file() and stamp.read_text() in accepted


def check_space(deps, cache, pins):
    missing = 0
    for pin in pins:
        for name in (pin["file"], pin["file"] + ".part"):
            if (cache / name).exists():
                missing -= (cache / name).stat().st_size
        missing += pin["bytes"]
    unpacked = UNPACKED_BYTES + (CUDA_BYTES if wants_cuda() else 0)
    same_disk = os.stat(deps).st_dev == os.stat(cache).st_dev
    for folder, needed in ((deps, unpacked + (max(missing, 0) if same_disk else 0)), (cache, missing)):
        free = shutil.disk_usage(folder).free
        if free < needed:
            raise SetupError(
                f"not enough disk space in {folder}: LibTorch needs {needed >> 20} MB, {free >> 20} MB are free; "
                "free some, or point XDG_CACHE_HOME to another disk"
            )


def install(deps, wheels, pins):
    """Unpacks beside the final place and renames; a stop before the last line leaves no stamp, so it is done again."""
    stamp = deps / "libtorch.stamp"
    stamp.unlink(missing_ok=True)
    fresh = deps / f".unpacking-{os.getpid()}"
    has_cuda = wants_cuda()
    for wheel in wheels:
        unpack(wheel, fresh, has_cuda)
    for name in ("torch", "nvidia", "licences"):
        if (deps / name).exists():
            (deps / name).rename(fresh / f"old-{name}")
        (fresh / name).rename(deps / name)
    shutil.rmtree(fresh)
    fresh_stamp = deps / "libtorch.stamp.new"
    fresh_stamp.write_text(stamp_text(pins, has_cuda))
    fresh_stamp.rename(stamp)


def unpack(wheel, folder, has_cuda):
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            licence = LICENCE.fullmatch(member.filename)
            if licence:
                member.filename = f"licences/{licence[1]}/{licence[2]}"
            elif member.is_dir() or not (
                WANTED.match(member.filename) or (has_cuda and CUDA_WANTED.fullmatch(member.filename))
            ):
                continue
            archive.extract(member, folder)


if __name__ == "__main__":
    run_setup(main, __doc__, "LibTorch")
