"""Cases of rank tests: Mann-Whitney and Hodges-Lehmann, Wilcoxon's signed ranks."""

import itertools
import math

import numpy as np
from scipy import stats
from shared_cases import random


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
    sums = [
        sum(rank for rank, sign in zip(ranks, signs) if sign) for signs in itertools.product([0, 1], repeat=len(ranks))
    ]
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
