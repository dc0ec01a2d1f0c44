"""What the small PyTorch scripts share: timing, and the rate of float32 matrix products in the same process."""

import json
import statistics
import time

import torch

WARM_UP_CALLS = 3
SGEMM_SIDE = 1024


def times_ms(call, seconds):
    """Times of single calls for about `seconds`, at least five, after a warm-up."""
    for _ in range(WARM_UP_CALLS):
        call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - begin))
    return times


def sgemm_gflops():
    a, b = torch.randn(SGEMM_SIDE, SGEMM_SIDE), torch.randn(SGEMM_SIDE, SGEMM_SIDE)
    c = a @ b
    median_ms = statistics.median(times_ms(lambda: torch.mm(a, b, out=c), 0.1))
    return 2e-6 * SGEMM_SIDE**3 / median_ms


def report(name, call, seconds):
    """One line of JSON: the mean and the median of a call."""
    times = times_ms(call, seconds)
    print(
        json.dumps(
            {
                "peer": f"torch-{torch.__version__}-{name}",
                "ms": statistics.mean(times),
                "median_ms": statistics.median(times),
                "samples_ms": times,
                "sgemm_gflops": sgemm_gflops(),
            }
        )
    )
