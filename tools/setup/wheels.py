"""Pinned wheels for the installers: downloaded by pip into the cache, accepted only with the pinned sha256.

pip brings the person's own settings: index, mirror, proxy, certificates, folders of wheels (PIP_FIND_LINKS). A wheel appears
in the cache complete or not at all; what is there already needs no network. Stopping the program at any moment loses
at most the wheel that is on its way.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from progress import Progress, say

Pin = dict[str, Any]  # project, version, file, bytes, sha256

CHUNK_BYTES = 1 << 20
POLL_S = 0.2  # how often the size of a growing file is read
TOLD_LINES = 15  # of pip, when it fails
ATTEMPTS = 2  # a connection may break inside a file, and pip before 25.1 then gives up


class SetupError(Exception):
    """One sentence for the user: what failed, and what to do."""


def run_setup(install: Callable[[pathlib.Path, pathlib.Path], None], usage: str, what: str) -> None:
    """Calls install(DEPS_FOLDER, CACHE_FOLDER) with the command-line arguments; exits with the matching exit code."""
    if len(sys.argv) != 3:
        sys.exit(usage)

    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt  # like Ctrl-C: pip ends before we do

    signal.signal(signal.SIGTERM, stop)
    try:
        install(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
    except SetupError as error:
        say(str(error))
        sys.exit(2)
    except OSError as error:
        say(f"cannot set up {what}: {error}; put this right, then run the same command again")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def read_pins(name: str, what: str, otherwise: str) -> tuple[list[Pin], dict[str, Any]]:
    """Returns the wheels for this machine from the file with this name, and the whole file."""
    pins = json.loads((pathlib.Path(__file__).parent / name).read_text())
    machine = platform.machine()
    if machine not in pins or sys.platform != "linux":
        raise SetupError(f"there is no {what} {pins['version']} wheel for {sys.platform} {machine}: {otherwise}")
    return pins[machine], pins


def fetch(pins: list[Pin], cache: pathlib.Path, what: str) -> list[pathlib.Path]:
    """Returns the verified wheels, which are in the folder `cache`. Raises SetupError if pip does not deliver one."""
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache):
        missing = [pin for pin in pins if not _is_good(cache / pin["file"], pin)]
        if missing:
            begin_s = time.monotonic()
            megabytes = sum(pin["bytes"] for pin in missing) >> 20
            say(f"{what}: {megabytes} MB to download once, into {cache}")
            progress = Progress(what, sum(pin["bytes"] for pin in missing))
            here = 0
            for pin in missing:
                _download(pin, cache, lambda size, here=here: progress.show(here + size))
                here += pin["bytes"]
            progress.close()
            say(f"{what} is here and verified after {time.monotonic() - begin_s:.0f} s")
    return [cache / pin["file"] for pin in pins]


def check_space(needs: dict[pathlib.Path, int], what: str) -> None:
    """Raises SetupError if a disk has less space than its folders need together."""
    disks: dict[int, tuple[pathlib.Path, int]] = {}
    for folder, needed in needs.items():
        first, before = disks.get(os.stat(folder).st_dev, (folder, 0))
        disks[os.stat(folder).st_dev] = (first, before + needed)
    for folder, needed in disks.values():
        free = shutil.disk_usage(folder).free
        if free < needed:
            raise SetupError(
                f"not enough disk space in {folder}: {what} needs {needed >> 20} MB, {free >> 20} MB are free; "
                "free some, or point XDG_CACHE_HOME to another disk"
            )


def bytes_to_download(pins: list[Pin], cache: pathlib.Path) -> int:
    """Twice the size of what is missing: pip downloads beside the place that it copies to."""
    return 2 * sum(pin["bytes"] for pin in pins if not (cache / pin["file"]).exists())


def unpack(
    wheel: pathlib.Path,
    folder: pathlib.Path,
    place_of: Callable[[str], str | None],
    show: Callable[[int], None] = lambda unpacked_bytes: None,
) -> None:
    """Unpacks each file of the wheel to the place assigned to its name; None leaves it out. Tells `show` how far it is."""
    unpacked_bytes = 0
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            place = None if member.is_dir() else place_of(member.filename)
            if place is not None:
                member.filename = place
                archive.extract(member, folder)
                unpacked_bytes += member.file_size
                show(unpacked_bytes)


def unpacked_size(wheel: pathlib.Path, place_of: Callable[[str], str | None]) -> int:
    """Bytes that unpack() will write."""
    with zipfile.ZipFile(wheel) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        return sum(member.file_size for member in members if place_of(member.filename) is not None)


@contextlib.contextmanager
def _locked(cache: pathlib.Path) -> Iterator[None]:
    """One cache may serve several checkouts. Removes what a killed download left."""
    with open(cache / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another download into {cache} is running; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        for leftover in cache.glob(".incoming-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield


def _is_good(path: pathlib.Path, pin: Pin) -> bool:
    if not path.is_file() or path.stat().st_size != pin["bytes"]:
        return False
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest() == pin["sha256"]


def _download(pin: Pin, cache: pathlib.Path, show: Callable[[int], None]) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        with tempfile.TemporaryDirectory(prefix=".incoming-", dir=cache) as folder:
            place = pathlib.Path(folder)
            if _run_pip(pin, place, show) and _is_good(place / pin["file"], pin):
                os.replace(place / pin["file"], cache / pin["file"])
                return
            _tell_words_of_pip(place)
        if attempt < ATTEMPTS:
            say(f"pip did not bring {pin['file']}; trying once more")
    raise SetupError(
        f"cannot download {pin['file']} with its pinned sha256: the lines of pip above say why; check "
        "the network and `pip config list` (PIP_INDEX_URL names another index), then run the same command again"
    )


def _run_pip(pin: Pin, place: pathlib.Path, show: Callable[[int], None]) -> bool:
    """Whether pip finds the wheel with the pinned hash in the folder. Its words are in the folder's file `words`."""
    requirements = place / "requirements.txt"
    requirements.write_text(f"{pin['project']}=={pin['version']} --hash=sha256:{pin['sha256']}\n")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    # pip's cache would be a second copy, and might contain a file that another program damaged.
    command += ["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    command += ["--implementation", "cp", "--python-version", "3.11"]
    for system in pin["file"].removesuffix(".whl").split("-")[-1].split("."):
        command += ["--platform", system]
    command += ["--dest", str(place), "--requirement", str(requirements)]
    # The file is downloaded to its final disk. From pip 25.1 on, a broken connection is resumed inside the file. People forbid pip
    # outside an environment so that it installs nothing there, which this does not.
    environment = {"PIP_RESUME_RETRIES": "5", **os.environ, "TMPDIR": str(place), "PIP_REQUIRE_VIRTUALENV": "0"}
    with (
        open(place / "words", "wb") as words,
        subprocess.Popen(command, stdout=words, stderr=words, env=environment) as pip,
    ):
        try:
            while pip.poll() is None:
                show(_largest_file(place))
                _wait(pip, POLL_S)
        except BaseException:
            pip.terminate()
            raise
    return pip.returncode == 0


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def _largest_file(folder: pathlib.Path) -> int:
    """Bytes of the file that pip is writing, in whatever folder it makes for it."""
    largest = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                largest = max(largest, os.stat(os.path.join(path, name)).st_size)
    return largest


def _tell_words_of_pip(place: pathlib.Path) -> None:
    for line in (place / "words").read_text(errors="replace").splitlines()[-TOLD_LINES:]:
        say(f"  {line}")
