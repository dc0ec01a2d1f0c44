"""What the tests of the bundle share: a bundle, an interpreter that seems to have torch, and programs that only pretend."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAM = pathlib.Path(os.environ.get("NANOBENCH", ROOT / "build/release/bin/nanobench")).resolve()
BUILD = PROGRAM.parents[1]
MAKER = ROOT / "tools/bundle/make_bundle.py"
SCHEMA = ROOT / "docs/schema/gpu_check.schema.json"

sys.path.insert(0, str(ROOT / "tools/bundle"))
import libraries  # noqa: E402 (the line above comes first)
import make_bundle  # noqa: E402

VERSION_FILE = """from typing import Optional
__version__ = '{version}'
debug = False
cuda: Optional[str] = {cuda}
"""


def temporary_folder(case):
    folder = tempfile.TemporaryDirectory()
    case.addClassCleanup(folder.cleanup)
    return pathlib.Path(folder.name)


def make(folder, *options, build=BUILD):
    words = [sys.executable, "-B", MAKER, "--build", build, *options, folder]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def write_torch(site, version="2.11.0+cu130", cuda="'13.0'", libraries_of=None):
    """A torch of that version: with LibTorch's own libraries, or (None) with files that only have their names."""
    (site / "torch").mkdir(parents=True)
    (site / "torch/__init__.py").write_text("from .version import __version__\n")
    (site / "torch/version.py").write_text(VERSION_FILE.format(version=version, cuda=cuda))
    if libraries_of:
        (site / "torch/lib").symlink_to(libraries_of)
        return
    (site / "torch/lib").mkdir()
    for name in ("libtorch_cpu.so", "libc10.so", "libtorch_cuda.so"):
        (site / "torch/lib" / name).write_text("")
    (site / "nvidia/cu13/lib").mkdir(parents=True)


def write_python(path, site):
    """An interpreter that sees the packages of `site`, and of its own none but the standard library."""
    write_program(path, f'#!/bin/sh\nPYTHONPATH="{site}" exec "{sys.executable}" -s "$@"\n')
    return path


def sign(bundle):
    """Makes the manifest say what is in the folder now."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    (bundle / "manifest.json").unlink()
    manifest.pop("files")
    absent = manifest.pop("absent")
    make_bundle.write_manifest(bundle, {key: manifest[key] for key in ("version", "libtorch")}, absent)


def pretend(bundle):
    """Puts stand-ins (fake_programs.py) in the place of all programs, those for a GPU too."""
    for path in (bundle / "bin").glob("*.gz"):
        path.unlink()
    for name in ("nanobench", "nanobench-train", "nanobench-micro", "nanobench-gpu-tests", "nanobench-gpu-bench"):
        script = f'#!/bin/sh\nexec "{sys.executable}" -I -S -B "{HERE}/fake_programs.py" {name} "$@"\n'
        write_program(bundle / "bin" / name, script)
    make_bundle.pack(bundle / "bin/nanobench-gpu-bench")
    (bundle / "bin/libnanobench_cuda.so").write_text("")
    sign(bundle)


class Result:
    def __init__(self, done, out):
        self.code, self.text, self.errors = done.returncode, done.stdout, done.stderr
        self.document = json.loads(out.read_text()) if out.is_file() else None

    def part(self, name):
        return next(part for part in self.document["parts"] if part["name"] == name)

    def step(self, part, name):
        return next(step for step in self.part(part)["steps"] if step["name"] == name)


def run(words, folder, path="/usr/bin:/bin", **variables):
    """A command from `folder`, with an empty home and nothing else in its environment."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    environment = {"PATH": path, "HOME": str(home), "TMPDIR": str(folder), **variables}
    return subprocess.run(
        [str(word) for word in words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def check(bundle, python, folder, *options, **variables):
    """gpu_check.sh from `folder`."""
    out = folder / "result.json"
    out.unlink(missing_ok=True)
    words = [bundle / "gpu_check.sh", "--out", out, *(["--python", python] if python else []), *options]
    return Result(run(words, folder, **variables), out)


def file_digests(folder):
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def libtorch():
    return make_bundle.libtorch_folder(BUILD)


__all__ = ["libraries", "make_bundle", "shutil"]
