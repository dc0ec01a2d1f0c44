#!/usr/bin/env python3
"""Makes a wheel of the built programs: pip installs it where there is no compiler (docs/package.md).

make_wheel.py --build BUILD FOLDER
"""

import base64
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bundle"))

import elf  # noqa: E402 (the lines above come first)
import libraries  # noqa: E402
import make_bundle  # noqa: E402
from platform_tag import UnknownVersion, platform_tag  # noqa: E402

LARGEST_BYTES = 40 << 20
PROGRAMS = {"nanobench": "nanobench/bin/nanobench", "nanobench-train": "nanobench/engine/nanobench-train"}
# What the launcher of a checkout uses too (tools/setup).
SETUP_FILES = ("install_libtorch.py", "progress.py", "wheels.py", "libtorch.json")
# Debian packages whose code is compiled in or carried along, and whose licences ask for their text beside it.
LICENCES_OF = ("libcli11-dev", "nlohmann-json3-dev", "libsqlite3-0", "libxxhash-dev")
PROGRAM_RUN_PATH, ENGINE_RUN_PATH = "$ORIGIN/../lib", "$ORIGIN/lib"
OLDEST_DATE = (1980, 1, 1, 0, 0, 0)  # of every file, so that the same programs give the same wheel
METADATA = """Metadata-Version: 2.1
Name: nanobench
Version: {version}
Summary: {summary}
License: MIT
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.9
Requires-Dist: vl-convert-python=={charts}; extra == "charts"
Provides-Extra: charts
Description-Content-Type: text/markdown

{description}"""
ENTRY_POINTS = """[console_scripts]
nanobench = nanobench.launch:run_nanobench
nanobench-train = nanobench.launch:run_engine
"""


class PackageError(Exception):
    """One sentence: what is missing or wrong, and what to do."""


def make_parser():
    parser = make_bundle.Parser(prog="nanobench wheel", description="Makes a wheel of the built programs, for pip.")
    parser.add_argument("folder", metavar="DIR", help="where the wheel is put; a wheel of the same name is replaced")
    parser.add_argument("--build", metavar="DIR", required=True, help="build folder with the programs in its bin/")
    return parser


