"""python3 -m nanobench: the same as the command `nanobench`."""

from nanobench.launch import run_nanobench

run_nanobench()
