#!/usr/bin/env python3
"""Writes vectors.json: inputs of reports/stats and what SciPy, statsmodels and mpmath make of them.

    python3 -m venv venv && venv/bin/pip install numpy scipy statsmodels mpmath
    venv/bin/python tests/reports/stats/make_vectors.py        # some minutes; overwrites vectors.json beside it

Probabilities of t and non-central t come from mpmath at 40 digits, from the exact values of the doubles, and are held
against SciPy's here wherever SciPy has the digits; the rest is SciPy's and statsmodels' own. Everything is seeded.
"""
import itertools
import json
import math
import pathlib

import mpmath as mp
import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.regression.linear_model import WLS
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower, TTestPower
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from exact_distributions import noncentral_upper, spread_expectation, t_critical, t_p, t_upper

random = np.random.default_rng(20241214)


def exact(values):
    return [mp.mpf(float(v)) for v in values]


def agrees(ours, theirs, tolerance=1e-8):
    assert math.isclose(float(ours), float(theirs), rel_tol=tolerance), (float(ours), float(theirs))
    return float(ours)


def distribution_cases():
    cases = {"normal": [], "t": [], "noncentral_t": []}
    for x in [0.0, 1e-8, 0.3, -1.0, 1.959963984540054, -2.5, 4.0, -6.5, 9.0, -11.5, 20.0]:
        cases["normal"].append({"x": x, "upper": float(mp.erfc(mp.mpf(x) / mp.sqrt(2)) / 2)})
    for df in [1, 1.37, 2, 3, 4.5, 7, 19, 79, 333.3, 1260, 1e5]:
        for t in [0.0, 1e-6, 0.5, -1.3, 2.0, -4.01503006, 11.8, -60.0, 1e4]:
            upper = t_upper(t, df)
            if upper > mp.mpf("1e-300"):
                cases["t"].append({"t": t, "df": df, "upper": float(upper)})
    for df, t, shift in [
        (1, 12.706, 3.0), (1, 12.706, 0.0), (1, 63.66, 20.0), (2, 4.303, -1.0), (2, 4.303, 9.5), (3, 3.182, 2.0),
        (4, 2.776, 2.8), (4, -2.776, 2.8), (4, 2.776, -6.0), (7, 1.895, 3.5), (9, -2.262, 4.0), (9, 8.0, 1.0),
        (18, 2.101, 2.8), (18, 2.101, 0.3), (18, -2.101, 5.0), (30, 9.0, 4.0), (58, 2.0, 12.0), (98, 1.66, 2.5),
        (12.7, 2.17, 3.3), (5.2, 40.0, 38.0), (398, 1.966, 2.8), (1000, -1.5, 4.5), (2.5, 1.0, 0.0), (60, 1.7, 30.0),
    ]:  # fmt: skip
        upper = noncentral_upper(t, df, shift)
        case = {"t": t, "df": df, "shift": shift, "upper": float(upper), "cdf": float(noncentral_upper(-t, df, -shift))}
        if 1e-6 < upper < 1 - 1e-6:
            agrees(upper, stats.nct.sf(t, df, shift), 1e-6)
        cases["noncentral_t"].append(case)
    return cases


# Samples.


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


# Cancellation, underflow or overflow costs SciPy the digits, or everything.
BEYOND_SCIPY = ("offset", "near_ties", "tiny", "huge")


def one_sample_cases(named):
    targets = {"tiny": 2.2e-180, "huge": 2.2e180, "offset": 1e9 + 0.25, "skewed": 4.0, "times": 236100.0}
    cases = []
    for name, values in named.items():
        target = targets.get(name, 3.28)
        for level in [0.9, 0.99] if len(values) < 100 else [0.9]:
            n, mean, sd = moments(values)
            se = sd / mp.sqrt(n)
            case = estimate_case(mean - mp.mpf(target), se, n - 1, level)
            t = (mean - mp.mpf(target)) / se
            half = t_critical((1 - mp.mpf(level)) / 2, n - 1) * se
            reach = t_critical(1 - mp.mpf(level), n - 1) * se
            case |= {"name": name, "values": values, "target": target, "mean": float(mean), "sd": float(sd),
                     "t": float(t), "low": float(mean - half), "high": float(mean + half),
                     "bound": float(mean + reach)}  # fmt: skip
            if name not in BEYOND_SCIPY:
                theirs = stats.ttest_1samp(np.array(values), target, alternative="less")
                agrees(t, theirs.statistic)
                agrees(case["p_less"], theirs.pvalue, 1e-7)
            cases.append(case)
    return cases


