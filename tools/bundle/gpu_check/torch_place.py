"""Where this interpreter's torch lies, and whether it is the one that the programs were built for. torch itself is not
imported: that takes seconds, and loads a second copy of what the programs load."""

import glob
import importlib.util
import pathlib
import re
import sys

from problems import Refused

WANTED_CUDA = "13.0"
WANTED_BUILD = "cu130"


def _version_text(folder):
    try:
        return (folder / "version.py").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _value(text, name):
    match = re.search(rf"^{name}\b[^=\n]*=\s*['\"]([^'\"]+)['\"]", text, re.M)
    return match[1] if match else None


def find_torch(wanted_version):
    """Facts of torch: folder, version, libraries (folders for the loader). Throws Refused."""
    remedy = "name an interpreter that has it with --python PROGRAM"
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise Refused(f"{sys.executable} has no torch; {remedy}")
    folder = pathlib.Path(next(iter(spec.submodule_search_locations)))
    text = _version_text(folder)
    version, cuda = _value(text, "__version__") or "", _value(text, "cuda")
    public, _, build = version.partition("+")
    if public != wanted_version or WANTED_BUILD not in (build, "cu" + (cuda or "").replace(".", "")):
        shown = version or "of an unknown version"
        raise Refused(
            f"{folder} is torch {shown}, but the programs are built for {wanted_version}+{WANTED_BUILD}; {remedy}"
        )
    for name in ("libtorch_cpu.so", "libc10.so"):
        if not (folder / "lib" / name).is_file():
            raise Refused(f"{folder}/lib has no {name}: this torch is incomplete; {remedy}")
    return {"folder": str(folder), "version": version, "cuda": cuda, "libraries": library_folders(folder)}


def library_folders(folder):
    """LibTorch's own folder, then those of the CUDA wheels: beside it, and in the interpreter's other folders."""
    places = dict.fromkeys([str(folder.parent), *sys.path])
    wheels = [found for place in places if place for found in sorted(glob.glob(f"{place}/nvidia/*/lib"))]
    return [str(folder / "lib"), *dict.fromkeys(wheels)]
