"""Whether a store that went through everything holds what an undisturbed one holds."""

import json
import re
import sqlite3
import subprocess

# What differs between two undisturbed stores as well: the command, times of day, file names, the load of the machine.
OTHER_FACTS = ("command", "planned_at")
OTHER_TABLES = ("disturbed_runs", "reproduce")
OF_LOAD = ("disturbed", "what the machine did")  # in warnings and notes


def report_of(program, store):
    """The report of the store's newest plan without what differs between undisturbed stores, or a sentence."""
    done = subprocess.run([program, "report", "--db", store, "--format", "json"], capture_output=True, text=True)
    if done.returncode != 0:
        return f"report ended with {done.returncode}: {done.stderr.strip()}"
    report = json.loads(done.stdout)
    for name in OTHER_FACTS:
        report["facts"].pop(name, None)
    for name in OTHER_TABLES:
        report["tables"].pop(name, None)
    for name in ("warnings", "notes"):
        report[name] = [text for text in report[name] if not any(load in text for load in OF_LOAD)]
    return without_run_numbers(report)


def without_run_numbers(value):
    if isinstance(value, dict):
        return {key: without_run_numbers(item) for key, item in value.items() if key not in ("run", "run_id")}
    if isinstance(value, list):
        return [without_run_numbers(item) for item in value]
    return re.sub(r"\brun \d+\b", "run", value) if isinstance(value, str) else value


def differences(ours, theirs, path=""):
    """The JSON pointers at which two documents differ, with both values."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted(ours.keys() | theirs.keys())
        return [found for key in keys for found in differences(ours.get(key), theirs.get(key), f"{path}/{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs))
        return [found for i, (one, other) in pairs for found in differences(one, other, f"{path}/{i}")]
    if isinstance(ours, list) and isinstance(theirs, list):
        more = [f"{path} has also {str(item)[:300]}" for item in ours if item not in theirs]
        return more + [f"{path} lacks {str(item)[:300]}" for item in theirs if item not in ours]
    return [] if ours == theirs else [f"{path}: {str(ours)[:160]} instead of {str(theirs)[:160]}"]


def evidence_of(store):
    """(cell, seed) -> all samples of its completed runs; the list has one entry per run."""
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        runs = database.execute("SELECT id, cell, seed FROM runs WHERE outcome = 'completed' ORDER BY id").fetchall()
        evidence = {}
        for number, cell, seed in runs:
            select = "SELECT metric, step, value FROM samples WHERE run_id = ? ORDER BY metric, step"
            evidence.setdefault((cell, seed), []).append(database.execute(select, [number]).fetchall())
    return evidence


class Reference:
    """What an undisturbed store holds; `problems` compares another one with it."""

    def __init__(self, program, store):
        self.program = program
        self.report = report_of(program, store)
        self.evidence = evidence_of(store)
        if isinstance(self.report, str):
            raise SystemExit(self.report)

    def problems(self, name, store):
        found = []
        check = subprocess.run([self.program, "db", "check", store], capture_output=True, text=True)
        if check.returncode != 0:
            found.append(f"{name}: db check ended with {check.returncode}: {(check.stdout + check.stderr)[-600:]}")
        evidence = evidence_of(store)
        for cell in sorted(self.evidence.keys() | evidence.keys()):
            runs = evidence.get(cell, [])
            if len(runs) != 1:
                found.append(f"{name}: {cell} is there {len(runs)} times")
            elif runs != self.evidence.get(cell):
                found.append(f"{name}: {cell} has {len(runs[0])} samples, or other ones")
        report = report_of(self.program, store)
        if isinstance(report, str):
            return [*found, f"{name}: {report}"]
        return found + [f"{name}: the report's {text}" for text in differences(report, self.report)]
