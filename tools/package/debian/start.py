#!/usr/bin/python3
"""The commands `nanobench` and `nanobench-train` of the Debian package; the name of this file says which it is.

PYTHONPATH is not set: trainers of the user are children of the program, and keep their own packages.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve()
# Nothing is written into the installed folder, which would otherwise outlive the package.
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parents[1] / "lib/nanobench"))

from nanobench import launch  # noqa: E402 (the lines above come first)

{"nanobench": launch.run_nanobench, "nanobench-train": launch.run_engine}[HERE.name]()
