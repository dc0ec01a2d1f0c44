"""A language model of letter pairs, in plain Python. Two techniques are switched by environment variables, and the suite
beside this file turns each of them back in turn. In this folder:

    nanobench run suite.json
    nanobench report --format html --out environment.html
"""

import math
import os
import random
import time

has_momentum = os.environ.get("MOMENTUM", "1") == "1"
has_decay = os.environ.get("DECAY", "1") == "1"
random.seed(int(os.environ.get("SEED", "1")))

TEXT = "the cat sat on the mat and the dog sat on the log while the rat ran to the hat "
letters = sorted(set(TEXT))
pairs = [(letters.index(a), letters.index(b)) for a, b in zip(TEXT, TEXT[1:])]
logits = [[random.gauss(0, 0.5) for _ in letters] for _ in letters]
speed = [[0.0] * len(letters) for _ in letters]
STEPS = 40


def probabilities(row):
    top = max(row)
    weights = [math.exp(value - top) for value in row]
    return [weight / sum(weights) for weight in weights]


def validation_loss():
    table = [probabilities(row) for row in logits]
    return -sum(math.log(table[a][b]) for a, b in pairs) / len(pairs)


def train(step):
    lr = 1.5 * (1 - step / STEPS if has_decay else 1)
    for a, b in random.choices(pairs, k=32):
        gradient = probabilities(logits[a])
        gradient[b] -= 1
        for i, slope in enumerate(gradient):
            speed[a][i] = (0.5 * speed[a][i] if has_momentum else 0) - lr * slope
            logits[a][i] += speed[a][i]


clock = 0.0  # it runs while training, not while validating
for step in range(STEPS + 1):
    if step % 10 == 0:
        average = f"{1000 * clock / step:.2f}" if step else "nan"
        print(
            f"step:{step}/{STEPS} val_loss:{validation_loss():.4f} train_time:{1000 * clock:.0f}ms step_avg:{average}ms"
        )
    if step < STEPS:
        begin = time.perf_counter()
        train(step)
        clock += time.perf_counter() - begin
