"""Runs one side of a comparison as a process, and says what else the machine did meanwhile."""

import dataclasses
import os
import resource
import subprocess
import time

STDERR_LINES = 12  # shown of a side that failed


@dataclasses.dataclass
class Limits:
    run_s: int = 1800  # of one process; the first torch.compile of a large shape takes minutes


limits = Limits()


class UsageError(Exception):
    """One sentence: what was asked wrongly or is missing, and what to do. Exit code 2."""


class SideFailed(Exception):
    """A side did not deliver; the message has the last lines of its stderr. Exit code 1."""


@dataclasses.dataclass
class Execution:
    stdout: str
    wall_s: float
    cpu_s: float  # user and system time of the process and those it waited for
    # Share of the machine's cores that was busy with anything else, or stolen by its host; None where /proc/stat is
    # absent.
    others_share: float | None

    def measurements(self):
        return {"wall_s": round(self.wall_s, 3), "cpu_s": round(self.cpu_s, 3), "others_share": self.others_share}


def busy_seconds():
    """All cores' busy and stolen time since the start of the machine, or None."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            fields = [int(field) for field in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    user, nice, system, _idle, _iowait, interrupt, soft_interrupt, stolen = fields
    return (user + nice + system + interrupt + soft_interrupt + stolen) / os.sysconf("SC_CLK_TCK")


def children_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(name, command, environment=None, reason_in=None):
    """Runs `command` to its end. Raises SideFailed when it cannot start, takes too long, or does not return 0; with what
    reason_in(stdout) finds there, if anything."""
    busy, cpu, begin = busy_seconds(), children_cpu_seconds(), time.monotonic()
    try:
        done = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=limits.run_s,
            env={**os.environ, **(environment or {})},
            check=False,
        )
    except OSError as error:
        raise SideFailed(f"{name} could not be started: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise SideFailed(f"{name} did not end within {limits.run_s} s (--timeout) and was killed") from error
    wall_s, cpu_s, busy_after = time.monotonic() - begin, children_cpu_seconds() - cpu, busy_seconds()
    if done.returncode != 0:
        reason = reason_in(done.stdout) if reason_in else None
        if reason:
            raise SideFailed(f"{name}: {reason}")
        last_lines = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-STDERR_LINES:])
        how = f"exit code {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"
        raise SideFailed(f"{name} failed ({how}):\n{last_lines}")
    others = None
    if busy is not None and busy_after is not None:
        others = round(max(0.0, busy_after - busy - cpu_s) / (wall_s * (os.cpu_count() or 1)), 4)
    return Execution(done.stdout, wall_s, cpu_s, others)
