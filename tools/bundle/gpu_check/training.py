"""One run of `nanobench train`, with its trace."""

import dataclasses
import json
import pathlib

import processes
from parts import printable
from problems import Failed

SHOW_SECONDS = 60


@dataclasses.dataclass
class Answer:
    name: str
    outcome: str  # of core/protocol/FORMAT.md
    message: str
    facts: dict
    trace: dict  # None unless completed
    seconds: float

    def require_completed(self):
        if self.outcome != "completed":
            raise Failed(f"{self.name} ended as {self.outcome}: {self.message}")
        return self


def show_command(part, record, scale):
    return [part.program("nanobench"), "show", record, "--scale", scale, "--config"]


def show_config(part, record, scale):
    return json.loads(part.run(show_command(part, record, scale), seconds=SHOW_SECONDS).stdout)


def stop_after(config, steps):
    """With a validation before and after, and no step that is not timed."""
    config["run"].update(stop_after=steps, val_every=steps, untimed_steps=0)
    return config


def suite_config(part, record, scale, steps):
    """A record's configuration at a scale, stopped after `steps`."""
    return stop_after(show_config(part, record, scale), steps)


def write_config(part, config, name):
    file = part.folder / f"{name.replace('/', '_')}.json"
    file.write_text(json.dumps(config, indent=1), encoding="utf-8")
    return file


def command(part, file, device, dtype, kernels, trace):
    """Of `nanobench train`; the runs are small, so that more threads would mostly wait for each other."""
    words = [part.program("nanobench"), "train", file, "--device", device, "--dtype", dtype, "--kernels", kernels]
    return [*words, "--threads", "1", "--trace", trace, "--json", "--quiet"]


def train(part, config, name, device, dtype="float32", kernels="fused", seconds=None):
    """config: a dictionary, or a file with one. Throws Failed if the program itself fails."""
    file = config if isinstance(config, pathlib.Path) else write_config(part, config, name)
    trace = part.folder / "trace.json"
    trace.unlink(missing_ok=True)
    finished = processes.run(command(part, file, device, dtype, kernels, trace), part, seconds=seconds)
    problem = processes.how_it_ended("nanobench train", finished)
    if finished.was_stopped or finished.code < 0:
        raise Failed(f"{name}: {problem}")
    try:
        facts = json.loads(finished.stdout)["facts"]
        outcome, message = facts["outcome"], printable(str(facts.get("message") or ""))
    except (ValueError, KeyError) as error:
        raise Failed(
            f"{name}: {problem or 'nanobench train printed no facts'}{processes.last_line(finished)}"
        ) from error
    values = json.loads(trace.read_text(encoding="utf-8")) if outcome == "completed" else None
    return Answer(name, outcome, message, facts, values, finished.seconds)
