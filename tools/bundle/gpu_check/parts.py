"""A part of the check: steps, each of which passes, fails, or is not run, with a reason. No failure stops the steps after it."""

import dataclasses
import pathlib
import time

import processes
from problems import Failed, NotRun, Refused

TAIL_BYTES = 4000
LEAST_SECONDS = 1.0  # a step with less time left is not started


@dataclasses.dataclass
class Settings:
    """What all parts share."""

    device: str  # cuda or cpu
    programs: object
    environment: dict
    work: pathlib.Path
    logs: pathlib.Path
    python: str
    peer: str = None
    pairs: int = 5
    gpu_problem: str = None  # why there is no GPU here, if known

    @property
    def is_gpu(self):
        return self.device != "cpu"


def printable(text):
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text)


class Part:
    def __init__(self, name, settings, limit_s):
        self.name, self.settings, self.limit_s = name, settings, limit_s
        self.steps, self._begin = [], time.monotonic()
        self.environment = settings.environment
        self.folder = settings.work / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = settings.logs / f"{name}.log"
        self.log.write_text("", encoding="utf-8")

    def remaining(self):
        return self.limit_s - (time.monotonic() - self._begin)

    def program(self, name):
        return self.settings.programs.path(name)

    def step(self, name, work, *arguments, needs_gpu=False):
        """work(part, *arguments) returns numbers, or (numbers, rows)."""
        begin, outcome, reason, numbers, rows = time.monotonic(), "passed", None, {}, []
        self._write(f"--- {name}\n")
        try:
            if self.remaining() < LEAST_SECONDS:
                raise NotRun(f"the part's {self.limit_s:.0f} s were over before it")
            if needs_gpu and self.settings.gpu_problem:
                raise NotRun(self.settings.gpu_problem)
            result = work(self, *arguments)
            numbers, rows = result if isinstance(result, tuple) else (result or {}, [])
        except NotRun as problem:
            outcome, reason = "not_run", str(problem)
        except Failed as problem:
            outcome, reason, numbers, rows = "failed", str(problem), problem.numbers, problem.rows
        except Refused:
            raise
        except Exception as problem:  # of one step: the others continue, and the report includes it
            outcome, reason = "failed", f"{type(problem).__name__}: {problem}"
        if reason:
            self._write(f"{outcome}: {reason}\n")
        step = {"name": name, "outcome": outcome, "reason": reason, "seconds": round(time.monotonic() - begin, 3)}
        self.steps.append({**step, "numbers": numbers, "rows": rows})
        return outcome == "passed"

    def run(self, command, **options):
        """processes.run within this part's time; raises Failed unless it ends with 0."""
        finished = processes.run(command, self, **options)
        problem = processes.how_it_ended(pathlib.Path(str(command[0])).name, finished)
        if problem:
            raise Failed(printable(problem + processes.last_line(finished)))
        return finished

    def _write(self, text):
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(text)

    def _tail(self):
        with open(self.log, "rb") as log:
            log.seek(0, 2)
            log.seek(max(0, log.tell() - TAIL_BYTES))
            return printable(log.read().decode("utf-8", "replace"))

    def result(self):
        outcomes = [step["outcome"] for step in self.steps]
        reasons = dict.fromkeys(step["reason"] for step in self.steps if step["reason"])
        outcome = "failed" if "failed" in outcomes else "passed" if "passed" in outcomes else "not_run"
        return {
            "name": self.name,
            "outcome": outcome,
            "is_complete": all(outcome == "passed" for outcome in outcomes) and bool(outcomes),
            "reason": "; ".join(reasons) or None,
            "seconds": round(time.monotonic() - self._begin, 3),
            "limit_s": round(self.limit_s, 3),
            "steps": self.steps,
            "log_tail": self._tail(),
        }
