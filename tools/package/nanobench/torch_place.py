"""Where LibTorch is: NANOBENCH_TORCH, else an installed torch of the same series, else the download in the cache.

The series ("2.11") comes from setup/libtorch.json, which names what the engine was built with. torch is never imported: that
takes seconds, and only the place of its libraries matters.
"""

import dataclasses
import fcntl
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

from nanobench.problems import Refused, say

SETUP = pathlib.Path(__file__).resolve().parent / "setup"
LIBRARY = "libtorch_cpu.so"
VERSION_HEADERS = ("include/torch/headeronly/version.h", "include/torch/version.h")


@dataclasses.dataclass(frozen=True)
class Place:
    libraries: pathlib.Path  # the folder with libtorch_cpu.so
    origin: str  # how it was found, as a phrase
    passed_over: str = ""  # why an installed torch is not used, as a sentence; empty if there is none

    def sentence(self):
        return f"LibTorch: {self.libraries.parent}, {self.origin}" + (self.passed_over and f"; {self.passed_over}")


def cache_folder():
    """$XDG_CACHE_HOME/nanobench, else ~/.cache/nanobench, made if need be. Throws Refused if neither is named, OSError."""
    named = os.environ.get("XDG_CACHE_HOME")
    home = os.environ.get("HOME")
    if not named and not home:
        raise Refused("neither XDG_CACHE_HOME nor HOME is set; set one, because LibTorch and the engine are kept there")
    folder = (pathlib.Path(named) if named else pathlib.Path(home) / ".cache").absolute() / "nanobench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def wanted_version():
    return json.loads((SETUP / "libtorch.json").read_text())["version"]


def series_of(version):
    return ".".join(version.split("+")[0].split(".")[:2])


def version_in(folder):
    """What LibTorch's header says ("2.11.0"); None without the header."""
    for name in VERSION_HEADERS:
        try:
            text = (folder / name).read_text()
        except OSError:
            continue
        parts = [re.search(rf"#define TORCH_VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
        if all(parts):
            return ".".join(part[1] for part in parts)
    return None


def named_place(named):
    """The LibTorch of NANOBENCH_TORCH; a name that leads to none is never ignored. Throws Refused."""
    wanted = wanted_version()
    for folder in (pathlib.Path(named), pathlib.Path(named) / "torch", pathlib.Path(named) / "libtorch"):
        if not (folder / "lib" / LIBRARY).is_file():
            continue
        found = version_in(folder)
        if found and series_of(found) != series_of(wanted):
            raise Refused(
                f"NANOBENCH_TORCH={named} is LibTorch {found}, but the engine needs {series_of(wanted)}; name another or unset it"
            )
        return Place((folder / "lib").absolute(), "named by NANOBENCH_TORCH")
    raise Refused(
        f"NANOBENCH_TORCH={named} is not LibTorch: there is no lib/{LIBRARY}; name another folder or unset it"
    )


def installed_place():
    """(Place of a torch that this Python has, or None; why there is none, or "")."""
    try:
        torch = importlib.metadata.distribution("torch")
    except importlib.metadata.PackageNotFoundError:
        return None, ""
    wanted = series_of(wanted_version())
    libraries = pathlib.Path(str(torch.locate_file("torch/lib"))).absolute()
    if series_of(torch.version) != wanted:
        return None, f"the installed torch {torch.version} is passed over, because the engine needs {wanted}"
    if not (libraries / LIBRARY).is_file():
        return None, f"the installed torch {torch.version} is passed over, because it has no {libraries / LIBRARY}"
    return Place(libraries, f"the installed torch {torch.version}"), ""


def _fetch(folder, cache):
    """Has setup/install_libtorch.py complete the folder, one process at a time. Throws Refused with its exit code."""
    with open(cache / f"{folder.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        words = [sys.executable, "-B", str(SETUP / "install_libtorch.py"), str(folder), str(cache)]
        # LibTorch's part for GPUs would need CUDA's libraries too; an installed torch brings both.
        done = subprocess.run(words, env={**os.environ, "NANOBENCH_CUDA": "OFF"}, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Refused("", done.returncode)  # it has said why


def find(may_download):
    """The LibTorch to use. Without `may_download`: None unless it is here already. Throws Refused, OSError."""
    named = os.environ.get("NANOBENCH_TORCH")
    if named:
        return named_place(named)
    installed, passed_over = installed_place()
    if installed:
        return installed
    cache = cache_folder()
    folder = cache / f"libtorch-{wanted_version()}"
    is_here = (folder / "libtorch.stamp").is_file()
    if may_download:
        if passed_over and not is_here:
            say(passed_over)
        if not is_here and importlib.util.find_spec("pip") is None:
            raise Refused(
                f"LibTorch is not here, and this Python has no pip to download it: install pip or torch {wanted_version()} "
                "there, or name a LibTorch with NANOBENCH_TORCH"
            )
        _fetch(folder, cache)
    elif not is_here:
        return None
    return Place(folder / "torch" / "lib", "downloaded from the package index", passed_over)


def say_once(place, cache):
    """Says which LibTorch is used, at the first use and whenever it changes."""
    sentence, file = place.sentence(), cache / "libtorch.said"
    if not file.is_file() or file.read_text() != sentence:
        say(sentence)
        file.write_text(sentence)