def welch_of(first, second):
    n, mean, sd = moments(first)
    m, other, other_sd = moments(second)
    v, w = sd**2 / n, other_sd**2 / m
    return mean - other, mp.sqrt(v + w), (v + w) ** 2 / (v**2 / (n - 1) + w**2 / (m - 1))


def two_sample_cases(named):
    pairs = [("losses_80", "losses_7"), ("losses_2", "losses_3"), ("losses_3", "losses_80"), ("losses_1261", "far_below"),
             ("tiny", "tiny"), ("huge", "huge"), ("skewed", "losses_7"), ("near_ties", "losses_7"),
             ("offset", "offset")]  # fmt: skip
    cases = []
    for a, b in pairs:
        first, second = named[a], named[b]
        if a == b:
            second = (np.array(second[:-2]) * (1 if a == "offset" else 0.8) + (1 if a == "offset" else 0)).tolist()
        value, se, df = welch_of(first, second)
        case = estimate_case(value, se, df, 0.95) | {"name": f"{a}-{b}", "first": first, "second": second}
        if a not in BEYOND_SCIPY:
            theirs = stats.ttest_ind(first, second, equal_var=False)
            agrees(case["p"], theirs.pvalue, 1e-7)
            agrees(case["df"], theirs.df, 1e-7)
        cases.append(case)
    return cases


def paired_cases():
    cases = []
    for n, effect, spread in [(2, 0.1, 0.02), (3, -1e-4, 1e-3), (5, 1e-3, 1e-3), (10, 0.0, 1.0), (40, 0.002, 0.001),
                              (200, -0.3, 0.05)]:  # fmt: skip
        common = random.normal(3.3, 0.01, n)
        first, second = common + effect + random.normal(0, spread, n), common
        differences = [mp.mpf(a - b) for a, b in zip(first, second)]
        mean = mp.fsum(differences) / n
        sd = mp.sqrt(mp.fsum((d - mean) ** 2 for d in differences) / (n - 1))
        case = estimate_case(mean, sd / mp.sqrt(n), n - 1, 0.95) | {"first": first.tolist(), "second": second.tolist()}
        agrees(case["p"], stats.ttest_rel(first, second).pvalue, 1e-7)
        cases.append(case)
    return cases


def rank_cases():
    cases = []
    for n, m, decimals, shift in [(1, 1, 9, 0), (2, 3, 9, 0), (3, 3, 9, 5), (5, 8, 9, 0.5), (8, 8, 9, 1), (20, 20, 9, 0.3),
                                  (20, 1, 9, 0), (20, 13, 9, 3), (21, 5, 9, 0.4), (40, 60, 9, 0.2), (5, 8, 0, 0.5),
                                  (12, 30, 1, 0.3), (100, 90, 1, 0.6), (3, 3, 0, 0)]:  # fmt: skip
        first = np.round(random.normal(shift, 1, n), decimals).tolist()
        second = np.round(random.normal(0, 1, m), decimals).tolist()
        has_ties = len(set(first + second)) < n + m
        is_exact = not has_ties and n <= 20 and m <= 20
        case = {"first": first, "second": second, "is_exact": is_exact}
        for tail in ["less", "greater", "two-sided"]:
            theirs = stats.mannwhitneyu(first, second, alternative=tail, method="exact" if is_exact else "asymptotic")
            case |= {"u": theirs.statistic, "p_" + tail.replace("-", "_"): theirs.pvalue}
        case |= hodges_lehmann_of(first, second)
        cases.append(case)
    return cases


def rank_sum_cdf(n, m):
    """P(U <= k), from the generating function (a product of polynomials divided by another)."""
    top = [1]
    for j in range(1, n + 1):
        longer = [0] * (len(top) + m + j)
        for i, c in enumerate(top):
            longer[i] += c
            longer[i + m + j] -= c
        for i in range(j, len(longer)):
            longer[i] += longer[i - j]
        top = longer[: n * m + 1]
    total = math.comb(n + m, n)
    return [sum(top[: k + 1]) / total for k in range(n * m + 1)]


