"""How this package speaks to people: lines on stderr, which leave stdout to the program."""

import sys


class Refused(Exception):
    """One sentence for the user: what is wrong, and what to do. It ends the launcher with `exit_code`."""

    def __init__(self, sentence, exit_code=2):
        super().__init__(sentence)
        self.exit_code = exit_code


def say(text):
    print(f"nanobench: {text}", file=sys.stderr, flush=True)
