"""How far a download or an unpacking is: one line that is redrawn on a terminal, elsewhere a plain line now and then.

The line looks like that of a build and of a training run: `label  [####....]  rest`. Everything goes to stderr.
"""

from __future__ import annotations

import math
import os
import sys
import time
from typing import TextIO

REDRAW_S = 0.1
PLAIN_S = 10.0
LONGEST_BAR = 30
SHORTEST_BAR = 5
USUAL_REST = 38  # characters behind the bar, so that its length does not change with them
PACE_S = 10.0  # the pace is that of this many last seconds: a connection's first seconds say little


def say(text: str) -> None:
    """A line of its own, which replaces the one that is redrawn."""
    start = "\r\033[K" if is_terminal(sys.stderr) else ""
    print(f"{start}nanobench: {text}", file=sys.stderr, flush=True)


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class Progress:
    """Progress of `total` bytes. Call show() as often as you like: it draws at most ten times a second."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = max(total, 1)
        self._drawn_s = -math.inf
        self._said_s = time.monotonic()
        self._points: list[tuple[float, int]] = []  # (seconds, bytes) of the last PACE_S

    def show(self, done: int) -> None:
        now_s = time.monotonic()
        done = min(done, self._total)
        if now_s - self._drawn_s < REDRAW_S and done < self._total:
            return
        self._drawn_s = now_s
        self._points = [(at_s, size) for at_s, size in self._points if now_s - at_s < PACE_S] + [(now_s, done)]
        if is_terminal(sys.stderr):
            print(f"\r{self.line(done, columns())}\033[K", end="", file=sys.stderr, flush=True)
        elif now_s - self._said_s >= PLAIN_S:
            self._said_s = now_s
            say(f"  {self._label}: {self.rest(done)}")

    def close(self) -> None:
        """Clears the redrawn line."""
        if is_terminal(sys.stderr):
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def bytes_per_s(self) -> float | None:
        """None until two points are far enough apart."""
        (begin_s, first), (end_s, last) = self._points[0], self._points[-1]
        return (last - first) / (end_s - begin_s) if end_s - begin_s >= 0.5 and last > first else None

    def rest(self, done: int) -> str:
        text = f"{100 * done // self._total} %  {done >> 20}/{self._total >> 20} MB"
        rate = self.bytes_per_s()
        if rate is None or done >= self._total:
            return text
        return f"{text}  {rate / (1 << 20):.1f} MB/s  {time_text((self._total - done) / rate)} left"

    def line(self, done: int, width: int) -> str:
        """What fits into one line of `width` columns less one."""
        label, rest = f"nanobench: {self._label}", self.rest(done)
        places = min(LONGEST_BAR, width - len(label) - max(len(rest), USUAL_REST) - 7)
        if places < SHORTEST_BAR:
            return f"{label}  {rest}"[: max(width - 1, 0)]
        filled = places * done // self._total
        return f"{label}  [{'#' * filled}{'.' * (places - filled)}]  {rest}"


def columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


def time_text(seconds: float) -> str:
    """45 s, 4 min: seconds below a minute and a half, else minutes, both rounded up."""
    return f"{math.ceil(seconds)} s" if seconds < 90 else f"{math.ceil(seconds / 60)} min"
