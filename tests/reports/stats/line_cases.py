"""Cases of lines."""

import math

import numpy as np
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
