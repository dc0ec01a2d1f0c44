"""Part `records`: every record of the catalogue trains on the GPU as on the CPU, from the same seed.

In float64 the operations of LibTorch compute everything, which shows that each record means the same on both. In bfloat16,
with the record's own casts, the GPU's kernels compute what they fit.
"""

import copy
import dataclasses
import json

import pairs_of_devices
import processes
import training
from problems import Failed

# Enough to show that the check itself works.
CPU_RECORDS = ("record12", "record89")
TYPES = (("float64", pairs_of_devices.FLOAT64_TOLERANCE), ("bfloat16", pairs_of_devices.BFLOAT16_TOLERANCE))
# In bfloat16 another run on the CPU has its logits multiplied by the first of these, half a unit in the last place: what
# roundings that fall otherwise make of a record. Some records are sensitive, because they divide a gradient that is mere
# rounding by its size, and one run may miss that: a record that differs by more gets the others too.
NUDGES = (1.0 + 2.0**-10, *(1.0 + part * 2.0**-11 for part in (-7, -5, -3, -1, 1, 3, 5, 7)))
NUDGE_FACTOR = 4.0
LIST_SECONDS = 60


@dataclasses.dataclass
class Run:
    """One training of a record: on the CPU by its kernels (`fused`), by single operations (`reference`) or with other
    roundings (`nudged`), or on the GPU."""

    record: str
    side: str
    command: list
    trace: object
    problem: str = None


def all_records(part):
    listed = part.run([part.program("nanobench"), "list", "records", "--json"], seconds=LIST_SECONDS)
    return [row["record"] for row in json.loads(listed.stdout)["tables"]["records"]]


def together(part, commands):
    """One result per command; as many at once as there are cores."""
    size = processes.at_once()
    for begin in range(0, len(commands), size):
        batch = [(command, {}) for command in commands[begin : begin + size]]
        yield from processes.run_together(batch, part)


def shown(part, records, scale):
    """Configuration by record."""
    commands = [training.show_command(part, record, scale) for record in records]
    configs = {}
    for record, finished in zip(records, together(part, commands), strict=True):
        problem = processes.how_it_ended("nanobench show", finished)
        if problem:
            raise Failed(f"{record} at {scale}: {problem}{processes.last_line(finished)}")
        configs[record] = json.loads(finished.stdout)
    return configs


def sides_of(part):
    """Name, device and kernels. Without a GPU, the CPU's two ways of computing are compared."""
    sides = [("fused", "cpu", "fused"), ("reference", "cpu", "reference")]
    return [*sides, ("gpu", part.settings.device, "fused")] if part.settings.is_gpu else sides


def configurations(part, records, is_bfloat16):
    """Those of pairs_of_devices, of many records at once."""
    configs = shown(part, records, "smoke")
    official = shown(part, records, "official") if is_bfloat16 else {}
    for record, config in configs.items():
        training.stop_after(config, pairs_of_devices.STEPS)
        if is_bfloat16:
            pairs_of_devices.round_as_the_record(config, official[record])
    return configs


def nudged(config, factor):
    other = copy.deepcopy(config)
    other["model"]["logit_scale"] = other["model"].get("logit_scale", 1.0) * factor
    return other


def make_run(part, record, side, config, device="cpu", dtype="float32", kernels="fused"):
    name = f"{record}_{dtype}_{side}"
    file, trace = training.write_config(part, config, name), part.folder / f"{name}.trace.json"
    trace.unlink(missing_ok=True)
    return Run(record, side, training.command(part, file, device, dtype, kernels, trace), trace)


def nudged_runs(part, configs, records, nudges):
    return [
        make_run(part, record, f"nudged{number}", nudged(configs[record], NUDGES[number]))
        for record in records
        for number in nudges
    ]


def make_runs(part, configs, dtype):
    return [
        make_run(part, record, side, config, device, dtype, kernels)
        for record, config in configs.items()
        for side, device, kernels in sides_of(part)
    ]


def train_all(part, runs):
    for run, finished in zip(runs, together(part, [run.command for run in runs]), strict=True):
        problem = processes.how_it_ended("nanobench train", finished)
        if problem or not run.trace.is_file():
            run.problem = (problem or "nanobench train left no trace") + processes.last_line(finished)


def distances(runs, tolerance, is_gpu):
    """One row per record: how far the sides lie apart, what is allowed, and what went wrong."""
    rows = []
    for record in dict.fromkeys(run.record for run in runs):
        own = {run.side: run for run in runs if run.record == record}
        problems = [f"{run.side}: {run.problem}" for run in own.values() if run.problem]
        row = dict.fromkeys(("apart", "cpu_fused_to_reference", "cpu_fused_to_nudged", "tolerance", "problem"))
        row = {"record": record, **row}
        if problems:
            rows.append({**row, "problem": "; ".join(problems)})
            continue
        traces = {side: json.loads(run.trace.read_text(encoding="utf-8")) for side, run in own.items()}
        spread = pairs_of_devices.distance(traces["fused"], traces["reference"])
        apart = pairs_of_devices.distance(traces["gpu"], traces["fused"]) if is_gpu else spread
        allowed = max(tolerance, pairs_of_devices.SPREAD_FACTOR * spread) if is_gpu else tolerance
        nudges = [
            pairs_of_devices.distance(traces["fused"], trace) for side, trace in traces.items() if "nudged" in side
        ]
        if nudges:
            row["cpu_fused_to_nudged"] = max(nudges)
            allowed = max(allowed, NUDGE_FACTOR * max(nudges))
        row.update(apart=apart, cpu_fused_to_reference=spread, tolerance=allowed)
        if not apart <= allowed:
            row["problem"] = f"the losses differ by {apart:.2g}, more than {allowed:.2g}"
        rows.append(row)
    return rows


def check(part, dtype, tolerance):
    is_gpu, is_bfloat16 = part.settings.is_gpu, dtype == "bfloat16"
    configs = configurations(part, all_records(part) if is_gpu else CPU_RECORDS, is_bfloat16)
    runs = make_runs(part, configs, "float32" if is_bfloat16 else dtype)
    runs += nudged_runs(part, configs, configs, [0]) if is_bfloat16 else []
    train_all(part, runs)
    rows = distances(runs, tolerance, is_gpu)
    beyond = [row["record"] for row in rows if row["problem"] and row["apart"] is not None]
    if is_bfloat16 and beyond:
        more = nudged_runs(part, configs, beyond, range(1, len(NUDGES)))
        train_all(part, more)
        rows = distances([*runs, *more], tolerance, is_gpu)
    apart = [row["apart"] for row in rows if row["apart"] is not None]
    wrong = [f"{row['record']} ({row['problem']})" for row in rows if row["problem"]]
    numbers = {"records": len(rows), "problems": len(wrong), "largest": max(apart, default=None)}
    if wrong:
        raise Failed(
            f"{len(wrong)} of {len(rows)} records train differently in {dtype}: {wrong[0]} first", numbers, rows
        )
    return numbers, rows


def run(part):
    for dtype, tolerance in TYPES:
        part.step(dtype, check, dtype, tolerance, needs_gpu=part.settings.is_gpu)
