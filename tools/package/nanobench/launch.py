"""The commands `nanobench` and `nanobench-train`: find LibTorch where it is needed, then become the program.

Exit codes: 2 for what the user can put right, 130 when interrupted; all others come from the program.
"""

import json
import os
import pathlib
import sys

from nanobench import engine_place, torch_place
from nanobench.problems import Refused, say

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE / "bin" / "nanobench"
SUITES = HERE / "share" / "nanobench" / "suites"
# Commands that train. Only for these is LibTorch downloaded; all others use the engine where LibTorch is here already.
TRAINING = frozenset(
    ("ablate", "calibrate", "evaluate", "gate", "hunt", "plan", "profile", "reproduce", "run", "train")
)
NO_TRAINING = frozenset(("-h", "--help", "--version"))


def _command(arguments):
    return next((word for word in arguments if not word.startswith("-")), "")


def _brings_its_engine(word):
    """Whether the word is a suite, by file or by name, around another engine than ours: a command, or the mock engine."""
    file = pathlib.Path(word)
    if "/" not in word and not file.is_file():
        file = SUITES / f"{word.removesuffix('.json')}.json"
    try:
        suite = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False  # no suite; or the program says what is wrong with it
    return isinstance(suite, dict) and suite.get("engine", "native") != "native"


def trains(arguments):
    """Whether these arguments of `nanobench` train with our engine."""
    command = _command(arguments)
    if NO_TRAINING.intersection(arguments):
        return False
    if command == "claims":
        return "--measure" in arguments
    return command in TRAINING and not any(map(_brings_its_engine, arguments))


def _engine():
    """The engine beside its LibTorch, which is downloaded if need be. Throws Refused, OSError."""
    place = torch_place.find(may_download=True)
    cache = torch_place.cache_folder()
    torch_place.say_once(place, cache)
    return engine_place.placed_engine(place.libraries, cache)


def _engine_if_here(tell):
    """The same without a download; None if there is no LibTorch, and tell(REASON) says why."""
    try:
        place = torch_place.find(may_download=False)
        if place:
            return engine_place.placed_engine(place.libraries, torch_place.cache_folder())
        tell("LibTorch is not here yet; the first command that trains downloads it (docs/package.md names other ways)")
    except (Refused, OSError) as error:
        tell(str(error))
    return None


def environment_for(arguments):
    """The environment of `nanobench` with these arguments. An engine that the user names stays. Throws Refused, OSError."""
    if os.environ.get("NANOBENCH_ENGINE"):
        return dict(os.environ)
    if trains(arguments):
        engine = _engine()
    else:
        # doctor reports what is missing; to all other commands that do not train it does not matter.
        engine = _engine_if_here(say if _command(arguments) == "doctor" else lambda _: None)
    return {**os.environ, **({"NANOBENCH_ENGINE": str(engine)} if engine else {})}


def _become(choose):
    """Becomes the program that choose() returns with its environment."""
    try:
        program, environment = choose()
        os.execve(program, [program.name, *sys.argv[1:]], environment)
    except Refused as refused:
        if str(refused):
            say(str(refused))
        sys.exit(refused.exit_code)
    except OSError as error:
        say(f"cannot start the program: {error}; put this right, then run the same command again")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def run_nanobench():
    _become(lambda: (PROGRAM, environment_for(sys.argv[1:])))


def run_engine():
    _become(lambda: (_engine(), dict(os.environ)))