def hodges_lehmann_of(first, second, level=0.95):
    differences = sorted(a - b for a in first for b in second)
    n, m = len(first), len(second)
    result = {"shift": float(np.median(differences)), "level": level}
    if n <= 20 and m <= 20:
        cdf = rank_sum_cdf(n, m)
        k = sum(1 for value in cdf if value <= (1 - level) / 2)
        held = 1 - 2 * cdf[k - 1] if k > 0 else 0
    else:
        sd = math.sqrt(n * m * (n + m + 1) / 12)
        k = max(0, math.floor(n * m / 2 + 0.5 + stats.norm.ppf((1 - level) / 2) * sd))
        held = 1 - 2 * stats.norm.cdf((k - 0.5 - n * m / 2) / sd) if k > 0 else 0
    if k > 0:
        result |= {"low": differences[k - 1], "high": differences[n * m - k], "held": held}
    return result


# The bootstrap, with the product's own generator: xoshiro256** seeded through SplitMix64.


class RandomStream:
    MASK = (1 << 64) - 1

    def __init__(self, seed, stream):
        state, self.words = seed ^ self.mix((stream + 0x9E3779B97F4A7C15) & self.MASK), []
        for _ in range(4):
            state = (state + 0x9E3779B97F4A7C15) & self.MASK
            self.words.append(self.mix(state))

    def mix(self, x):
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & self.MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & self.MASK
        return x ^ (x >> 31)

    def rotate(self, x, bits):
        return ((x << bits) | (x >> (64 - bits))) & self.MASK

    def next(self):
        s = self.words
        result = (self.rotate((s[1] * 5) & self.MASK, 7) * 9) & self.MASK
        shifted = (s[1] << 17) & self.MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = self.rotate(s[3], 45)
        return result

    def below(self, count):
        return int((self.next() >> 11) * 2.0**-53 * count)


def bca(value, resampled, jackknives, level):
    """As scipy.stats.bootstrap(method="BCa"); without acceleration when there are no jackknives."""
    resampled = np.sort(np.array(resampled))
    bias = stats.norm.ppf((np.mean(resampled < value) + np.mean(resampled <= value)) / 2)
    cubes = squares = 0.0
    for left_out in jackknives:
        influence = (len(left_out) - 1) * (np.mean(left_out) - np.array(left_out))
        cubes += np.sum(influence**3) / len(left_out) ** 3
        squares += np.sum(influence**2) / len(left_out) ** 2
    a = cubes / (6 * squares**1.5) if squares > 0 else 0.0
    ends = []
    for z in [stats.norm.ppf((1 - level) / 2), stats.norm.ppf((1 + level) / 2)]:
        ends.append(np.quantile(resampled, stats.norm.cdf(bias + (bias + z) / (1 - a * (bias + z)))))
    return {"value": value, "low": ends[0], "high": ends[1], "se": float(np.std(resampled, ddof=1))}


def signed_rank_cases():
    cases = []
    own = np.random.default_rng(20241215)  # the other cases keep their draws
    for n, decimals, shift in [(1, 9, 0), (3, 9, 1), (5, 9, 3), (6, 9, 3), (8, 9, 0.5), (12, 9, 0.7), (10, 0, 0.6), (11, 1, 0.2),
                               (25, 9, 0.3), (50, 9, 0.2), (51, 9, 0.3), (80, 1, 0.1)]:  # fmt: skip
        values = np.round(own.normal(shift, 1, n), decimals).tolist()
        sizes = [abs(v) for v in values if v != 0]
        is_tied = len(set(sizes)) < n
        case = {"values": values, "n": len(sizes), "is_exact": len(sizes) <= 50}
        for tail in ["less", "greater", "two-sided"]:
            name = "p_" + tail.replace("-", "_")
            if not case["is_exact"]:
                case[name] = stats.wilcoxon(values, alternative=tail, method="asymptotic", correction=True).pvalue
            elif is_tied:
                case[name] = p_by_all_signs(sizes, values, tail)
            else:
                case[name] = stats.wilcoxon(values, alternative=tail, method="exact").pvalue
        case["w"] = float(sum(rank for rank, v in zip(stats.rankdata(sizes), [v for v in values if v != 0]) if v > 0))
        cases.append(case | paired_shift_of(values))
    return cases


def p_by_all_signs(sizes, values, tail):
    """SciPy has no exact p under ties: every sign in turn."""
    ranks = (2 * stats.rankdata(sizes)).astype(int).tolist()
    w = sum(rank for rank, v in zip(ranks, [v for v in values if v != 0]) if v > 0)
    sums = [sum(rank for rank, sign in zip(ranks, signs) if sign) for signs in itertools.product([0, 1], repeat=len(ranks))]
    less, greater = (sum(map(test, sums)) / len(sums) for test in (lambda s: s <= w, lambda s: s >= w))
    return {"less": less, "greater": greater, "two-sided": min(1, 2 * min(less, greater))}[tail]


