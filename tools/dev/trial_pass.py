#!/usr/bin/env python3
"""What a short pass for times would cost in precision, instead of turns over the whole runs.

usage: trial_pass.py DATABASE...

Reads the step times of the newest plan of each store, whose runs took turns, and estimates the time of each change
(a cell against the one before it) from a part of the steps: those in the middle, in a row. Prints how far the
estimates of the seeds spread, and how far their mean is off from that of all steps, since a schedule has phases.
"""

import argparse
import math
import pathlib
import sqlite3
import statistics
import sys

SHARES = (1.0, 0.5, 0.25, 0.1)

RUNS = """SELECT runs.id, plan_lines.cell, plan_lines.seed FROM plan_lines JOIN runs ON runs.id = plan_lines.run_id
          WHERE plan_lines.plan_id = (SELECT max(id) FROM plans) AND runs.outcome = 'completed'
          ORDER BY plan_lines.position"""
STEPS = "SELECT step, value FROM samples WHERE run_id = ? AND metric = 'train/step_ms'"


def times_of(file):
    """Step times by step, by seed and cell; cells in the plan's order."""
    store = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    cells, runs = [], {}
    for run, cell, seed in store.execute(RUNS):
        if cell not in cells:
            cells.append(cell)
        runs[(cell, seed)] = dict(store.execute(STEPS, (run,)))
    return cells, runs


def log_time(times, steps):
    return math.log(statistics.fmean(times[step] for step in steps if step in times))


def middle(steps, share):
    count = max(1, round(len(steps) * share))
    begin = (len(steps) - count) // 2
    return steps[begin : begin + count]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=pathlib.Path, nargs="+")
    cells, runs = [], {}
    for number, file in enumerate(parser.parse_args().database):
        cells, some = times_of(file)
        runs.update({(cell, (number, seed)): times for (cell, seed), times in some.items()})
    seeds = sorted({seed for _, seed in runs})
    steps = sorted(set.union(*(set(times) for times in runs.values()))) if runs else []
    if len(seeds) < 2 or not steps:
        sys.exit("needs the step times of two seeds or more")
    changes = list(zip(cells, cells[1:], strict=False))

    def differences(change, some):
        before, after = change
        return [log_time(runs[after, seed], some) - log_time(runs[before, seed], some) for seed in seeds]

    print(f"{len(changes)} changes, {len(seeds)} seeds, {len(steps)} timed steps")
    for share in SHARES:
        some = middle(steps, share)
        found = [differences(change, some) for change in changes]
        spread = statistics.median(statistics.stdev(values) for values in found)
        shifts = [
            statistics.fmean(values) - statistics.fmean(differences(change, steps))
            for values, change in zip(found, changes, strict=True)
        ]
        print(
            f"{share:5.0%} of the steps: sd of a change {100 * spread:.1f} %, "
            f"off by up to {100 * max(abs(shift) for shift in shifts):.1f} %"
        )


if __name__ == "__main__":
    main()
