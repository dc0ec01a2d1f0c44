"""Pairs of runs that alternate, and what may be said of their ratios."""

import random
import statistics

ORDERS = ("ab", "abba", "random")


def orders_of_pairs(count, order, seed):
    """For each pair, which side runs first: [("ours", "peer"), ...].

    ab: ours, peer, ours, peer, ...; abba: every second pair is turned round, so that a drift of the machine that is
    linear in time cancels; random: turned round by a coin of this seed.
    """
    coin = random.Random(seed)
    pairs = []
    for index in range(count):
        is_turned = {"ab": False, "abba": index % 2 == 1, "random": coin.random() < 0.5}[order]
        pairs.append(("peer", "ours") if is_turned else ("ours", "peer"))
    return pairs


def summary(values):
    """Median, extremes and spread of positive values; the spread, (max - min) / median, needs two values or more."""
    if not values:
        raise ValueError("no values to summarise")
    middle = statistics.median(values)
    return {
        "n": len(values),
        "median": middle,
        "min": min(values),
        "max": max(values),
        "spread": (max(values) - min(values)) / middle if len(values) > 1 else None,
    }


def second_half(values):
    """The steady state of a run: what came before includes warm-up and compilation."""
    return values[len(values) // 2 :]


def steady_median(values):
    return statistics.median(second_half(values))
