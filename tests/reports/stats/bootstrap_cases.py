"""Cases of the bootstrap, with the product's own generator: xoshiro256** seeded through SplitMix64."""

import numpy as np
from scipy import stats
from shared_cases import random


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
        case = {
            "kind": kind,
            "centre": centre,
            "first": a,
            "second": b,
            "resamples": resamples,
            "seed": seed,
            "level": level,
        }
        cases.append(case | bca(float(statistic(a, b)), resampled, jackknives, level))
    return cases
