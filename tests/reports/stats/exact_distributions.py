"""Student's t, the non-central t and expectations over an estimated spread, by mpmath at 40 digits."""

import mpmath as mp
from scipy import stats

mp.mp.dps = 40


def t_upper(t, df):
    t, df = mp.mpf(t), mp.mpf(df)
    tail = mp.betainc(df / 2, mp.mpf(1) / 2, 0, df / (df + t * t), regularized=True) / 2
    return tail if t >= 0 else 1 - tail


def t_p(t, df, tail):
    if tail == "less":
        return t_upper(-t, df)
    return t_upper(t, df) if tail == "greater" else 2 * t_upper(abs(t), df)


def t_critical(alpha, df):
    """t with upper tail alpha."""
    start = -stats.t.ppf(float(alpha), float(df))
    return mp.findroot(lambda x: mp.log(t_upper(x, df)) - mp.log(alpha), mp.mpf(start))


def spread_expectation(f, df, end=None):
    """Expectation of f(s), s = sqrt(chi2 / df)."""
    df = mp.mpf(df)
    constant = mp.log(2) + df / 2 * mp.log(df / 2) - mp.loggamma(df / 2)

    def integrand(s):
        return f(s) * mp.exp(constant + (df - 1) * mp.log(s) - df * s * s / 2) if s > 0 else mp.mpf(0)

    width = 1 / mp.sqrt(2 * df)
    top = end if end is not None else 1 + 36 * width  # far tails have their mode above 1
    points = [p for p in [mp.mpf(0)] + [mp.mpf(10) ** k for k in range(-5, 0)] if p < top]
    points += [p for p in [1 + k * width / 2 for k in range(-24, 73)] if points[-1] < p < top]
    return mp.quad(integrand, points + [top])


def noncentral_upper(t, df, shift):
    t, shift = mp.mpf(t), mp.mpf(shift)
    return spread_expectation(lambda s: mp.erfc((t * s - shift) / mp.sqrt(2)) / 2, df)
