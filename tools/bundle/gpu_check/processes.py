"""One process of a step: its time limit, its log, and how it ended."""

import dataclasses
import os
import shlex
import signal
import subprocess
import time

from problems import Failed

GRACE_SECONDS = 5.0  # between asking a process to end and killing it
STDERR_BYTES = 4000
MAX_PROCESSES = 16  # each has a context on the GPU


@dataclasses.dataclass
class Finished:
    code: int  # negative for signals: -N for signal N
    seconds: float
    stdout: str
    stderr: str  # its last part
    limit_s: float
    was_stopped: bool  # stopped by us, when its time was up


def at_once():
    """How many processes run together: one per core."""
    return min(len(os.sched_getaffinity(0)), MAX_PROCESSES)


def _signal_group(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def _wait(process, seconds):
    try:
        process.wait(max(seconds, 0.0))
        return True
    except subprocess.TimeoutExpired:
        return False


def _stop(process, asks_s=0.0):
    """asks_s: how long it may take to finish its work after a first SIGINT."""
    for number, seconds in ((signal.SIGINT, asks_s), (signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GRACE_SECONDS)):
        if seconds > 0:
            _signal_group(process, number)
        if seconds > 0 and _wait(process, seconds):
            break
    _signal_group(process, signal.SIGKILL)  # processes that it left behind in its group


def _read_from(path, begin):
    with open(path, "rb") as file:
        file.seek(max(begin, os.fstat(file.fileno()).st_size - STDERR_BYTES))
        return file.read().decode("utf-8", "replace")


def _start(words, part, stdout, stderr, variables):
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=part.folder,
            env={**part.environment, **variables},
            start_new_session=True,
        )
    except OSError as error:
        raise Failed(f"{words[0]} cannot be started: {error}") from error


def _limit(part, seconds):
    return part.remaining() if seconds is None else min(seconds, part.remaining())


def run(command, part, seconds=None, asks_s=0.0):
    """Runs `command` for at most `seconds`, and no longer than the part's own time; its stderr goes to the part's log,
    its stdout there too and into the result. Throws Failed when it cannot start."""
    limit = _limit(part, seconds)
    words = [str(word) for word in command]
    begin = time.monotonic()
    stdout_file = part.folder / "stdout"
    with open(stdout_file, "w+b") as stdout, open(part.log, "ab") as log:
        log.write(("$ " + shlex.join(words) + "\n").encode())
        log.flush()
        log_begin = log.tell()
        process = _start(words, part, stdout, log, {})
        try:
            was_stopped = not _wait(process, limit)
            if was_stopped:
                _stop(process, asks_s)
        except BaseException:
            _stop(process)
            raise
        stdout.seek(0)
        text = stdout.read().decode("utf-8", "replace")
        errors = _read_from(part.log, log_begin)
        log.seek(0, os.SEEK_END)
        log.write((text if text.endswith("\n") or not text else text + "\n").encode())
    return Finished(process.returncode, time.monotonic() - begin, text, errors, limit, was_stopped)


def run_together(commands, part, seconds=None):
    """Runs all `commands`, pairs of words and further environment variables, at once, for at most `seconds` together.
    What each writes goes to a file of its own, then to the part's log. One result per command, in their order."""
    limit, begin = _limit(part, seconds), time.monotonic()
    files = [part.folder / f"together.{number}" for number in range(len(commands))]
    started = []
    try:
        for (words, variables), path in zip(commands, files, strict=True):
            with open(path, "wb") as file:
                started.append(_start([str(word) for word in words], part, file, file, variables))
        stopped = [not _wait(process, begin + limit - time.monotonic()) for process in started]
        for process, was_stopped in zip(started, stopped, strict=True):
            if was_stopped:
                _stop(process)
    except BaseException:
        for process in started:
            _stop(process)
        raise
    seconds = time.monotonic() - begin
    with open(part.log, "ab") as log:
        for (words, variables), path in zip(commands, files, strict=True):
            shown = [f"{name}={value}" for name, value in variables.items()] + [str(word) for word in words]
            log.write(("$ " + shlex.join(shown) + "\n").encode() + path.read_bytes())
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    return [
        Finished(process.returncode, seconds, text, "", limit, was_stopped)
        for process, text, was_stopped in zip(started, texts, stopped, strict=True)
    ]


def last_line(finished):
    """The last line of stderr, or else of stdout, after a colon; or nothing."""
    for text in (finished.stderr, finished.stdout):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return f": {lines[-1][:300]}"
    return ""


def how_it_ended(name, finished):
    """One sentence, or None after an exit code of 0."""
    if finished.was_stopped:
        return f"{name} did not end within {finished.limit_s:.0f} s and was stopped"
    if finished.code < 0:
        return f"{name} was killed by {signal.Signals(-finished.code).name}"
    return f"{name} ended with exit code {finished.code}" if finished.code else None
