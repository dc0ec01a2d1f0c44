#!/usr/bin/env python3
"""Puts the chart library into a folder (.deps/ of the checkout) from the wheel pinned in vl_convert.json.

    install_vl_convert.py DEPS_FOLDER CACHE_FOLDER

Result: DEPS/vl_convert with the Python package vl_convert (draws SVG from Vega-Lite), vega_bundle.js (Vega, Vega-Lite and
Vega-Embed as one script, which is compiled into the program), the licence, and `stamp`: a folder of this name is complete.
Exit code 0: installed; 2: it says in one sentence why not; 130: interrupted.
"""

import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time
import zipfile

from fetch_wheel import SetupError, fetch, run_setup, say
from pip_settings import read_pip_settings

PINS = pathlib.Path(__file__).parent / "vl_convert.json"
WANTED = re.compile(r"vl_convert/[^/]+")
LICENCE = re.compile(r"[^/]*\.dist-info/licenses/(.+)")
BUNDLE = """
import sys, vl_convert
text = vl_convert.javascript_bundle(vl_version=sys.argv[1])
assert len(text) > 100_000 and "</script" not in text.lower() and "<!--" not in text, "no script for a page"
open(sys.argv[2], "w", encoding="utf-8", newline="").write(text)
"""


def main(deps, cache):
    pin, vega_lite = read_pin()
    place = deps / "vl_convert"
    if (place / "stamp").is_file() and (place / "stamp").read_text() == stamp_text(pin, vega_lite):
        return
    deps.mkdir(parents=True, exist_ok=True)
    begin_s = time.monotonic()
    say(f"chart library: {pin['bytes'] >> 20} MB to download once, into {cache}")
    wheel = fetch(pin, cache, read_pip_settings())
    install(place, wheel, stamp_text(pin, vega_lite), vega_lite)
    say(f"chart library unpacked into {place} after {time.monotonic() - begin_s:.0f} s")


def read_pin():
    pins = json.loads(PINS.read_text())
    machine = platform.machine()
    if machine not in pins or sys.platform != "linux":
        raise SetupError(
            f"there is no vl-convert {pins['version']} wheel for {sys.platform} {machine}: build without charts, "
            "NANOBENCH_CHARTS=OFF ./nanobench ..."
        )
    return pins[machine], pins["vega_lite"]


def stamp_text(pin, vega_lite):
    return f"{pin['file']} {pin['sha256']} Vega-Lite {vega_lite}\n"


def install(place, wheel, stamp, vega_lite):
    """Unpacks beside the final place and renames: the folder is there complete or not at all."""
    for leftover in place.parent.glob(".unpacking-charts-*"):
        shutil.rmtree(leftover)
    fresh = place.parent / f".unpacking-charts-{os.getpid()}"
    unpack(wheel, fresh)
    made = subprocess.run(
        [sys.executable, "-B", "-c", BUNDLE, vega_lite, str(fresh / "vega_bundle.js")],
        env={**os.environ, "PYTHONPATH": str(fresh)},
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        why = (made.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        raise SetupError(
            f"the chart library cannot make its script ({why}); NANOBENCH_CHARTS=OFF builds without charts"
        )
    (fresh / "stamp").write_text(stamp)
    if place.exists():
        place.rename(fresh / "old")
    fresh.rename(place)
    shutil.rmtree(place / "old", ignore_errors=True)


def unpack(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            licence = LICENCE.fullmatch(member.filename)
            if licence:
                member.filename = f"licences/{licence[1]}"
            elif not WANTED.fullmatch(member.filename):
                continue
            archive.extract(member, folder)


if __name__ == "__main__":
    run_setup(main, __doc__, "the chart library")
