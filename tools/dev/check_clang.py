#!/usr/bin/env python3
"""Compiles every source with clang and checks it with clang-tidy, and compiles every header alone.

  tools/dev/check_clang.py BUILD [--tidy {all,changed,none}] [--base REVISION] [--jobs N] [FILE ...]

The commands are those of BUILD/compile_commands.json, without GCC's own options and without its precompiled headers: a
source must include what it needs. Sources with LibTorch are the exception: its headers are precompiled by clang. A header
whose source includes it first is compiled alone there, every other one by itself. Only errors and warnings are printed.
Exit code 0: no finding; 1: findings; 2: no build folder, or no clang.
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG, CLANG_TIDY = "clang++-16", "clang-tidy-16"
# What only GCC knows, and what is not asked for here: objects, optimisation, dependencies.
DROPPED = ("-O", "-g", "-Winvalid-pch", "-Wno-restrict", "-Wno-stringop-overflow", "-Wno-maybe-uninitialized", "-c")
DROPPED_WITH_VALUE = ("-o", "-MF", "-MT", "-include", "-x")
# GCC's own -Wconversion lets signs be in C++.
ADDED = ("-Wno-sign-conversion", "-Wno-unknown-warning-option", "-Werror")


class UsageError(Exception):
    """One sentence: what is missing, and what to do."""


@dataclasses.dataclass(frozen=True)
class Unit:
    """A file to compile, and how."""

    file: pathlib.Path
    flags: tuple
    precompiled: str = ""  # what CMake precompiles for it

    @property
    def name(self):
        return str(self.file.relative_to(ROOT))

    @property
    def has_libtorch(self):
        return any("/torch/include" in flag for flag in self.flags)


def flags_of(words):
    """The flags of a compiler's command that clang takes, and the header that the command includes precompiled."""
    flags, precompiled, words = [], "", iter(words[1:])
    for word in words:
        if word in DROPPED_WITH_VALUE:
            value = next(words)
            if word == "-include" and value.endswith("cmake_pch.hxx"):
                precompiled = value
        elif word == "-isystem":
            flags += [word, next(words)]
        elif not word.startswith(DROPPED) and (word.startswith("-")):
            flags.append(word)
    return (*flags, *ADDED), precompiled


def units_of(build):
    """One unit for each source of ours that a C++ compiler compiles."""
    file = build / "compile_commands.json"
    if not file.is_file():
        raise UsageError(f"{file} does not exist; configure the build first (./nanobench setup)")
    units = {}
    for entry in json.loads(file.read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        while words and os.path.basename(words[0]) in ("ccache", "sccache"):
            words.pop(0)
        source = pathlib.Path(entry["file"])
        is_ours = source.is_relative_to(ROOT) and not source.is_relative_to(build) and source.suffix in (".cpp", ".cu")
        if is_ours and source.is_file() and "nvcc" not in os.path.basename(words[0]) and source not in units:
            units[source] = Unit(source, *flags_of(words))
    return list(units.values())


def first_include(source):
    for line in source.read_text(encoding="utf-8").splitlines():
        if line.startswith("#include"):
            return line.split()[1].strip('"<>')
    return ""


def headers_alone(units):
    """Headers that no source includes first, each with the flags of a source near it."""
    first = {first_include(unit.file) for unit in units}
    tracked = subprocess.run(["git", "ls-files", "*.h"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    alone = []
    for name in tracked.split():
        header = ROOT / name
        if name in first or not header.is_file():
            continue
        near = max(units, key=lambda unit: (len(os.path.commonpath([header, unit.file])), not unit.has_libtorch))
        alone.append(Unit(header, ("-xc++", "-Wno-pragma-once-outside-header", "-Wno-unused-function", *near.flags), near.precompiled))
    return alone


class Checker:
    def __init__(self, folder, tidied):
        self.folder = folder
        self.tidied = tidied
        self.headers = {}
        self.seconds = {}

    def precompile(self, units):
        """LibTorch's headers, once for each set of flags."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for unit in units:
            key = (unit.precompiled, *self.plain(unit))
            if not unit.has_libtorch or not unit.precompiled or key in self.headers:
                continue
            header = self.folder / f"{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.pch"
            # CMake's header names the others; its own text is not a system header, theirs are.
            command = [CLANG, *self.plain(unit), "-w", "-x", "c++-header", unit.precompiled, "-o", str(header)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise UsageError(f"clang cannot precompile {unit.precompiled}:\n{done.stderr}")
            self.headers[key] = str(header)

    @staticmethod
    def plain(unit):
        return [flag for flag in unit.flags if not flag.startswith(("-DN", "-W", "-xc++"))]

    def command(self, unit):
        header = self.headers.get((unit.precompiled, *self.plain(unit)))
        flags = [*unit.flags, *(["-include-pch", header] if header else [])]
        if unit.file.suffix == ".cu":
            flags.append("-xc++")
        if unit.name in self.tidied:
            return [CLANG_TIDY, "--quiet", unit.name, "--", *flags]
        return [CLANG, "-fsyntax-only", *flags, unit.name]

    def check(self, unit):
        """What clang says of a file; "" where it finds nothing."""
        begin = time.monotonic()
        done = subprocess.run(self.command(unit), cwd=ROOT, capture_output=True, text=True, check=False)
        self.seconds[unit.name] = time.monotonic() - begin
        return "" if done.returncode == 0 else f"{unit.name}:\n{done.stdout}{done.stderr}"


def changed_files(base):
    """Files that differ from where this branch left `base`, committed or not."""
    fork = subprocess.run(["git", "merge-base", "HEAD", base], cwd=ROOT, capture_output=True, text=True, check=False)
    if fork.returncode != 0:
        return None
    command = ["git", "diff", "--name-only", fork.stdout.strip()]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())


def to_tidy(units, arguments):
    names = {unit.name for unit in units}
    if arguments.tidy == "none":
        return set()
    changed = changed_files(arguments.base) if arguments.tidy == "changed" else None
    return names if changed is None else names & changed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("files", nargs="*", help="these alone (all)")
    parser.add_argument("--tidy", choices=("all", "changed", "none"), default="all", help="what clang-tidy checks (all)")
    parser.add_argument("--base", default="main", help="revision that `changed` compares with (main)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="print the N files that took longest")
    arguments = parser.parse_intermixed_args()
    begin = time.monotonic()
    units = units_of(arguments.build)
    headers = headers_alone(units)
    tidied = to_tidy(units, arguments)
    if arguments.files:
        units = [unit for unit in units if unit.name in arguments.files]
        headers = [unit for unit in headers if unit.name in arguments.files]
    checker = Checker(arguments.build / "clang", tidied)
    checker.precompile([*units, *headers])
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for finding in pool.map(checker.check, [*units, *headers]):
            if finding:
                failed += 1
                print(finding, flush=True)
    for name, seconds in sorted(checker.seconds.items(), key=lambda item: -item[1])[: arguments.slowest]:
        print(f"{seconds:6.1f} s  {name}")
    print(
        f"clang: {len(units)} sources and {len(headers)} headers alone, {len(tidied & set(checker.seconds))} of them through "
        f"clang-tidy, {time.monotonic() - begin:.0f} s: {failed} with findings"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (UsageError, FileNotFoundError) as error:
        print(f"check_clang: {error}", file=sys.stderr)
        sys.exit(2)
