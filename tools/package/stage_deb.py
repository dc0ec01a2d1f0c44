#!/usr/bin/env python3
"""Fills a folder as the root of a machine that has the Debian package, for cpack (deb.cmake).

    stage_deb.py --build BUILD FOLDER

Prints the package's architecture, then its dependencies. Exit code 2: one sentence on stderr says what is missing.
"""

import gzip
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True

import staging  # noqa: E402 (the line above comes first)
from debian_depends import ARCHITECTURES, depends  # noqa: E402
from platform_tag import UnknownVersion  # noqa: E402
from staging import ROOT, PackageError, make_bundle  # noqa: E402

TREE = "usr/lib/nanobench"
DOCUMENTS = "usr/share/doc/nanobench"
START = ROOT / "tools/package/debian/start.py"
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/nanobench",
    "zsh": "usr/share/zsh/vendor-completions/_nanobench",
    "fish": "usr/share/fish/vendor_completions.d/nanobench.fish",
}


def make_parser():
    parser = make_bundle.Parser(prog="stage_deb.py", description="Fills the root of a Debian package, for cpack.")
    parser.add_argument("folder", metavar="DIR", help="the root; it must be empty or not exist")
    parser.add_argument("--build", metavar="DIR", required=True, help="build folder with the programs in its bin/")
    return parser


def architecture():
    """Throws PackageError where Debian has no name for this machine."""
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise PackageError(f"a Debian package is made for {' and '.join(ARCHITECTURES)}; this machine is {machine}")
    return ARCHITECTURES[machine]


def add_commands(folder):
    for name in staging.PROGRAMS:
        make_bundle.copy(START, folder / "usr/bin" / name)


def add_completions(folder):
    """What the program itself prints for these shells. Throws PackageError."""
    program = folder / TREE / staging.PROGRAMS["nanobench"]
    for shell, place in COMPLETIONS.items():
        done = subprocess.run([program, "completion", shell], capture_output=True, check=False)
        if done.returncode != 0:
            raise PackageError(f"nanobench completion {shell} fails: {done.stderr.decode(errors='replace').strip()}")
        write(folder / place, done.stdout)


def add_documents(folder):
    texts = [(ROOT / "LICENSE").read_text(encoding="utf-8")]
    for name, source in staging.licences().items():
        title = f"{name.removesuffix('.txt')}, of which nanobench contains code:"
        texts.append(f"{title}\n\n{source.read_text(encoding='utf-8')}")
    line = "\n" + "-" * 72 + "\n\n"
    write(folder / DOCUMENTS / "copyright", line.join(texts).encode())
    changes = (ROOT / "CHANGELOG.md").read_bytes()
    write(folder / DOCUMENTS / "CHANGELOG.md.gz", gzip.compress(changes, 9, mtime=0))


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o644)


def stage(options):
    build, folder = pathlib.Path(options.build).resolve(), pathlib.Path(options.folder).resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PackageError(f"{folder} is not empty; name a new folder")
    name = architecture()
    staging.check_build(build, staging.project()[0])
    staging.stage(build, folder / TREE)
    add_commands(folder)
    add_completions(folder)
    add_documents(folder)
    print(name)
    print(", ".join(depends(staging.needed_symbols(folder))))


def main(argv):
    return make_bundle.exit_code_of(
        lambda: stage(make_parser().parse_args(argv[1:])), "package", PackageError, UnknownVersion
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv))
