"""Cases of power, required sizes, and sequential boundaries."""

import math

import mpmath as mp
import numpy as np
from exact_distributions import noncentral_upper, spread_expectation, t_critical
from scipy import stats
from shared_cases import agrees
from statsmodels.stats.power import TTestIndPower, TTestPower


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
        shift = mp.findroot(
            lambda d: power(d, mp.sqrt(mp.mpf(2) / n), 2 * n - 2, alpha, True) - wanted, start, tol=1e-15
        )
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