def paired_shift_of(values, level=0.95):
    n = len(values)
    means = sorted((values[i] + values[j]) / 2 for i in range(n) for j in range(i, n))
    result = {"shift": float(np.median(means)), "level": level}
    if n <= 50:
        counts = [1] + [0] * (n * (n + 1) // 2)
        for rank in range(1, n + 1):
            for s in range(len(counts) - 1, rank - 1, -1):
                counts[s] += counts[s - rank]
        cdf = [total / 2**n for total in itertools.accumulate(counts)]
        k = sum(1 for value in cdf if value <= (1 - level) / 2)
        held = 1 - 2 * cdf[k - 1] if k > 0 else 0
    else:
        sd = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        k = math.floor(n * (n + 1) / 4 + 0.5 + stats.norm.ppf((1 - level) / 2) * sd)
        held = 1 - 2 * stats.norm.cdf((k - 0.5 - n * (n + 1) / 4) / sd)
    if k > 0:
        result |= {"low": means[k - 1], "high": means[len(means) - k], "held": held}
    return result


def bootstrap_cases():
    first = (random.lognormal(0.0, 0.4, 12) * 60).tolist()
    second = (random.lognormal(0.1, 0.3, 12) * 70).tolist()
    third = second + [55.5, 91.25, 70.0]
    cases = []
    for kind, centre, a, b, resamples, seed, level in [
        ("difference", "mean", first, second, 499, 7, 0.95), ("ratio", "mean", first, second, 999, 0, 0.9),
        ("ratio", "median", first, second, 999, 3, 0.95), ("independent", "mean", first, third, 999, 11, 0.95),
        ("independent", "median", first, third, 499, 2**63 + 5, 0.99),
    ]:  # fmt: skip
        centre_of = np.mean if centre == "mean" else np.median
        if kind == "difference":
            statistic = lambda x, y: np.mean(np.array(x) - np.array(y))
        else:
            statistic = lambda x, y: centre_of(x) / centre_of(y)
        stream, resampled = RandomStream(seed, 0), []
        for _ in range(resamples):
            drawn = [stream.below(len(a)) for _ in a]
            other = drawn if kind != "independent" else [stream.below(len(b)) for _ in b]
            resampled.append(statistic([a[i] for i in drawn], [b[i] for i in other]))
        without = lambda values, i: values[:i] + values[i + 1 :]
        jackknives = []
        if centre == "mean" and kind != "independent":
            jackknives = [[statistic(without(a, i), without(b, i)) for i in range(len(a))]]
        elif centre == "mean":
            jackknives = [[statistic(without(a, i), b) for i in range(len(a))],
                          [statistic(a, without(b, i)) for i in range(len(b))]]  # fmt: skip
        case = {"kind": kind, "centre": centre, "first": a, "second": b, "resamples": resamples, "seed": seed, "level": level}
        cases.append(case | bca(float(statistic(a, b)), resampled, jackknives, level))
    return cases


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


# Power.


def power(effect, se, df, alpha, two_sided):
    critical = t_critical(mp.mpf(alpha) / (2 if two_sided else 1), df)
    found = noncentral_upper(critical, df, mp.mpf(effect) / mp.mpf(se))
    if two_sided:
        found += noncentral_upper(critical, df, -mp.mpf(effect) / mp.mpf(se))
    return found


def power_cases():
    cases = []
    for n, d, alpha, two_sided in [(2, 1.0, 0.05, True), (3, 2.5, 0.05, True), (5, 1.0, 0.05, False), (10, 0.3, 0.01, True),
                                   (10, 1.2, 0.05, True), (40, 0.4, 0.05, False), (200, 0.2, 0.05, True), (5, 0.0, 0.05, True),
                                   (5, 4.0, 0.001, False)]:  # fmt: skip
        one, two = 1 / math.sqrt(n), math.sqrt(2 / n)
        case = {"n": n, "effect": d, "alpha": alpha, "is_two_sided": two_sided,
                "one": float(power(d, one, n - 1, alpha, two_sided)),
                "two": float(power(d, two, 2 * n - 2, alpha, two_sided))}  # fmt: skip
        side = "two-sided" if two_sided else "larger"
        agrees(case["one"], TTestPower().power(d, n, alpha, alternative=side), 1e-6)
        agrees(case["two"], TTestIndPower().power(d, n, alpha, alternative=side), 1e-6)
        cases.append(case)
    return cases


def detectable_cases():
    cases = []
    for n, wanted, alpha in [(3, 0.8, 0.05), (5, 0.8, 0.05), (10, 0.9, 0.01), (50, 0.8, 0.05)]:
        start = TTestIndPower().solve_power(None, n, alpha, wanted)
        shift = mp.findroot(lambda d: power(d, mp.sqrt(mp.mpf(2) / n), 2 * n - 2, alpha, True) - wanted, start, tol=1e-15)
        cases.append({"n": n, "power": wanted, "alpha": alpha, "effect": float(shift)})
    return cases


def required_cases():
    cases = []
    for effect, wanted, alpha in [(1.0, 0.8, 0.05), (0.5, 0.8, 0.05), (0.2, 0.9, 0.01), (3.0, 0.8, 0.05)]:
        n = TTestIndPower().solve_power(effect, None, alpha, wanted)
        one = TTestPower().solve_power(effect, None, alpha, wanted)
        cases.append({"effect": effect, "power": wanted, "alpha": alpha, "two": math.ceil(n), "one": math.ceil(one)})
    return cases


def equivalence_power_cases():
    cases = []
    for n, effect, margin, alpha in [(5, 0.0, 2.0, 0.05), (10, 0.0, 1.0, 0.05), (10, 0.4, 1.5, 0.05), (30, 0.1, 0.7, 0.025),
                                     (3, 0.0, 1.0, 0.05), (20, 1.2, 1.0, 0.05), (2, 0.0, 40.0, 0.05)]:  # fmt: skip
        df, se = 2 * n - 2, mp.sqrt(mp.mpf(2) / n)
        critical = t_critical(mp.mpf(alpha), df)
        low, high = (mp.mpf(effect) + mp.mpf(margin)) / se, (mp.mpf(margin) - mp.mpf(effect)) / se
        inside = lambda s: mp.ncdf(high - critical * s) - mp.ncdf(critical * s - low)
        end = mp.mpf(margin) / (se * critical)
        limit = 1 + 12 / mp.sqrt(2 * mp.mpf(df))
        cases.append({"n": n, "effect": effect, "margin": margin, "alpha": alpha,
                      "power": float(spread_expectation(inside, df, min(end, limit)))})  # fmt: skip
    return cases


# Sequential boundaries by a plain grid: Gauss-Legendre with 600 nodes between the boundaries.


def sequential_boundaries(times, alpha, two_sided):
    nodes, weights = np.polynomial.legendre.leggauss(600)
    sides = 2 if two_sided else 1
    spend = lambda t: 2 * stats.norm.sf(stats.norm.isf(alpha / sides / 2) / math.sqrt(t))
    x, g, before, spent, result = np.array([0.0]), np.array([1.0]), 0.0, 0.0, []
    for time in times:
        sd = math.sqrt(time - before)
        upper = lambda z: float(np.sum(g * stats.norm.sf((z * math.sqrt(time) - x) / sd)))
        target = spend(time) - spent
        low, high = -8.0, 8.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if upper(middle) > target else (low, middle)
        z = high
        result.append(z)
        top = min(z, 8.5) * math.sqrt(time)
        bottom = -top if two_sided else -8.5 * math.sqrt(time)
        at = (top + bottom) / 2 + (top - bottom) / 2 * nodes
        density = stats.norm.pdf((at[:, None] - x[None, :]) / sd) / sd @ g
        x, g, before, spent = at, density * weights * (top - bottom) / 2, time, spend(time)
    return result


def sequential_cases():
    cases = []
    for times, alpha, two_sided in [([1.0], 0.05, True), ([0.5, 1.0], 0.05, True), ([0.2, 0.4, 0.6, 0.8, 1.0], 0.05, True),
                                    ([0.2, 0.4, 0.6, 0.8, 1.0], 0.025, False), ([0.3, 0.35, 0.9, 1.0], 0.01, True),
                                    ([i / 10 for i in range(2, 11)], 0.05, True), ([i / 20 for i in range(1, 21)], 0.05, True)]:  # fmt: skip
        cases.append({"information": times, "alpha": alpha, "is_two_sided": two_sided,
                      "z": sequential_boundaries(times, alpha, two_sided)})  # fmt: skip
    return cases


# Lines and ratios.


def line_cases():
    cases = []
    for n, noise, weighted in [(3, 1e-3, False), (8, 1e-4, False), (12, 1e-3, True), (40, 5e-3, True)]:
        x = np.sort(random.uniform(1000, 1390, n))
        loss = 3.28 - 2e-4 * (x - 1390) + random.normal(0, noise, n)
        weight = random.uniform(0.2, 3, n) if weighted else np.ones(n)
        fit = WLS(loss, np.column_stack([np.ones(n), x - 1200]), weights=weight).fit()
        if not weighted:
            agrees(fit.params[1], stats.linregress(x, loss).slope, 1e-9)
        cases.append({"x": x.tolist(), "loss": loss.tolist(), "weight": weight.tolist(), "slope": fit.params[1],
                      "se": fit.bse[1], "residual_sd": math.sqrt(fit.scale), "df": n - 2})  # fmt: skip
    return cases


def equal_loss_cases():
    cases = []
    for d, m, r, steps, step_s, level in [
        ((0.002, 0.0005, 8), (-1.2e-4, 1e-5, 6), (1.01, 0.002, 8), 1390, 0.148, 0.95),
        ((-0.001, 0.0008, 4.5), (-2e-4, 6e-5, 9), (0.97, 0.01, 5), 1480, 0.16, 0.95),
        ((0.0, 0.0003, 18), (-1e-4, 1e-6, 40), (1.0, 0.0, 1), 1000, 1.0, 0.9),
    ]:  # fmt: skip
        value, gain = mp.mpf(d[0]), -mp.mpf(m[0])
        rho = value / gain
        v = [(mp.mpf(d[1]) / gain) ** 2, (rho * mp.mpf(m[1]) / gain) ** 2]
        df = sum(v) ** 2 / (v[0] ** 2 / mp.mpf(d[2]) + v[1] ** 2 / mp.mpf(m[2]))
        t = t_critical((1 - mp.mpf(level)) / 2, df)
        # (d - rho m)^2 = t^2 (se_d^2 + rho^2 se_m^2)
        square = gain**2 - (t * mp.mpf(m[1])) ** 2
        roots = sorted(mp.polyroots([square, -2 * value * gain, value**2 - (t * mp.mpf(d[1])) ** 2], maxsteps=200), key=mp.re)
        ratio, s = mp.mpf(r[0]), mp.mpf(step_s)
        seconds = ((steps + rho) * ratio - steps) * s
        parts = [v[0] * (ratio * s) ** 2, v[1] * (ratio * s) ** 2, ((steps + rho) * s * mp.mpf(r[1])) ** 2]
        seconds_df = sum(parts) ** 2 / sum(p**2 / mp.mpf(f) for p, f in zip(parts, [d[2], m[2], r[2]]))
        cases.append({"loss": d, "slope": m, "ratio": r, "steps": steps, "step_s": step_s, "level": level,
                      "more_steps": float(rho), "steps_se": float(mp.sqrt(sum(v))), "steps_df": float(df),
                      "steps_low": float(mp.re(roots[0])), "steps_high": float(mp.re(roots[1])),
                      "seconds": float(seconds), "seconds_se": float(mp.sqrt(sum(parts))),
                      "seconds_df": float(seconds_df)})  # fmt: skip
    return cases


def prediction_cases(named):
    cases = []
    for name, runs, level in [("losses_7", 1, 0.95), ("losses_2", 1, 0.9), ("losses_80", 4, 0.99), ("times", 3, 0.95)]:
        n, mean, sd = moments(named[name])
        tail = (1 - mp.mpf(level)) / 2
        of_mean = t_critical(tail, n - 1) * sd * mp.sqrt(mp.mpf(1) / runs + mp.mpf(1) / n)
        each = t_critical(tail / runs, n - 1) * sd * mp.sqrt(1 + mp.mpf(1) / n)
        cases.append({"values": named[name], "runs": runs, "level": level, "mean_low": float(mean - of_mean),
                      "mean_high": float(mean + of_mean), "each_low": float(mean - each), "each_high": float(mean + each)})  # fmt: skip
    return cases


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
        "equal_loss": equal_loss_cases(),
        "prediction": prediction_cases(named),
    }  # fmt: skip
    path = pathlib.Path(__file__).with_name("vectors.json")
    path.write_text(json.dumps(vectors, allow_nan=False, separators=(",", ":")).replace('},"', '},\n"').replace('],"', '],\n"') + "\n")
    print(f"wrote {path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
