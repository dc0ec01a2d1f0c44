#!/usr/bin/env python3
"""How often a gate finds a slowdown that is planted: the candidate is the engine itself, with a clock that runs fast.

usage: planted_slowdown.py BUILD_FOLDER [--trials N] [--slowdown FRACTION] [--seeds N] [--suite FILE]

Each trial is one `nanobench gate` of both engines in turns. Prints its answer and seconds, and at the end how many
found the slowdown, how often each answer came, and the mean change with its standard error. --slowdown 0 shows the
false alarms, and whether one side has an advantage.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
static int (*real)(clockid_t, struct timespec*);
static long long start;
int clock_gettime(clockid_t id, struct timespec* out) {
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, out);
  if (id != CLOCK_MONOTONIC) return result;
  long long now = out->tv_sec * 1000000000LL + out->tv_nsec;
  if (!start) start = now;
  now = start + (long long)((double)(now - start) * (1.0 + SLOWDOWN));
  out->tv_sec = now / 1000000000LL;
  out->tv_nsec = now % 1000000000LL;
  return result;
}
"""

SUITE = {
    "name": "planted",
    "design": "history",
    "records": ["record17"],
    "scale": "smoke",
    "seeds": [1, 2, 3],
    "threads": 1,
    "data": "synthetic",
}


def make_candidate(folder, engine, slowdown):
    """A program that starts the engine with the other clock."""
    source, library, program = folder / "clock.c", folder / "clock.so", folder / "nanobench-train"
    source.write_text(SHIM)
    subprocess.run(
        ["cc", "-O2", "-shared", "-fPIC", f"-DSLOWDOWN={slowdown}", "-o", library, source, "-ldl"], check=True
    )
    program.write_text(f'#!/bin/sh\nLD_PRELOAD="{library}" exec "{engine}" "$@"\n')
    program.chmod(0o755)
    return program


def trial(nanobench, engine, candidate, suite, database, seeds):
    """(verdict on the training clock, its change, seconds)"""
    begun = time.monotonic()
    done = subprocess.run(
        [
            nanobench,
            "gate",
            suite,
            "--db",
            database,
            "--baseline-engine",
            engine,
            "--seeds",
            str(seeds),
            "--only",
            "time",
            "--quiet",
            "--json",
        ],
        env=dict(os.environ, NANOBENCH_ENGINE=str(candidate)),
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout:
        sys.exit(done.stderr.strip())
    checks = json.loads(done.stdout)["tables"]["checks"]
    clock = next(check for check in checks if check["metric"] == "training clock")
    return clock["verdict"], clock["change"], time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--slowdown", type=float, default=0.03)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--suite", type=pathlib.Path)
    options = parser.parse_args()
    bin_folder = options.build.resolve() / "bin"
    engine = bin_folder / "nanobench-train"
    answers, changes = collections.Counter(), []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        candidate = make_candidate(folder, engine, options.slowdown)
        suite = options.suite or folder / "suite.json"
        if not options.suite:
            suite.write_text(json.dumps(SUITE))
        for number in range(options.trials):
            verdict, change, seconds = trial(
                bin_folder / "nanobench", engine, candidate, suite, folder / f"{number}.db", options.seeds
            )
            answers[verdict] += 1
            changes.append(100 * change)
            print(f"{verdict}: {100 * change:+.2f} %, {seconds:.0f} s", flush=True)
    print(f"{answers['regressed']} of {options.trials} found {100 * options.slowdown:g} %")
    print(", ".join(f"{count} {verdict}" for verdict, count in answers.most_common()))
    if len(changes) > 1:
        error = statistics.stdev(changes) / len(changes) ** 0.5
        print(f"mean change {statistics.mean(changes):+.2f} %, standard error {error:.2f} %")


if __name__ == "__main__":
    main()
