#!/usr/bin/env python3
"""Compiles every source and every header alone with clang, and checks sources with clang-tidy.

  tools/dev/check_clang.py BUILD [--tidy {all,some,none}] [--base REVISION] [--changed] [--jobs N] [FILE ...]
  tools/dev/check_clang.py --packages     prints the Debian packages that this needs

The commands are those of BUILD/compile_commands.json, without GCC's own options and without its precompiled headers, and
sources that the build joins are compiled one by one, so each source must include what it needs. Sources with LibTorch are the exception: clang precompiles its headers. The first
include of a source is its own header, which is thereby compiled alone; every other header is compiled by itself.

`--changed` checks only sources and headers that differ from --base. clang-tidy takes ten times as long as the compiler. `--tidy some` gives it the sources that differ from --base, and one of
SHARES shares of the others, which the commit chooses; sources with LibTorch and tests are only compiled unless they differ.
BUILD/clang/passed keeps what has passed: nothing is checked twice with the same contents, flags and rules.
Exit code 0: no finding; 1: findings; 2: no build folder, or no clang.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Debian 12 has it. clang 14 lacks std::source_location.
VERSION = "16"
CLANG, CLANG_TIDY = f"clang++-{VERSION}", f"clang-tidy-{VERSION}"
SHARES = 16
# What only GCC knows, and what is not asked for here: objects, optimisation, dependencies.
DROPPED = (
    "-O",
    "-g",
    "-fpch-preprocess",
    "-fvect-cost-model",
    "-Wshadow=local",
    "-Winvalid-pch",
    "-Wno-restrict",
    "-Wno-stringop-overflow",
    "-Wno-maybe-uninitialized",
    "-c",
)
DROPPED_WITH_VALUE = ("-o", "-MF", "-MT", "-include", "-x", "--param")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
# GCC's own -Wconversion lets signs be in C++.
ADDED = ("-Wshadow", "-Wno-sign-conversion", "-Wno-unknown-warning-option", "-Werror")


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


def without_launcher(words):
    """The compiler's command behind `cmake -E env NAME=VALUE... ccache`."""
    while words and (os.path.basename(words[0]) in ("cmake", "-E", "env", "ccache", "sccache") or "=" in words[0]):
        words = words[1:]
    return words


def sources_of(entry, build):
    """The sources behind an entry: itself, or those that the build joins in it."""
    source = pathlib.Path(entry["file"])
    if source.is_relative_to(build) and source.parent.name == "Unity" and source.is_file():
        return [pathlib.Path(name) for name in INCLUDE.findall(source.read_text(encoding="utf-8"))]
    return [source]


def units_of(build):
    """One unit for each source of ours that a C++ compiler compiles."""
    file = build / "compile_commands.json"
    if not file.is_file():
        raise UsageError(f"{file} does not exist; configure the build first (./nanobench setup)")
    units = {}
    for entry in json.loads(file.read_text(encoding="utf-8")):
        words = without_launcher(shlex.split(entry["command"]))
        if "nvcc" in os.path.basename(words[0]):
            continue
        for source in sources_of(entry, build):
            is_ours = source.is_relative_to(ROOT) and not source.is_relative_to(build)
            if is_ours and source.suffix in (".cpp", ".cu") and source.is_file() and source not in units:
                units[source] = Unit(source, *flags_of(words))
    return list(units.values())


def first_include(source):
    for line in source.read_text(encoding="utf-8").splitlines():
        if line.startswith("#include"):
            return line.split()[1].strip('"<>')
    return ""


@functools.cache
def text_and_includes(name):
    """A file of ours and, through its quoted includes, those that it includes."""
    file = ROOT / name
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return text, INCLUDE.findall(text)


def closure(name):
    """The texts of a file and of all files of ours that it includes, directly or not."""
    seen, left = {}, [name]
    while left:
        name = left.pop()
        if name not in seen:
            seen[name], includes = text_and_includes(name)
            left += includes
    return seen


def headers_alone(units):
    """Headers that no source includes first, each with the flags of a source that includes it."""
    first = {first_include(unit.file) for unit in units}
    users = {}
    for unit in sorted(units, key=lambda unit: unit.has_libtorch):
        for name in closure(unit.name):
            users.setdefault(name, unit)
    alone = []
    for name in (git("ls-files", "*.h") or "").split():
        header = ROOT / name
        if name in first or name not in users:
            continue
        near = users[name]
        alone.append(
            Unit(
                header,
                ("-xc++", "-Wno-pragma-once-outside-header", "-Wno-unused-function", *near.flags),
                near.precompiled,
            )
        )
    return alone


