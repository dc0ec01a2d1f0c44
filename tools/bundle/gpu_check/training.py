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


def show_config(part, record, scale):
    finished = part.run([part.program("nanobench"), "show", record, "--scale", scale, "--config"], seconds=SHOW_SECONDS)
    return json.loads(finished.stdout)


def suite_config(part, record, scale, steps):
    """A record's configuration at a scale, stopped after `steps`, with a validation before and after."""
    config = show_config(part, record, scale)
    config["run"].update(stop_after=steps, val_every=steps, untimed_steps=0)
    return config


def write_config(part, config, name):
    file = part.folder / f"{name.replace('/', '_')}.json"
    file.write_text(json.dumps(config, indent=1), encoding="utf-8")
    return file


def train(part, config, name, device, dtype="float32", kernels="fused", seconds=None):
    """config: a dictionary, or a file with one. Throws Failed if the program itself fails."""
    file = config if isinstance(config, pathlib.Path) else write_config(part, config, name)
    trace = part.folder / "trace.json"
    trace.unlink(missing_ok=True)
    command = [part.program("nanobench"), "train", file, "--device", device, "--dtype", dtype, "--kernels", kernels]
    command += ["--threads", "1"]  # the runs are small: more threads would mostly wait for each other
    finished = processes.run([*command, "--trace", trace, "--json", "--quiet"], part, seconds=seconds)
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
