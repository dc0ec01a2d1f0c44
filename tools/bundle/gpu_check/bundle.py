"""The bundle that contains this file: its manifest, and whether it is complete."""

import hashlib
import json
import os
import pathlib

from problems import Refused

HERE = pathlib.Path(__file__).resolve().parents[1]
AGAIN = "copy the bundle here again"


def read_manifest():
    """Throws Refused unless every file of the bundle is unchanged."""
    try:
        manifest = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))
        files = manifest["files"]
    except (OSError, ValueError, KeyError) as error:
        raise Refused(f"the bundle {HERE} is incomplete: manifest.json cannot be read ({error}); {AGAIN}") from error
    for name, expected in files.items():
        try:
            data = (HERE / name).read_bytes()
        except OSError as error:
            raise Refused(f"the bundle {HERE} is incomplete: {name} is missing; {AGAIN}") from error
        if hashlib.sha256(data).hexdigest() != expected["sha256"]:
            raise Refused(f"the bundle {HERE} is incomplete: {name} was changed; {AGAIN}")
    if manifest["machine"] != os.uname().machine:
        raise Refused(f"the bundle is for {manifest['machine']}, this machine is {os.uname().machine}")
    return manifest


def has_file(name):
    return (HERE / name).is_file()


def golden_cases():
    return sorted(path.parent.name for path in (HERE / "golden").glob("*/expected.json"))
