"""What every package of the built programs holds, put into a folder: programs, libraries, suites, set-up code, licences.

make_wheel.py and stage_deb.py add what their kind of package asks for.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bundle"))

import elf  # noqa: E402 (the lines above come first)
import libraries  # noqa: E402
import make_bundle  # noqa: E402

LARGEST_BYTES = 40 << 20  # of a package
PROGRAMS = {"nanobench": "nanobench/bin/nanobench", "nanobench-train": "nanobench/engine/nanobench-train"}
# What the launcher of a checkout uses too (tools/setup).
SETUP_FILES = ("install_libtorch.py", "progress.py", "wheels.py", "libtorch.json")
# Debian packages whose code is compiled in or carried along, and whose licences ask for their text beside it.
LICENCES_OF = ("libcli11-dev", "nlohmann-json3-dev", "libsqlite3-0", "libxxhash-dev")
PROGRAM_RUN_PATH, ENGINE_RUN_PATH = "$ORIGIN/../lib", "$ORIGIN/lib"


class PackageError(Exception):
    """One sentence: what is missing or wrong, and what to do."""


def project():
    """(version, description) of CMakeLists.txt, the one place for both."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    found = re.search(r'project\(nanobench VERSION (\S+).*?DESCRIPTION "([^"]+)"', text, re.DOTALL)
    return found[1], found[2]


def stage(build, folder):
    """Fills the folder `nanobench` in `folder`, a Python package that needs nothing outside but LibTorch. Throws PackageError,
    BundleError, LibraryError, NotElf, OSError."""
    add_programs(build, folder)
    add_files(folder)


def check_build(build, version):
    """Throws PackageError unless the build folder has both programs, and they say that they are this version."""
    if not (build / "bin").is_dir():
        raise PackageError(f"{build} is no build folder: it has no bin/")
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
    """The two programs, and the libraries that neither LibTorch nor the compiler nor glibc brings."""
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


def binaries_in(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file() and elf.is_elf(path))


def needed_symbols(folder):
    """Symbol versions ("GLIBC_2.34") that the binaries in the folder need."""
    found = set()
    for path in binaries_in(folder):
        for versions in elf.needed_versions(path).values():
            found.update(versions)
    return found


def licences():
    """Files with the licences of what is compiled in or carried along, by name; those that this machine has."""
    found = {f"{package}.txt": pathlib.Path("/usr/share/doc", package, "copyright") for package in LICENCES_OF}
    found["vl-convert.txt"] = ROOT / ".deps/vl_convert/licences/LICENSE"
    return {name: path for name, path in found.items() if path.is_file()}


def check_size(package, what):
    """Throws PackageError if the file is larger than a package may be."""
    size = package.stat().st_size
    if size > LARGEST_BYTES:
        raise PackageError(
            f"{what} has {size / (1 << 20):.1f} MiB, more than the {LARGEST_BYTES >> 20} MiB that it may have"
        )
