"""What the tests of the packages share: where things are, packages of the build, and folders that look like LibTorch or torch.

As a program it puts the packages of the build into the folder NANOBENCH_PACKAGES, where the tests then find them.
"""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("NANOBENCH", ROOT / "build/release/bin/nanobench")).resolve()
BUILD = PROGRAM.parents[1]
WHEEL_MAKER, DEB_MAKER = ROOT / "tools/package/make_wheel.py", ROOT / "tools/package/make_deb.py"
SUFFIXES = {WHEEL_MAKER: ".whl", DEB_MAKER: ".deb"}
PACKAGES = pathlib.Path(os.environ["NANOBENCH_PACKAGES"]) if "NANOBENCH_PACKAGES" in os.environ else None
SYSTEM_PYTHON = "/usr/bin/python3"
AUDITWHEEL = ROOT / ".deps/dev/bin/auditwheel"

for folder in ("tools/setup", "tools/bundle", "tools/package"):
    sys.path.insert(0, str(ROOT / folder))
import elf  # noqa: E402 (the lines above come first)
import install_libtorch  # noqa: E402
import make_bundle  # noqa: E402
import make_deb  # noqa: E402
import make_wheel  # noqa: E402
import staging  # noqa: E402


def temporary_folder(case):
    """A folder that lives as long as the test or the class of tests."""
    folder = tempfile.TemporaryDirectory()
    (case.addClassCleanup if isinstance(case, type) else case.addCleanup)(folder.cleanup)
    return pathlib.Path(folder.name).resolve()


def make(folder, build=BUILD, maker=WHEEL_MAKER, **variables):
    words = [sys.executable, "-B", maker, "--build", build, folder]
    environment = {**os.environ, **variables}
    return subprocess.run(list(map(str, words)), env=environment, capture_output=True, text=True)


def make_in(folder, maker=WHEEL_MAKER, **variables):
    """The package of the build. Throws AssertionError with what its maker said."""
    done = make(folder, maker=maker, **variables)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return next(path for path in folder.iterdir() if path.suffix == SUFFIXES[maker])


@functools.cache
def package_of_the_build(maker=WHEEL_MAKER):
    """Made once for all tests; alone in its folder. Throws AssertionError with what its maker said."""
    if PACKAGES:
        return next(path for path in (PACKAGES / maker.stem).iterdir() if path.suffix == SUFFIXES[maker])
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    return make_in(pathlib.Path(folder.name) / "to send", maker)


def missing_deb_tool():
    """Why this machine cannot make and try the Debian package; empty if it can."""
    for tool in ("cpack", "dpkg-deb", SYSTEM_PYTHON):
        if shutil.which(tool) is None:
            return f"there is no {tool} on this machine, which the tests of the Debian package need"
    return ""


def libtorch():
    """The LibTorch of the build: the folder with include/ and lib/."""
    return make_bundle.libtorch_folder(BUILD).parent


def completed_runs(document):
    """Of `nanobench list runs --json`, without pilots."""
    rows = json.loads(document)["tables"]["runs"]
    return [row for row in rows if row["outcome"] == "completed" and row["suite"] != "pilot"]


def write_libtorch(folder, version=None):
    """A folder that looks like LibTorch; without a version it has no header that states one."""
    (folder / "lib").mkdir(parents=True)
    (folder / "lib/libtorch_cpu.so").write_text("")
    if version:
        lines = zip(("MAJOR", "MINOR", "PATCH"), version.split("."))
        (folder / "include/torch").mkdir(parents=True)
        (folder / "include/torch/version.h").write_text("".join(f"#define TORCH_VERSION_{a} {b}\n" for a, b in lines))
    return folder


def write_installed_torch(site, version, libraries=None):
    """An installed torch of that version, with LibTorch's own libraries or with a file that only has the name."""
    (site / f"torch-{version}.dist-info").mkdir(parents=True)
    (site / f"torch-{version}.dist-info/METADATA").write_text(
        f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
    )
    if libraries:
        (site / "torch").mkdir()
        (site / "torch/lib").symlink_to(libraries)
    else:
        write_libtorch(site / "torch")
    return site


__all__ = ["elf", "install_libtorch", "make_deb", "make_wheel", "staging"]


def main():
    shutil.rmtree(PACKAGES, ignore_errors=True)
    for maker in [WHEEL_MAKER] if missing_deb_tool() else [WHEEL_MAKER, DEB_MAKER]:
        print(make_in(PACKAGES / maker.stem, maker))


if __name__ == "__main__":
    main()
