"""A model of a line, in plain Python, without a switch for any of its techniques. Each patch in patches/ takes one of them
away, and the suite beside this file measures what that costs. In this folder:

    nanobench run suite.json
    nanobench ablate --trainer . --patches patches --command "python3 train.py {seed}" --design pairs --dry-run
"""

import random
import sys
import time

random.seed(int(sys.argv[1]))
points = [(x, 3.0 * x + 1.0 + random.gauss(0.0, 0.05)) for x in (random.random() for _ in range(64))]
weight = bias = weight_speed = bias_speed = 0.0
STEPS, clock = 60, 0.0

momentum = 0.8


def rate(step):
    """Warms up, then stays."""
    return 0.1 * min(1.0, (step + 1) / 10)


def loss():
    return sum((weight * x + bias - y) ** 2 for x, y in points) / len(points)


def say(step, figures=""):
    average = 1000 * clock / step if step else float("nan")
    print(f"step:{step}/{STEPS} {figures}train_time:{1000 * clock:.0f}ms step_avg:{average:.2f}ms", flush=True)


say(0, f"val_loss:{loss():.6f} ")
for step in range(STEPS):
    begin = time.perf_counter()
    # Gradients are averages over all points.
    errors = [(weight * x + bias - y, x) for x, y in points]
    weight_speed = momentum * weight_speed - rate(step) * sum(2 * e * x for e, x in errors) / len(points)
    bias_speed = momentum * bias_speed - rate(step) * sum(2 * e for e, _ in errors) / len(points)
    weight, bias = weight + weight_speed, bias + bias_speed
    clock += time.perf_counter() - begin
    say(step + 1)
say(STEPS, f"val_loss:{loss():.6f} ")
