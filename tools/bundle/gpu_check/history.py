"""Part `history`: `nanobench run speedrun_history`, as far as time allows. With --work the same command continues."""

import json

import processes
from problems import Failed, NotRun

SUITE = "speedrun_history"
# With the GPU as many seeds as fit: a seed of all records after the other.
SCALES = {"gpu": "official_brief", "cpu": "smoke"}
SEEDS = {"gpu": "3", "cpu": "1"}
EXIT_INTERRUPTED = 130
# Kept for the step that is being computed, and the report.
SECONDS_TO_STOP = 45.0
EXIT_INCOMPLETE = 4
MEANS = ("val_loss", "step_ms", "mean_step_ms", "tokens_per_s", "peak_mib", "to_target_s")


def _mean(value):
    return value.get("mean", value.get("value")) if isinstance(value, dict) else value


def _row(row):
    """One of the suite's rows, as single values."""
    values = {name: _mean(row.get(name)) for name in (*MEANS, "speed_up", "published_step_ms", "published_speed_up")}
    return {"row": row["row"], **values, "completed": row["n"]["completed"], "planned": row["n"]["planned"]}


def _document(finished):
    try:
        document = json.loads(finished.stdout)
        return document, [_row(row) for row in document["tables"]["rows"]]
    except (ValueError, KeyError, TypeError) as error:
        problem = processes.how_it_ended("nanobench run", finished) or "nanobench run printed no document with rows"
        raise Failed(problem + processes.last_line(finished)) from error


def run_suite(part):
    settings = part.settings
    kind = "gpu" if settings.is_gpu else "cpu"
    scale = SCALES[kind]
    command = [part.program("nanobench"), "run", SUITE, "--scale", scale, "--seeds", SEEDS[kind]]
    command += ["--device", settings.device]
    command += ["--db", settings.work / "history.db", "--json", "--quiet"]
    if not settings.is_gpu:
        command += ["--threads", "1"]
    seconds = max(part.remaining() - SECONDS_TO_STOP, part.remaining() / 2)
    finished = processes.run(command, part, seconds=seconds, asks_s=SECONDS_TO_STOP)
    document, rows = _document(finished)
    done = [row for row in rows if row["completed"]]
    numbers = {"scale": scale, "rows": len(rows), "rows_done": len(done), "was_cut_short": finished.was_stopped}
    numbers["disturbed_runs"] = len(document["tables"].get("disturbed_runs", []))
    if finished.code not in (0, EXIT_INTERRUPTED):
        reason = (
            "a run failed"
            if finished.code == EXIT_INCOMPLETE
            else f"nanobench run ended with exit code {finished.code}"
        )
        raise Failed(reason + processes.last_line(finished), numbers, rows)
    if not done:
        raise NotRun(
            f"no run of {SUITE} at {scale} ended within {seconds:.0f} s; give it more with --limit history=SECONDS"
        )
    return numbers, rows


def run(part):
    part.step(SUITE, run_suite, needs_gpu=part.settings.is_gpu)
