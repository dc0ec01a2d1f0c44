"""The one JSON file (docs/schema/gpu_check.schema.json), and the summary for people."""

import json
import math
import os

SCHEMA_VERSION = 1
PASSED, FAILED, INCOMPLETE, INTERRUPTED = 0, 1, 4, 130


def outcome_of(parts, was_interrupted):
    """The outcome as one word and as exit code."""
    if was_interrupted:
        return "interrupted", INTERRUPTED
    if any(part["outcome"] == "failed" for part in parts):
        return "failed", FAILED
    if not all(part["is_complete"] for part in parts):
        return "incomplete", INCOMPLETE
    return "passed", PASSED


def _finite(value):
    """JSON has no infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def write(document, file):
    """Writes the file completely or not at all."""
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    fresh.write_text(json.dumps(_finite(document), indent=1) + "\n", encoding="utf-8")
    fresh.replace(file)


def _number(value):
    return format(value, ".4g") if isinstance(value, float) else str(value)


HEADLINES = {
    "parity": ("gpu_to_cpu", "largest_share_of_tolerance", "tests"),
    "micro": ("cases",),
    "history": ("scale", "rows_done", "rows"),
    "side_by_side": ("median", "min", "max", "n"),
}


def _step_line(part, step):
    shown = [f"{key} {_number(step['numbers'][key])}" for key in HEADLINES.get(part, ()) if key in step["numbers"]]
    text = step["reason"] or ", ".join(shown)
    return f"    {step['outcome'].replace('_', ' '):8} {step['name']}" + (f": {text}" if text else "")


def summary(document):
    machine = document["machine"]
    gpus = "; ".join(machine["gpus"]) or "no GPU"
    lines = [f"{machine['cpu']}, {machine['cores']} cores; {gpus}; torch {machine['torch']}"]
    for part in document["parts"]:
        lines.append(f"{part['outcome'].replace('_', ' '):8} {part['name']} ({part['seconds']:.0f} s)")
        reasons = {step["reason"] for step in part["steps"]}
        if part["outcome"] == "not_run" and len(reasons) <= 1:
            lines.append(f"    {part['reason']}")
            continue
        lines += [_step_line(part["name"], step) for step in part["steps"]]
    return "\n".join([*lines, f"{document['outcome']} in {document['seconds']:.0f} s"])
