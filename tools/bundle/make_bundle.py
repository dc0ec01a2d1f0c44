#!/usr/bin/env python3
"""Makes a folder that checks nanobench on a machine with a GPU, Python and torch, and nothing else (docs/bundle.md).

make_bundle.py --build BUILD [--golden DIR] [--replace] FOLDER
"""

import argparse
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import elf  # noqa: E402 (the line above comes first)
import libraries  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA_VERSION = 1
LARGEST_BYTES = 60 << 20
REQUIRED = ("nanobench", "nanobench-train")
# libnanobench_mpi.so stays: it serves processes that mpirun starts, with an MPI of the machine.
OPTIONAL = ("libnanobench_cuda.so", "nanobench-micro", "nanobench-gpu-tests", "nanobench-gpu-bench")
# Each contains the kernels for every kind of GPU: 16 MiB, compressed to 4; gpu_check unpacks them (programs.py).
PACKED = ("nanobench-gpu-tests", "nanobench-gpu-bench")
# Small; together they cover both value sources, windows by token and by block, and shared key heads.
GOLDEN_CASES = ("record12", "record15", "record17", "record17_window_token", "record17_kv_heads_1")
GOLDEN_FILES = ("config.json", "init.safetensors", "train.bin", "val.bin", "expected.json")
PEER_SCRIPTS = ("compare", "comparisons.py", "engine_side.py", "machine.py", "pairs.py", "processes.py", "report.py")
PEER_SCRIPTS += ("torch_peer.py", "torch_side.py")


class BundleError(Exception):
    """One sentence: what is missing or wrong, and what to do."""


class Parser(argparse.ArgumentParser):
    """One sentence instead of the whole usage."""

    def error(self, message):
        raise BundleError(message)


def make_parser():
    parser = Parser(prog="nanobench bundle", description="Makes a portable folder that checks nanobench on a GPU.")
    parser.add_argument("folder", metavar="DIR", help="what to make; it must be empty or not exist")
    parser.add_argument("--build", metavar="DIR", required=True, help="build folder with the programs in its bin/")
    parser.add_argument(
        "--golden",
        metavar="DIR",
        help="folder with the golden training cases (those that the build has unpacked); reports and leaves out what it lacks",
    )
    parser.add_argument("--replace", action="store_true", help="replace an earlier bundle in DIR")
    return parser


def libtorch_folder(build):
    """lib/ of the LibTorch that the build was linked with."""
    try:
        cache = (build / "CMakeCache.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        cache = ""
    named = re.search(r"^NANOBENCH_TORCH:[A-Z]+=(.+)$", cache, re.M)
    home = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.+)$", cache, re.M)
    candidates = [named[1]] if named else []
    candidates += elf.read_dynamic(build / "bin" / "nanobench-train").run_paths
    candidates += [str(pathlib.Path(home[1] if home else ROOT) / ".deps" / "torch")]
    for candidate in candidates:
        for folder in (pathlib.Path(candidate), pathlib.Path(candidate) / "lib"):
            if (folder / "libtorch_cpu.so").is_file():
                return folder
    raise BundleError(f"the LibTorch that {build} was linked with is no longer on this machine; build again")


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)


def check_folder(folder, may_replace):
    """Throws BundleError unless `folder` may become the bundle."""
    if folder.exists() and not folder.is_dir():
        raise BundleError(f"{folder} is a file; name a new folder")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not ((folder / "manifest.json").is_file() and (folder / "gpu_check.sh").is_file()):
        raise BundleError(f"{folder} is not empty and not a bundle; name a new folder")
    if not may_replace:
        raise BundleError(f"{folder} holds a bundle already; name a new folder, or add --replace")


def pack(path):
    """Replaces path by path.gz, with the same bytes each time."""
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), 6, mtime=0))
    path.unlink()


def add_programs(build, folder):
    """Copies programs and the libraries that they need; returns what was left out, with the reason."""
    absent = {}
    for name in REQUIRED + OPTIONAL:
        source = build / "bin" / name
        if source.is_file():
            copy(source, folder / "bin" / name)
        elif name in REQUIRED:
            raise BundleError(f"{source} does not exist; build it (./nanobench setup), or name its folder with --build")
        else:
            absent[name] = "it was not built"
    sources = [build / "bin" / path.name for path in (folder / "bin").iterdir()]
    binaries = [path for path in sources if elf.is_elf(path)]
    torch_names = libraries.libtorch_names(libtorch_folder(build))
    for name, source in libraries.libraries_to_carry(binaries, torch_names).items():
        place = "lib/compiler" if libraries.COMPILER.fullmatch(name) else "lib"
        copy(source.resolve(), folder / place / name)
    for path in [*(folder / "bin").iterdir(), *(folder / "lib").rglob("*.so*")]:
        if elf.is_elf(path):
            elf.clear_run_path(path)
    for name in PACKED:
        if (folder / "bin" / name).is_file():
            pack(folder / "bin" / name)
    return absent


