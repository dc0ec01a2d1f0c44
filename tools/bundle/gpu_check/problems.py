"""The ways in which a check does not pass; each message is one sentence."""


class Refused(Exception):
    """Nothing can be checked: wrong arguments, no torch, a broken bundle. Exit code 2."""


class Failed(Exception):
    """A step did not pass. `numbers` and `rows` are the measurements so far."""

    def __init__(self, reason, numbers=None, rows=None):
        super().__init__(reason)
        self.numbers, self.rows = numbers or {}, rows or []


class NotRun(Exception):
    """A step cannot be run here; the message gives the reason."""
