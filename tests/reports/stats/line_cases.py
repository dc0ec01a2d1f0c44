"""Cases of lines, and of the ratios that equal losses come to."""

import math

import mpmath as mp
import numpy as np
from exact_distributions import t_critical
from scipy import stats
from shared_cases import agrees, random
from statsmodels.regression.linear_model import WLS


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
        roots = sorted(
            mp.polyroots([square, -2 * value * gain, value**2 - (t * mp.mpf(d[1])) ** 2], maxsteps=200), key=mp.re
        )
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
