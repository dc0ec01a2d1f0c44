"""The shared libraries of a bundle: what its programs need, except what LibTorch, CUDA, the driver and glibc provide."""

import os
import pathlib
import re
import subprocess

import elf

# Libraries that belong to the C library; a program can only use those of its machine.
GLIBC = re.compile(
    r"(ld-linux.*|libc|libm|libdl|libpthread|librt|libutil|libresolv|libmvec|libanl|libnsl|libBrokenLocale)\.so\.\d+"
)
# Libraries of the CUDA wheels that LibTorch needs, and of the driver.
CUDA = re.compile(
    r"(libcuda|libcudart|libcublas|libcublasLt|libcudnn\w*|libcufft\w*|libcufile\w*|libcupti|libcurand|libcusolver\w*"
    r"|libcusparse\w*|libnccl|libnvJitLink|libnvjitlink|libnvrtc[\w-]*|libnvshmem\w*|libnvToolsExt|libnvtx\w*"
    r"|libnvidia-[\w-]+)\.so(\.\d+)*"
)
# Libraries of the compiler: needed only if the machine's own are older, so they have their own folder.
COMPILER = re.compile(r"(libstdc\+\+|libgcc_s|libatomic)\.so\.\d+")
DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")


class LibraryError(Exception):
    """One sentence: which library is missing, and who needs it."""


def libtorch_names(folder):
    """File names in LibTorch's lib folder."""
    return {path.name for path in pathlib.Path(folder).glob("*.so*")}


def is_provided(name, torch_names):
    return name in torch_names or bool(GLIBC.fullmatch(name) or CUDA.fullmatch(name))


def system_libraries():
    """Path by name, from the loader's cache."""
    for program in ("ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"):
        try:
            text = subprocess.run([program, "-p"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            continue
        found = {}
        for line in text.splitlines():
            match = re.match(r"\s+(\S+) \(.*\) => (\S+)", line)
            if match and os.uname().machine.replace("_", "-") in line.replace("AArch64", "aarch64"):
                found.setdefault(match[1], match[2])
        return found
    return {}


def find_library(name, run_paths, origin, system):
    for folder in run_paths:
        path = pathlib.Path(folder.replace("${ORIGIN}", str(origin)).replace("$ORIGIN", str(origin))) / name
        if path.is_file():
            return path
    if name in system:
        return pathlib.Path(system[name])
    for folder in DEFAULT_FOLDERS:
        if (pathlib.Path(folder) / name).is_file():
            return pathlib.Path(folder) / name
    return None


def libraries_to_carry(programs, torch_names):
    """Path by name of every library that the ELF files `programs`, or what they need in turn, load beyond what is
    provided. Throws LibraryError, elf.NotElf."""
    system, carried = system_libraries(), {}
    waiting = [pathlib.Path(program) for program in programs]
    own_names = {path.name for path in waiting}
    while waiting:
        path = waiting.pop()
        dynamic = elf.read_dynamic(path)
        for name in dynamic.needed:
            if name in carried or name in own_names or is_provided(name, torch_names):
                continue
            found = find_library(name, dynamic.run_paths, path.resolve().parent, system)
            if found is None:
                raise LibraryError(f"{path} needs {name}, which is not on this machine; install it, then bundle again")
            carried[name] = found
            waiting.append(found)
    return carried