class Checker:
    """Runs clang or clang-tidy on units, and remembers in `folder` what has passed."""

    def __init__(self, folder, tidied):
        self.folder = folder
        self.tidied = tidied
        self.precompiled = {}
        self.seconds = {}
        folder.mkdir(parents=True, exist_ok=True)
        self.passed_file = folder / "passed"
        self.passed = set(self.passed_file.read_text().split()) if self.passed_file.is_file() else set()
        self.rules = (ROOT / ".clang-tidy").read_text(encoding="utf-8")

    def key(self, unit):
        """Changes with everything that the result depends on; LibTorch and the system stand for themselves by version."""
        seen = closure(unit.name)
        rules = self.rules if unit.name in self.tidied else ""
        return hashlib.sha256(repr((VERSION, unit.flags, rules, sorted(seen.items()))).encode()).hexdigest()

    def precompile(self, units):
        """LibTorch's headers, once for each set of flags."""
        for unit in units:
            key = (unit.precompiled, *self.plain(unit))
            if not unit.has_libtorch or not unit.precompiled or key in self.precompiled:
                continue
            header = self.folder / f"{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.pch"
            command = [CLANG, *self.plain(unit), "-w", "-x", "c++-header", unit.precompiled, "-o", str(header)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise UsageError(f"clang cannot precompile {unit.precompiled}:\n{done.stderr}")
            self.precompiled[key] = str(header)

    @staticmethod
    def plain(unit):
        """The flags that a precompiled header depends on."""
        return [flag for flag in unit.flags if not flag.startswith(("-DN", "-W", "-xc++"))]

    def command(self, unit):
        header = self.precompiled.get((unit.precompiled, *self.plain(unit)))
        flags = [*unit.flags, *(["-include-pch", header] if header else [])]
        if unit.file.suffix == ".cu":
            flags.append("-xc++")
        if unit.name in self.tidied:
            return [CLANG_TIDY, "--quiet", unit.name, "--", *flags]
        return [CLANG, "-fsyntax-only", *flags, unit.name]

    def check(self, unit):
        """What clang finds in a file, or an empty text."""
        begin = time.monotonic()
        done = subprocess.run(self.command(unit), cwd=ROOT, capture_output=True, text=True, check=False)
        self.seconds[unit.name] = time.monotonic() - begin
        if done.returncode != 0:
            return f"{unit.name}:\n{done.stdout}{done.stderr}"
        self.passed.add(self.key(unit))
        return ""

    def run(self, units, jobs):
        """Checks the units that have not passed, prints findings; returns how many units have some."""
        keys = {unit: self.key(unit) for unit in units}
        left = [unit for unit in units if keys[unit] not in self.passed]
        self.precompile(left)
        failed = 0
        try:
            with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
                for finding in pool.map(self.check, left):
                    if finding:
                        failed += 1
                        print(finding, flush=True)
        finally:
            self.passed_file.write_text("\n".join(sorted(self.passed)) + "\n")
        return failed


def git(*words):
    """What git prints, or None where it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def changed_files(base):
    """Files that differ from where this branch left `base`, committed or not; without `base`, from the last commit."""
    fork = git("merge-base", "HEAD", base) or git("rev-parse", "HEAD~1")
    return set((git("diff", "--name-only", fork) or "").split()) if fork else set()


def to_tidy(units, kind, base):
    """Names of the sources for clang-tidy."""
    if kind == "none":
        return set()
    if kind == "all":
        return {unit.name for unit in units}
    changed = changed_files(base)
    share = int(git("rev-parse", "HEAD") or "0", 16) % SHARES
    plain = sorted(unit.name for unit in units if not unit.has_libtorch and not unit.name.startswith("tests/"))
    return ({unit.name for unit in units} & changed) | set(plain[share::SHARES])


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve(), help="configured build folder")
    parser.add_argument("files", nargs="*", help="check these alone (all)")
    parser.add_argument("--tidy", choices=("all", "some", "none"), default="some", help="sources for clang-tidy (some)")
    parser.add_argument("--base", default="origin/main", help="revision that `some` compares with (origin/main)")
    parser.add_argument("--changed", action="store_true", help="check only files that differ from --base")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="files at once")
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="print the N files that took longest")
    return parser.parse_intermixed_args()


def main():
    if sys.argv[1:] == ["--packages"]:
        print(f"clang-{VERSION} clang-tidy-{VERSION}")
        return 0
    arguments = read_arguments()
    for program in (CLANG, CLANG_TIDY):
        if not shutil.which(program):
            raise UsageError(f"{program} is not here; install {program.replace('++', '')} (Debian 12 has it)")
    begin = time.monotonic()
    sources = units_of(arguments.build)
    tidied = to_tidy(sources, arguments.tidy, arguments.base)
    units = [*sources, *headers_alone(sources)]
    if arguments.files:
        units = [unit for unit in units if unit.name in arguments.files]
    checker = Checker(arguments.build / "clang", tidied)
    if arguments.changed:
        changed = changed_files(arguments.base)
        units = [unit for unit in units if {unit.name, first_include(unit.file)} & changed]
    failed = checker.run(units, arguments.jobs)
    for name, seconds in sorted(checker.seconds.items(), key=lambda item: -item[1])[: arguments.slowest]:
        print(f"{seconds:6.1f} s  {name}")
    print(
        f"clang: {len(checker.seconds)} of {len(units)} files checked, the others had passed; "
        f"{len(tidied & set(checker.seconds))} through clang-tidy; {time.monotonic() - begin:.0f} s; {failed} with findings"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UsageError as error:
        print(f"check_clang: {error}", file=sys.stderr)
        sys.exit(2)
