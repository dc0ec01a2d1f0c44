#!/usr/bin/env python3
"""An engine as released before: it refuses every key of a run specification that it does not know, and trains nothing.

`--without POINTER` takes a setting from what it knows, as if that one had been added since.
"""
import json
import os
import sys
from pathlib import Path

KEYS = {"protocol", "run_id", "config", "seed", "dtype", "threads", "pin_threads", "device", "communicator", "kernels",
        "train_shards", "val_shards", "init_file", "trace_file", "profile_file", "operation", "mock", "external"}
MANDATORY = {"protocol", "run_id", "config", "seed", "dtype", "threads"}
SETTINGS = Path(__file__).parents[2] / "core" / "config" / "first_settings.json"


def refuse(file, pointer, reason):
    print(f"nanobench-train: {file}: {pointer}: {reason}", file=sys.stderr)
    sys.exit(2)


def check(file, group, pointer, known):
    for key, value in group.items():
        place = f"{pointer}/{key}"
        if isinstance(value, dict):
            check(file, value, place, known)
        elif place not in known:
            refuse(file + "#/config", place, "unknown key")


def main():
    options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    file = options["--spec"]
    spec = json.loads(Path(file).read_text())
    for key in spec.keys() - KEYS:
        refuse(file, f"/{key}", "unknown key")
    for key in MANDATORY - spec.keys():
        refuse(file, "/", f'the key "{key}" is missing')
    known = set(json.loads(SETTINGS.read_text())) - {options.get("--without")}
    check(file, spec["config"], "", known)

    def report(**event):
        os.write(int(options["--events-fd"]), (json.dumps(event) + "\n").encode())

    report(event="hello", protocol=1, engine="nanobench-train", engine_version="0.1.0", environment={},
           threads=spec["threads"], parameters=10)
    for step in range(3):
        report(event="step", step=step, loss=4 - step / 8, step_ms=2.0, train_ms=2.0 * (step + 1), window_tokens=0,
               learning_rate_factor=1.0, phases_ms={})
    report(event="eval", step=3, loss=3.5, train_ms=6.0, tokens=1024)
    report(event="finished", steps=3, timed_steps=3, train_ms=6.0, final_val_loss=3.5, peak_bytes=1000)


main()
