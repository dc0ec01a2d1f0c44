"""Runners of one suite on one store, and everything that can befall them.

    tests/fault/torture --minutes 60

Rounds of some seconds, each on a new store: kill -9 of runners, engines or all, SIGSTOP, interruptions, a full disk
(tmpfs, as root), the store locked, a clock that is set back (libfaketime), limits of memory, files, file size and
processor time, up to four runners, merges in between. Then one undisturbed runner, and the store and the merged one must
hold what a store without any of this holds: each cell once, every sample, the same report. The simulated engine trains.
Exit code 1, and the folder of the round stays, if anything is wrong. Prints what was done, as JSON.
"""

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from torture_verdict import Reference
from torture_world import World

SUITE = {
    "name": "torture", "title": "Torture", "text": "Three cells whose runs are all alike.", "design": "history",
    "records": ["record12", "record13", "record14"], "scale": "smoke", "seeds": [1, 2, 3, 4, 5, 6], "threads": 1,
    "data": "synthetic",
    "engine": {"mock": {"steps": 20, "loss_sigma": 0.002, "step_cv": 0.01, "sleep_ms": 15}},
}  # fmt: skip
PATIENCE_S = 120


def parse_arguments():
    default = Path(__file__).resolve().parents[2] / "build/ci/bin/nanobench"
    parser = argparse.ArgumentParser(prog="tests/fault/torture", description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=sys.maxsize, help="at most this many")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of all random choices")
    parser.add_argument("--nanobench", default=str(default), help="the program")
    return parser.parse_args()


def play_round(reference, program, suite, folder, seed, disturbances):
    world = World(program, suite, folder, seed)
    try:
        for _ in range(disturbances):
            world.disturb()
        world.finish(PATIENCE_S)
        problems = world.problems + reference.problems("store", str(world.store))
        problems += reference.problems("merged", str(world.merged))
        if problems:
            shutil.copytree(world.folder, f"{folder}.kept", dirs_exist_ok=True)
    finally:
        world.close()
    return problems, world.counts, world.codes


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))  # the end of a round unmounts its disk
    top = Path(tempfile.mkdtemp(prefix="nanobench-torture-"))
    suite = top / "torture.json"
    suite.write_text(json.dumps(SUITE))
    program = shutil.copy(arguments.nanobench, top)  # a build meanwhile would be another engine
    undisturbed = str(top / "undisturbed.db")
    subprocess.run([program, "run", str(suite), "--db", undisturbed], check=True, capture_output=True)
    reference = Reference(program, undisturbed)
    end = time.monotonic() + 60 * arguments.minutes
    counts, codes, failed, done = Counter(), Counter(), 0, 0
    while time.monotonic() < end and done < arguments.rounds:
        seed = arguments.seed + done
        problems, more, ended = play_round(reference, program, suite, top / f"round{done}", seed, 15)
        counts, codes, done = counts + more, codes + ended, done + 1
        for text in problems:
            print(f"round {done - 1} (--seed {seed}): {text}", flush=True)
        failed += bool(problems)
    result = {
        "rounds": done, "failed_rounds": failed, "seed": arguments.seed, "done": dict(sorted(counts.items())),
        "exit_codes": {str(code): number for code, number in sorted(codes.items())},
    }  # fmt: skip
    print(json.dumps(result))
    if failed:
        print(f"what is left of the failed rounds: {top}", file=sys.stderr)
        return 1
    shutil.rmtree(top)
    return 0


if __name__ == "__main__":
    sys.exit(main())
