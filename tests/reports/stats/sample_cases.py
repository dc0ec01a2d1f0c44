"""Cases of distributions, one sample, two samples, and pairs."""

import mpmath as mp
import numpy as np
from exact_distributions import noncentral_upper, t_critical, t_upper
from scipy import stats
from shared_cases import BEYOND_SCIPY, agrees, estimate_case, moments, random, welch_of


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