def add_files(folder):
    """Suites, the scripts that check, and the documents."""
    for suite in sorted((ROOT / "suites").glob("*.json")):
        copy(suite, folder / "share/nanobench/suites" / suite.name)
    for script in sorted((ROOT / "tools/bundle/gpu_check").glob("*.py")):
        copy(script, folder / "gpu_check" / script.name)
    for name in PEER_SCRIPTS:
        copy(ROOT / "tests/peers" / name, folder / "peers" / name)
    for script in ("gpu_check.sh", "gpu_session.sh"):
        copy(ROOT / "tools/bundle" / script, folder / script)
    copy(ROOT / "LICENSE", folder / "LICENSE")
    copy(ROOT / "docs/bundle.md", folder / "README.md")


def add_golden(golden, folder):
    """The golden training cases; returns what `golden` lacks, with the reason."""
    absent = {}
    for case in GOLDEN_CASES:
        if all((golden / case / name).is_file() for name in GOLDEN_FILES):
            for name in GOLDEN_FILES:
                copy(golden / case / name, folder / "golden" / case / name)
        else:
            absent[f"golden/{case}"] = f"{golden / case} lacks it or part of it"
    return absent


def version_of(build):
    """What the engine reports: version, revision, LibTorch."""
    try:
        done = subprocess.run(
            [build / "bin/nanobench-train", "--build-info"], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise BundleError(f"{build}/bin/nanobench-train does not start: {error}") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it prints nothing"])[-1]
        raise BundleError(f"{build}/bin/nanobench-train does not start: {last}")
    facts = json.loads(done.stdout)
    return {"version": facts["version"], "libtorch": facts["libtorch"]}


def write_manifest(folder, versions, absent):
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            files[str(path.relative_to(folder))] = {"bytes": path.stat().st_size, "sha256": digest}
    manifest = {"schema_version": SCHEMA_VERSION, **versions, "machine": os.uname().machine}
    manifest.update(absent=absent, bytes=sum(file["bytes"] for file in files.values()), files=files)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return manifest


def check_size(manifest):
    if manifest["bytes"] <= LARGEST_BYTES:
        return
    largest = sorted(manifest["files"].items(), key=lambda item: -item[1]["bytes"])[:3]
    shown = ", ".join(f"{name} {file['bytes'] / (1 << 20):.1f} MiB" for name, file in largest)
    raise BundleError(
        f"the bundle has {manifest['bytes'] / (1 << 20):.1f} MiB, more than the {LARGEST_BYTES >> 20} MiB that it may "
        f"have; the largest: {shown}; build with CMAKE_BUILD_TYPE=Release, without debug information"
    )


def make(arguments):
    folder, build = pathlib.Path(arguments.folder), pathlib.Path(arguments.build)
    if not (build / "bin").is_dir():
        raise BundleError(f"{build} is not a build folder: it has no bin/")
    check_folder(folder, arguments.replace)
    versions = version_of(build)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = pathlib.Path(tempfile.mkdtemp(prefix=folder.name + ".", dir=folder.parent))
    try:
        absent = add_programs(build, fresh)
        add_files(fresh)
        absent.update(add_golden(pathlib.Path(arguments.golden or build / "tests/golden/golden"), fresh))
        manifest = write_manifest(fresh, versions, absent)
        check_size(manifest)
        fresh.chmod(0o755)
        if folder.is_dir():
            shutil.rmtree(folder)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    for name, reason in absent.items():
        print(f"nanobench: without {name}: {reason}", file=sys.stderr)
    print(f"{folder}: {len(manifest['files'])} files, {manifest['bytes'] / (1 << 20):.1f} MiB")


def exit_code_of(work, what, *known):
    """Calls `work`; errors of the known kinds, and what the system refuses, become one sentence and exit code 2."""
    try:
        work()
    except (BundleError, libraries.LibraryError, elf.NotElf, *known) as error:
        print(f"nanobench: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"nanobench: cannot make the {what}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def main(argv):
    return exit_code_of(lambda: make(make_parser().parse_args(argv[1:])), "bundle")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
