"""Stands in for the peer of a side-by-side: half of the tokens/s of fake_programs.py's engine at the GPU's shape."""

import argparse
import json

parser = argparse.ArgumentParser()
for name in ("mode", "device", "dtype", "attention"):
    parser.add_argument("--" + name)
for name in ("layers", "dim", "heads", "seq", "vocab", "window", "accumulate", "steps", "threads", "doc-length"):
    parser.add_argument("--" + name, type=int)
given = parser.parse_args()
print(
    json.dumps(
        {"tokens_per_s": given.seq * given.accumulate / 0.2, "step_ms": 200.0, "loss": 3.0, "given": vars(given)}
    )
)
