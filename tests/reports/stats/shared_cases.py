"""What the cases of make_vectors.py share: the random numbers, samples, and what an estimate comes to."""

import math

import mpmath as mp
import numpy as np
from exact_distributions import t_critical, t_p

random = np.random.default_rng(20241214)

# Cancellation, underflow or overflow costs SciPy the digits, or everything.
BEYOND_SCIPY = ("offset", "near_ties", "tiny", "huge")


def exact(values):
    return [mp.mpf(float(v)) for v in values]


def agrees(ours, theirs, tolerance=1e-8):
    assert math.isclose(float(ours), float(theirs), rel_tol=tolerance), (float(ours), float(theirs))
    return float(ours)


def moments(values):
    values = exact(values)
    mean = mp.fsum(values) / len(values)
    return len(values), mean, mp.sqrt(mp.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def estimate_case(value, se, df, level):
    """What an estimate's intervals and p-values are."""
    t = value / se
    half = t_critical((1 - mp.mpf(level)) / 2, df) * se
    return {
        "value": float(value), "se": float(se), "df": float(df), "level": level,
        "p_less": float(t_p(t, df, "less")), "p_greater": float(t_p(t, df, "greater")), "p": float(t_p(t, df, "two")),
        "low": float(value - half), "high": float(value + half),
    }  # fmt: skip


def welch_of(first, second):
    n, mean, sd = moments(first)
    m, other, other_sd = moments(second)
    v, w = sd**2 / n, other_sd**2 / m
    return mean - other, mp.sqrt(v + w), (v + w) ** 2 / (v**2 / (n - 1) + w**2 / (m - 1))


def samples():
    """Named samples: losses, tiny and huge scales, large offsets, few values, near ties, a skewed one."""
    loss = lambda n, mean=3.2791, sd=0.0019: np.round(random.normal(mean, sd, n), 4).tolist()
    return {
        "losses_80": loss(80),
        "losses_2": [3.2785, 3.2791],
        "losses_3": [3.2791, 3.2779, 3.2786],
        "losses_7": loss(7, 3.2770, 0.001),
        "losses_1261": loss(1261, 3.2794, 0.0018),
        "far_below": loss(60, 3.270, 0.0009),
        "tiny": (random.normal(2.0, 0.5, 9) * 1e-180).tolist(),
        "huge": (random.normal(2.0, 0.5, 9) * 1e180).tolist(),
        "offset": (1e9 + random.normal(0.0, 1.0, 12)).tolist(),
        "near_ties": [3.28, 3.28, 3.28, 3.2800000001, 3.28],
        "skewed": random.lognormal(1.0, 0.8, 25).tolist(),
        "times": (236000 + random.normal(0.0, 120.0, 10)).tolist(),
    }