def project():
    """(version, description) of CMakeLists.txt, the one place for both."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    found = re.search(r'project\(nanobench VERSION (\S+).*?DESCRIPTION "([^"]+)"', text, re.DOTALL)
    return found[1], found[2]


def check_versions(build, version):
    """Throws PackageError unless both programs are there and say that they are this version."""
    for name in PROGRAMS:
        program = build / "bin" / name
        if not program.is_file():
            raise PackageError(
                f"{program} does not exist; build it (./nanobench setup), or name its folder with --build"
            )
        try:
            done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        except OSError as error:
            raise PackageError(f"{program} does not start: {error}") from error
        said = (done.stdout or done.stderr).strip()
        if f" {version} " not in f"{said} ":
            raise PackageError(f"{program} is not version {version}, but says '{said}'; build it again")


def strip(path):
    try:
        done = subprocess.run(["strip", "--strip-unneeded", path], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise PackageError("there is no strip on the PATH; install binutils") from error
    if done.returncode != 0:
        raise PackageError(f"strip fails on {path.name}: {done.stderr.strip()}")


def set_run_path(path, text):
    """Throws PackageError if the program was linked without room for the path."""
    try:
        elf.set_run_path(path, text)
    except ValueError as error:
        raise PackageError(f"{error}; link {path.name} with a longer one") from error


def add_programs(build, folder):
    """The two programs, and the libraries that neither LibTorch nor every Linux of the tag has."""
    names = libraries.libtorch_names(make_bundle.libtorch_folder(build))
    binaries = {build / "bin" / name: folder / place for name, place in PROGRAMS.items()}
    carried = libraries.libraries_to_carry(binaries, names)
    for name, source in carried.items():
        if not libraries.COMPILER.fullmatch(name):
            binaries[source.resolve()] = folder / "nanobench/lib" / name
    for source, target in binaries.items():
        make_bundle.copy(source, target)
        strip(target)
    set_run_path(folder / PROGRAMS["nanobench"], PROGRAM_RUN_PATH)
    set_run_path(folder / PROGRAMS["nanobench-train"], ENGINE_RUN_PATH)


def add_files(folder):
    for source in sorted((ROOT / "tools/package/nanobench").glob("*.py")):
        make_bundle.copy(source, folder / "nanobench" / source.name)
    for name in SETUP_FILES:
        make_bundle.copy(ROOT / "tools/setup" / name, folder / "nanobench/setup" / name)
        (folder / "nanobench/setup" / name).chmod(0o644)
    for suite in sorted((ROOT / "suites").glob("*.json")):
        make_bundle.copy(suite, folder / "nanobench/share/nanobench/suites" / suite.name)


def charts_version():
    pins = json.loads((ROOT / "tools/setup/vl_convert.json").read_text(encoding="utf-8"))
    return pins["x86_64"][0]["version"]


def needed_symbols(folder):
    found = set()
    for path in folder.rglob("*"):
        if path.is_file() and elf.is_elf(path):
            for versions in elf.needed_versions(path).values():
                found.update(versions)
    return found


def add_licences(folder):
    make_bundle.copy(ROOT / "LICENSE", folder / "LICENSE")
    for package in LICENCES_OF:
        source = pathlib.Path("/usr/share/doc", package, "copyright")
        if source.is_file():
            make_bundle.copy(source, folder / f"{package}.txt")
    vega = ROOT / ".deps/vl_convert/licences/LICENSE"
    if vega.is_file():
        make_bundle.copy(vega, folder / "vl-convert.txt")


def add_metadata(folder, version, summary, tag):
    """The dist-info folder, without RECORD."""
    place = folder / f"nanobench-{version}.dist-info"
    place.mkdir()
    description = (ROOT / "docs/package.md").read_text(encoding="utf-8")
    texts = {
        "METADATA": METADATA.format(version=version, summary=summary, charts=charts_version(), description=description),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: nanobench {version}\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": ENTRY_POINTS,
    }
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    add_licences(place / "licenses")


def write_wheel(folder, version, wheel):
    """A zip of the folder with a RECORD of it, complete or not at all."""
    record = f"nanobench-{version}.dist-info/RECORD"
    lines = []
    fresh = wheel.with_name(f".{wheel.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                name, data = str(path.relative_to(folder)), path.read_bytes()
                archive.writestr(_entry(name, path.stat().st_mode), data)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                lines.append(f"{name},sha256={digest},{len(data)}\n")
            archive.writestr(_entry(record, 0o100644), "".join([*lines, f"{record},,\n"]))
        check_size(fresh)
        fresh.replace(wheel)
    finally:
        fresh.unlink(missing_ok=True)


def _entry(name, mode):
    entry = zipfile.ZipInfo(name, OLDEST_DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = mode << 16
    return entry


def check_size(wheel):
    size = wheel.stat().st_size
    if size > LARGEST_BYTES:
        raise PackageError(
            f"the wheel has {size / (1 << 20):.1f} MiB, more than the {LARGEST_BYTES >> 20} MiB that it may have"
        )


def make(options):
    build, out = pathlib.Path(options.build).resolve(), pathlib.Path(options.folder)
    if not (build / "bin").is_dir():
        raise PackageError(f"{build} is no build folder: it has no bin/")
    version, summary = project()
    check_versions(build, version)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".wheel-") as temporary:
        folder = pathlib.Path(temporary)
        add_programs(build, folder)
        add_files(folder)
        tag = f"py3-none-{platform_tag(needed_symbols(folder), os.uname().machine)}"
        add_metadata(folder, version, summary, tag)
        wheel = out / f"nanobench-{version}-{tag}.whl"
        write_wheel(folder, version, wheel)
    print(f"{wheel}: {wheel.stat().st_size / (1 << 20):.1f} MiB")


def main(argv):
    try:
        make(make_parser().parse_args(argv[1:]))
    except (PackageError, UnknownVersion, make_bundle.BundleError, libraries.LibraryError, elf.NotElf) as error:
        print(f"nanobench: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"nanobench: cannot make the wheel: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
