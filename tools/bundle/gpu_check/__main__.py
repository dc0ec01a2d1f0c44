"""Checks nanobench on this machine, part by part, and writes one JSON file. Started by gpu_check.sh."""

import datetime
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import bundle
import environment
import history
import micro
import options
import parity
import records
import report
import side_by_side
from parts import Part, Settings
from problems import Refused
from programs import Programs
from torch_place import find_torch

RUN = {"parity": parity.run, "records": records.run, "micro": micro.run, "history": history.run}
RUN["side_by_side"] = side_by_side.run


def say(text):
    print(f"gpu_check: {text}", file=sys.stderr, flush=True)


def make_environment(work):
    """The environment of our programs: without the caller's nanobench settings, and with all their files in `work`."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NANOBENCH_")}
    if "NANOBENCH_NVML" in os.environ:
        kept["NANOBENCH_NVML"] = os.environ["NANOBENCH_NVML"]
    temporary = work / "tmp"
    temporary.mkdir(exist_ok=True)
    kept.update(XDG_CACHE_HOME=str(work / "cache"), XDG_DATA_HOME=str(work / "data"), TMPDIR=str(temporary))
    # A checkout around the bundle is not ours: its suites and its database are ignored.
    kept.update(NANOBENCH_ROOT=str(work / "no-checkout"), TORCHINDUCTOR_CACHE_DIR=str(work / "inductor"))
    return kept


class Check:
    """One run of the whole check; the file is rewritten after each part, so that a killed check leaves its results."""

    def __init__(self, arguments, manifest, torch, begin):
        self._arguments, self._begin, self._parts = arguments, begin, []
        self._facts = environment.machine(torch)
        self._head = {
            "schema_version": report.SCHEMA_VERSION,
            "kind": "gpu_check",
            "started_at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "argv": sys.argv[1:],
            "bundle": {key: manifest[key] for key in ("version", "libtorch", "bytes", "absent")},
            "device": arguments.device,
            "budget_s": arguments.budget,
        }
        self.was_interrupted = False

    def document(self):
        outcome, code = report.outcome_of(self._parts, self.was_interrupted)
        seconds = round(time.monotonic() - self._begin, 3)
        tail = {"outcome": outcome, "exit_code": code, "seconds": seconds}
        return {**self._head, "machine": self._facts, "parts": self._parts, **tail}

    def _remaining(self):
        budget = self._arguments.budget
        return None if budget is None else budget - (time.monotonic() - self._begin)

    def run_part(self, name, later, settings):
        seconds = options.time_for(name, later, self._arguments.limits, self._remaining())
        part = Part(name, settings, seconds)
        say(f"{name}, at most {seconds:.0f} s")
        try:
            if name == "environment":
                environment.run(part, self._facts)
            else:
                RUN[name](part)
        finally:
            self._parts.append(part.result())
            report.write(self.document(), self._arguments.out)

    def look_for_gpu(self, settings):
        """Looks for a GPU if the part that reports it was not requested; the other parts depend on it."""
        quiet = Part("look", settings, self._arguments.limits["environment"])
        environment.run(quiet, self._facts)
        quiet.log.unlink()

    def run(self, settings):
        names = self._arguments.parts
        if "environment" not in names:
            self.look_for_gpu(settings)
        for index, name in enumerate(names):
            self.run_part(name, names[index + 1 :], settings)


def run_in(work, arguments, manifest, torch, begin):
    logs = arguments.out.with_name(arguments.out.stem + ".logs")
    logs.mkdir(exist_ok=True)
    variables = make_environment(work)
    programs = Programs(torch, work, variables)
    settings = Settings(arguments.device, programs, variables, work, logs, sys.executable)
    settings.peer, settings.pairs = arguments.peer, arguments.pairs
    check = Check(arguments, manifest, torch, begin)
    try:
        check.run(settings)
    except KeyboardInterrupt:
        check.was_interrupted = True
    document = check.document()
    report.write(document, arguments.out)
    print(report.summary(document))
    say(f"results in {arguments.out}, logs in {logs}")
    return document["exit_code"]


def check(words):
    begin, arguments = time.monotonic(), options.parse(words)
    manifest = bundle.read_manifest()
    torch = find_torch(manifest["libtorch"])
    if arguments.work:
        work = pathlib.Path(arguments.work).absolute()
        work.mkdir(parents=True, exist_ok=True)
        return run_in(work, arguments, manifest, torch, begin)
    work = pathlib.Path(tempfile.mkdtemp(prefix="gpu_check-"))
    try:
        return run_in(work, arguments, manifest, torch, begin)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def interrupt(_number, _frame):
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGTERM, interrupt)
    try:
        return check(sys.argv[1:])
    except Refused as problem:
        say(str(problem))
        return 2
    except OSError as problem:
        say(f"cannot check: {problem}")
        return 2
    except KeyboardInterrupt:
        return report.INTERRUPTED


sys.exit(main())
