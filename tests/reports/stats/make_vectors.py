#!/usr/bin/env python3
"""Writes vectors.json: inputs of reports/stats and what SciPy, statsmodels and mpmath make of them.

    python3 -m venv venv && venv/bin/pip install numpy scipy statsmodels mpmath
    venv/bin/python tests/reports/stats/make_vectors.py        # some minutes; overwrites vectors.json beside it

Probabilities of t and non-central t come from mpmath at 40 digits, from the exact values of the doubles, and are held
against SciPy's here wherever SciPy has the digits; the rest is SciPy's and statsmodels' own. Everything is seeded.
"""

import json
import pathlib

import mpmath as mp
import numpy as np
import scipy
import statsmodels
from bootstrap_cases import bootstrap_cases
from effect_cases import contrast_cases, equivalence_cases, holm_cases, lenth_cases, shapley_cases
from line_cases import line_cases
from power_cases import detectable_cases, equivalence_power_cases, power_cases, required_cases, sequential_cases
from rank_cases import rank_cases, signed_rank_cases
from sample_cases import distribution_cases, one_sample_cases, paired_cases, prediction_cases, two_sample_cases
from shared_cases import samples


def main():
    named = samples()
    vectors = {
        "about": "Written by make_vectors.py; do not edit.",
        "versions": {"numpy": np.__version__, "scipy": scipy.__version__, "statsmodels": statsmodels.__version__, "mpmath": mp.__version__},
        "distributions": distribution_cases(),
        "one_sample": one_sample_cases(named),
        "welch": two_sample_cases(named),
        "paired": paired_cases(),
        "ranks": rank_cases(),
        "signed_ranks": signed_rank_cases(),
        "bootstrap": bootstrap_cases(),
        "equivalence": equivalence_cases(),
        "holm": holm_cases(),
        "lenth": lenth_cases(),
        "contrasts": contrast_cases(),
        "shapley": shapley_cases(),
        "power": power_cases(),
        "detectable": detectable_cases(),
        "required": required_cases(),
        "equivalence_power": equivalence_power_cases(),
        "sequential": sequential_cases(),
        "lines": line_cases(),
        "prediction": prediction_cases(named),
    }  # fmt: skip
    path = pathlib.Path(__file__).with_name("vectors.json")
    path.write_text(
        json.dumps(vectors, allow_nan=False, separators=(",", ":")).replace('},"', '},\n"').replace('],"', '],\n"')
        + "\n"
    )
    print(f"wrote {path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
