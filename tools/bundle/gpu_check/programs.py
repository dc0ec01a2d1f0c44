"""The bundle's programs, made to start here: one small script each, which names the folders of libraries to the loader."""

import gzip
import os
import pathlib
import shlex
import shutil
import subprocess

import bundle
from problems import Refused

START_SECONDS = 120  # LibTorch may come from a slow disk the first time


def _script(program, folders):
    known = os.environ.get("LD_LIBRARY_PATH", "")
    path = ":".join([*folders, *([known] if known else [])])
    return f'#!/bin/sh\nLD_LIBRARY_PATH={shlex.quote(path)} exec {shlex.quote(str(program))} "$@"\n'


def _starts(script, environment):
    try:
        done = subprocess.run(
            [script, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            timeout=START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
    return None if done.returncode == 0 else lines[-1]


class Programs:
    """Scripts in `work`/bin. The compiler's libraries are taken from the bundle only where the machine's are too old:
    newer ones serve older programs, not the other way round."""

    def __init__(self, torch, work, environment):
        self.folder = pathlib.Path(work) / "bin"
        self.folder.mkdir(parents=True, exist_ok=True)
        places = bundle.HERE / "bin"
        self._all = [program for program in map(self._unpacked, sorted(places.iterdir())) if program.suffix != ".so"]
        own, compiler = str(bundle.HERE / "lib"), str(bundle.HERE / "lib/compiler")
        for folders in ([own, *torch["libraries"]], [own, compiler, *torch["libraries"]]):
            self.library_folders = folders
            self._write_scripts()
            reasons = [_starts(self.folder / name, environment) for name in ("nanobench", "nanobench-train")]
            if reasons == [None, None]:
                return
        reason = next(text for text in reasons if text)
        raise Refused(f"the programs do not start with {torch['folder']}: {reason}")

    def _unpacked(self, program):
        """The program itself; a program that is compressed in the bundle is unpacked beside the scripts."""
        if program.suffix != ".gz":
            return program
        place = self.folder.parent / "unpacked" / program.stem
        place.parent.mkdir(exist_ok=True)
        with gzip.open(program) as packed, open(place, "wb") as file:
            shutil.copyfileobj(packed, file)
        place.chmod(0o755)
        return place

    def _write_scripts(self):
        for program in self._all:
            script = self.folder / program.name
            script.write_text(_script(program, self.library_folders), encoding="utf-8")
            script.chmod(0o755)

    def path(self, name):
        return self.folder / name

    def has(self, name):
        return bundle.has_file(f"bin/{name}") or bundle.has_file(f"bin/{name}.gz")
