"""A random walk towards a minimum, to be run on the nodes of a Slurm cluster: one task for each seed, with the cells of
that seed one after the other on the same node. In this folder, which the nodes must see under the same path:

    nanobench run suite.json --executor slurm
    nanobench report --format md

Options for sbatch are added by --partition NAME and --sbatch-option=--time=2:00:00 (docs/slurm.md). Each task fills the
caches of its node before the runs that count ("warmup" in the suite).
"""

import argparse
import random
import time

parser = argparse.ArgumentParser()
parser.add_argument("--step-size", type=float, required=True)
parser.add_argument("--seed", type=int, required=True)
args = parser.parse_args()

random.seed(args.seed)
place, clock, steps = 3.0, 0.0, 40
for step in range(steps + 1):
    if step % 10 == 0:
        average = f"{1000 * clock / step:.2f}" if step else "nan"
        print(f"step:{step}/{steps} val_loss:{place**2:.4f} train_time:{1000 * clock:.0f}ms step_avg:{average}ms")
    if step < steps:
        begin = time.perf_counter()
        place -= args.step_size * (2 * place + random.gauss(0, 0.1))
        time.sleep(0.002)
        clock += time.perf_counter() - begin
