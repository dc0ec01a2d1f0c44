#!/usr/bin/env python3
"""Puts the chart library into a folder (.deps/ of the checkout) from the wheel pinned in vl_convert.json.

    install_vl_convert.py DEPS_FOLDER CACHE_FOLDER

Result: DEPS/vl_convert with the Python package vl_convert (draws SVG from Vega-Lite), vega_bundle.js (Vega, Vega-Lite and
Vega-Embed as one script, which is compiled into the program), the licence, and `stamp`: a folder of this name is complete.
Exit code 0: installed; 2: one sentence on stderr says why not; 130: interrupted.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from progress import say
from wheels import Pin, SetupError, fetch, read_pins, run_setup, unpack

WANTED = re.compile(r"vl_convert/[^/]+")
LICENCE = re.compile(r"[^/]*\.dist-info/licenses/(.+)")
BUNDLE = """
import sys, vl_convert
text = vl_convert.javascript_bundle(vl_version=sys.argv[1])
assert len(text) > 100_000 and "</script" not in text.lower() and "<!--" not in text, "no script for a page"
open(sys.argv[2], "w", encoding="utf-8", newline="").write(text)
"""


def main(deps: pathlib.Path, cache: pathlib.Path) -> None:
    pin, vega_lite = read_pin()
    place = deps / "vl_convert"
    if (place / "stamp").is_file() and (place / "stamp").read_text() == stamp_text(pin, vega_lite):
        return
    deps.mkdir(parents=True, exist_ok=True)
    wheel = fetch([pin], cache, "chart library")[0]
    begin_s = time.monotonic()
    install(place, wheel, stamp_text(pin, vega_lite), vega_lite)
    say(f"chart library unpacked into {place} in {time.monotonic() - begin_s:.0f} s")


def read_pin() -> tuple[Pin, str]:
    pins, file = read_pins(
        "vl_convert.json", "vl-convert", "build without charts, NANOBENCH_CHARTS=OFF ./nanobench ..."
    )
    return pins[0], file["vega_lite"]


def stamp_text(pin: Pin, vega_lite: str) -> str:
    return f"{pin['file']} {pin['sha256']} Vega-Lite {vega_lite}\n"


def place_of(name: str) -> str | None:
    licence = LICENCE.fullmatch(name)
    if licence:
        return f"licences/{licence[1]}"
    return name if WANTED.fullmatch(name) else None


def install(place: pathlib.Path, wheel: pathlib.Path, stamp: str, vega_lite: str) -> None:
    """Unpacks beside the final place and renames: the folder exists complete or not at all."""
    for leftover in place.parent.glob(".unpacking-charts-*"):
        shutil.rmtree(leftover)
    fresh = place.parent / f".unpacking-charts-{os.getpid()}"
    unpack(wheel, fresh, place_of)
    made = subprocess.run(
        [sys.executable, "-B", "-c", BUNDLE, vega_lite, str(fresh / "vega_bundle.js")],
        env={**os.environ, "PYTHONPATH": str(fresh)},
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        why = (made.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise SetupError(
            f"the chart library cannot make its script ({why}); NANOBENCH_CHARTS=OFF builds without charts"
        )
    (fresh / "stamp").write_text(stamp)
    os.sync()  # a folder of this name is complete, also after a power cut
    if place.exists():
        place.rename(fresh / "old")
    fresh.rename(place)
    shutil.rmtree(place / "old", ignore_errors=True)


if __name__ == "__main__":
    run_setup(main, __doc__, "the chart library")
