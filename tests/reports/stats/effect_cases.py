"""Cases of several effects and margins: equivalence, Holm, Lenth, contrasts, Shapley."""

import itertools

import mpmath as mp
import numpy as np
from exact_distributions import t_critical, t_upper
from scipy import stats
from shared_cases import moments, random, welch_of
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW


def equivalence_cases():
    cases = []
    for value, se, df, low, high, alpha in [
        (0.0, 0.0004, 8, 0.001, 0.001, 0.05), (0.0003, 0.0002, 4.7, 0.001, 0.001, 0.05), (-0.002, 0.0005, 12, 0.001, 0.001, 0.05),
        (0.2, 0.05, 3, 0.4, 0.5, 0.025), (1e-5, 1e-6, 100, 2e-5, 1e-5, 0.01), (0.0, 0.0001, 38, 0.001, 0.001, 0.05),
    ]:  # fmt: skip
        v, s = mp.mpf(value), mp.mpf(se)
        above, below = t_upper((v + mp.mpf(low)) / s, df), t_upper((mp.mpf(high) - v) / s, df)
        half = t_critical(mp.mpf(alpha), df) * s
        cases.append({"value": value, "se": se, "df": df, "low": low, "high": high, "alpha": alpha,
                      "p_above_low": float(above), "p_below_high": float(below), "p": float(max(above, below)),
                      "interval_low": float(v - half), "interval_high": float(v + half)})  # fmt: skip
    first, second = random.normal(3.279, 0.001, 9), random.normal(3.2791, 0.002, 6)
    theirs = CompareMeans(DescrStatsW(first), DescrStatsW(second)).ttost_ind(-0.002, 0.003, usevar="unequal")
    value, se, df = welch_of(first, second)
    return {"summaries": cases,
            "welch": {"first": first.tolist(), "second": second.tolist(), "low": 0.002, "high": 0.003, "p": theirs[0],
                      "p_above_low": theirs[1][0][1], "p_below_high": theirs[1][1][1]}}  # fmt: skip


def holm_cases():
    lists = [[0.01, 0.04, 0.03, 0.005], [0.5], [0.2, 0.9, 0.7], [1e-30, 1e-12, 1e-4, 0.05, 0.05, 0.051], [0.0, 1.0, 0.3],
             random.uniform(0, 0.2, 30).tolist()]  # fmt: skip
    return [{"p": p, "adjusted": multipletests(p, method="holm")[1].tolist()} for p in lists]


def lenth_cases():
    cases = []
    for m, active in [(3, 0), (7, 1), (15, 3), (31, 6)]:
        effects = random.normal(0, 1, m)
        effects[:active] += 12
        sizes = np.abs(effects)
        first = 1.5 * np.median(sizes)
        pse = 1.5 * np.median(sizes[sizes < 2.5 * first])
        gamma = (1 + 0.95 ** (1 / m)) / 2
        cases.append({"effects": effects.tolist(), "pse": pse, "margin": stats.t.ppf(0.975, m / 3) * pse,
                      "simultaneous_margin": stats.t.ppf(gamma, m / 3) * pse})  # fmt: skip
    return cases


def contrast_cases():
    cases = []
    for counts, contrast in [([3, 4, 2, 5], [1, -1, 1, -1]), ([3, 4, 2, 5], [1, -1, -1, 1]), ([6, 3], [-1, 1]),
                             ([2, 3, 4], [1, -0.5, -0.5]), ([2, 2, 2, 2, 3, 2, 2, 2], [1, 1, 1, 1, -1, -1, -1, -1]),
                             ([4, 1, 4], [1, 0, -1])]:  # fmt: skip
        cells = [random.normal(3.3, 0.001 * (i + 1), n).tolist() for i, n in enumerate(counts)]
        scale = sum(c for c in contrast if c > 0)
        value = variance = weighted = factor = mp.mpf(0)
        squares, pooled_df = mp.mpf(0), 0
        for cell, c in zip(cells, contrast):
            if len(cell) > 1:
                squares += moments(cell)[2] ** 2 * (len(cell) - 1)
                pooled_df += len(cell) - 1
            if c == 0:
                continue
            n, mean, sd = moments(cell)
            share = (mp.mpf(c) / scale) ** 2 * sd**2 / n
            value += mp.mpf(c) / scale * mean
            variance += share
            weighted += share**2 / (n - 1)
            factor += (mp.mpf(c) / scale) ** 2 / n
        cases.append({"cells": cells, "contrast": contrast, "value": float(value), "se": float(mp.sqrt(variance)),
                      "df": float(variance**2 / weighted), "pooled_se": float(mp.sqrt(squares / pooled_df * factor)),
                      "pooled_df": pooled_df})  # fmt: skip
    return cases


def shapley_cases():
    cases = []
    for k in [1, 2, 3, 5]:
        values = random.normal(0, 1, 2**k).tolist()
        errors = random.uniform(0, 0.2, 2**k).tolist()
        orders = list(itertools.permutations(range(k)))
        coefficient = np.zeros((k, 2**k))
        for order in orders:
            mask = 0
            for feature in order:
                coefficient[feature, mask] -= 1 / len(orders)
                mask |= 1 << feature
                coefficient[feature, mask] += 1 / len(orders)
        cases.append({"values": values, "errors": errors, "shares": (coefficient @ values).tolist(),
                      "se": np.sqrt(coefficient**2 @ np.array(errors) ** 2).tolist()})  # fmt: skip
    return cases
