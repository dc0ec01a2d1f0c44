"""The command line of gpu_check.sh."""

import argparse
import math
import pathlib
import re

from problems import Refused

# Seconds per part if no budget is given; a budget is divided in these proportions.
LIMITS = {
    "cuda": {"environment": 180, "parity": 900, "records": 600, "micro": 420, "history": 1500, "side_by_side": 900},
    "cpu": {"environment": 120, "parity": 600, "records": 300, "micro": 300, "history": 900, "side_by_side": 300},
}
PARTS = tuple(LIMITS["cuda"])


class Parser(argparse.ArgumentParser):
    """One sentence instead of the whole usage."""

    def error(self, message):
        raise Refused(message)


def _seconds(text):
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 1 <= seconds <= 1e7:
        raise argparse.ArgumentTypeError(f"expected a number of seconds from 1, got '{text}'")
    return seconds


def _count(text):
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, got '{text}'")
    return int(text)


def _parts(text):
    asked = [name.strip() for name in text.split(",")]
    for name in asked:
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"unknown part '{name}'; the parts are {', '.join(PARTS)}")
    return [name for name in PARTS if name in asked]


def _device(text):
    if not re.fullmatch(r"cpu|cuda(:\d+)?", text):
        raise argparse.ArgumentTypeError(f"expected cpu, cuda or cuda:N, got '{text}'")
    return text


def _limit(text):
    part, _, seconds = text.partition("=")
    if part not in PARTS or not seconds:
        raise argparse.ArgumentTypeError(f"expected PART=SECONDS with a part of {', '.join(PARTS)}, got '{text}'")
    return part, _seconds(seconds)


def make_parser():
    parser = Parser(
        prog="gpu_check.sh",
        description="Checks nanobench on this machine: environment, parity with the CPU, every record, micro-benchmarks, the speedrun's "
        "history, and PyTorch side by side.",
        epilog="Exit codes: 0 everything asked for ran and passed; 1 something failed; 4 nothing failed, but something was "
        "not run; 2 nothing could be checked; 130 interrupted.",
    )
    parser.add_argument("--parts", type=_parts, default=list(PARTS), help="some of " + ",".join(PARTS))
    parser.add_argument(
        "--device", type=_device, default="cuda", help="cuda, cuda:N, or cpu: all of it small, without GPU"
    )
    parser.add_argument("--budget", type=_seconds, metavar="SECONDS", help="limit of everything together")
    parser.add_argument(
        "--limit", type=_limit, action="append", default=[], metavar="PART=SECONDS", help="limit of one part"
    )
    parser.add_argument("--python", metavar="PROGRAM", help="interpreter that has torch (python3)")
    parser.add_argument("--peer", metavar="FILE", help="the script to compare with (the bundle's own)")
    parser.add_argument("--pairs", type=_count, default=5, help="number of pairs of runs, ours and the peer's (5)")
    parser.add_argument("--out", metavar="FILE", default="gpu_check.json", help="results (gpu_check.json)")
    parser.add_argument("--work", metavar="DIR", help="keep data and runs here; the same command continues with them")
    return parser


def parse(words):
    arguments = make_parser().parse_args(words)
    arguments.out = pathlib.Path(arguments.out).absolute()
    if not arguments.out.parent.is_dir() or arguments.out.is_dir():
        raise Refused(f"--out {arguments.out}: name a file in an existing folder")
    if arguments.peer and not pathlib.Path(arguments.peer).is_file():
        raise Refused(f"--peer {arguments.peer}: there is no such file")
    if arguments.peer:
        arguments.peer = str(pathlib.Path(arguments.peer).absolute())
    arguments.limits = {**LIMITS[arguments.device.split(":")[0]], **dict(arguments.limit)}
    return arguments


def time_for(part, later, limits, remaining_s):
    """Seconds of `part`: its limit, or its share of what is left of a budget for it and the parts after it."""
    if remaining_s is None:
        return limits[part]
    share = limits[part] / (limits[part] + sum(limits[name] for name in later))
    return max(0.0, min(limits[part], remaining_s * share))
