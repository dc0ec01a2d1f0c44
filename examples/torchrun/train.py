"""Fits a line on several processes that torchrun starts. Each takes its share of the points, and torch.distributed
averages the gradients; without torch, every process computes the whole batch itself. The first process writes the log,
with this source in it, to logs/UUID.txt. In this folder:

    nanobench run suite.json
    nanobench list runs

The first run of a cell would compile kernels, which are kept in .cache/CELL: "warmup" in the suite makes a run that does
not count before it.
"""

import os
import pathlib
import random
import time
import uuid

try:
    import torch
    import torch.distributed as dist
except ImportError:
    dist = None

rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
lr = float(os.environ["LR"])
random.seed(int(os.environ["SEED"]))
points = [(x, 3 * x + 1 + random.gauss(0, 0.1)) for x in (random.random() for _ in range(64))]
if dist is not None:
    dist.init_process_group("gloo")
mine = points if dist is None else points[rank::world_size]
weight = bias = clock = 0.0
STEPS = 40

log = pathlib.Path("logs") / f"{uuid.uuid4()}.txt"


def print0(text):
    if rank == 0:
        with open(log, "a") as out:
            print(text, file=out)


def gradients():
    errors = [(weight * x + bias - y, x) for x, y in mine]
    sums = [sum(2 * error * x for error, x in errors) / len(mine), sum(2 * error for error, _ in errors) / len(mine)]
    if dist is not None:
        tensor = torch.tensor(sums, dtype=torch.float64)
        dist.all_reduce(tensor)
        sums = [value / world_size for value in tensor.tolist()]
    return sums


if rank == 0:
    log.parent.mkdir(exist_ok=True)
    pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]).mkdir(parents=True, exist_ok=True)
print0(pathlib.Path(__file__).read_text())
print0("=" * 100)
for step in range(STEPS + 1):
    if step % 10 == 0:
        loss = sum((weight * x + bias - y) ** 2 for x, y in points) / len(points)
        average = f"{1000 * clock / step:.2f}" if step else "nan"
        print0(f"step:{step}/{STEPS} val_loss:{loss:.4f} train_time:{1000 * clock:.0f}ms step_avg:{average}ms")
    if step < STEPS:
        begin = time.perf_counter()
        slope, shift = gradients()
        weight, bias = weight - lr * slope, bias - lr * shift
        time.sleep(0.002)
        clock += time.perf_counter() - begin
if dist is not None:
    dist.destroy_process_group()
