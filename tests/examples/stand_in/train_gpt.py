"""A stand-in for the train_gpt.py of a speedrun: no GPU, no torch, milliseconds for minutes, and each habit of the real
scripts behind a flag. Its clock is made up, so that tests can compare times: a step takes 20 ms, or 50 ms where the
kernels were not in the cache.

The environment is that of torchrun (RANK, LOCAL_RANK, WORLD_SIZE; one process without it), DATA_PATH,
TORCHINDUCTOR_CACHE_DIR for the compiled kernels (absent: none are kept), SEED, and MUON_LR and SOFTCAP for something to
vary. STAND_IN_FLAGS holds more flags. The log contains this file, and so the form of its lines as a reader finds it in a
script:

step:{step}/{train_steps} val_loss:{val_loss:.4f} train_time:{training_time_ms:.0f}ms step_avg:{step_avg:.2f}ms
step:30/30 val_loss:1.0000 train_time:1ms step_avg:0.03ms
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time
import uuid

parser = argparse.ArgumentParser()
parser.add_argument("--compile-seconds", type=float, default=0, help="says nothing for so long, unless the cache helps")
parser.add_argument("--uuid-log", action="store_true", help="its lines go into logs/UUID.txt, after its own source")
parser.add_argument("--every-rank", action="store_true", help="all ranks print, not only the first")
parser.add_argument("--data", action="store_true", help="reads the shards of $DATA_PATH")
parser.add_argument("--leave-children", action="store_true", help="compile workers outlive it, in their own session")
parser.add_argument("--out-of-memory", action="store_true", help="the last rank has no memory left at step 10")
parser.add_argument("--fail-first", action="store_true", help="the first process in this folder ends with an error")
parser.add_argument("--only-final", action="store_true", help="a single validation, at the end, and no training loss")
args = parser.parse_args(sys.argv[1:] + os.environ.get("STAND_IN_FLAGS", "").split())

rank, world_size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
seed, lr = int(os.environ.get("SEED", "1")), float(os.environ.get("MUON_LR", "0.06"))
softcap = float(os.environ.get("SOFTCAP", "23"))
train_steps = 30

log_file = None
if args.uuid_log and rank == 0:
    pathlib.Path("logs").mkdir(exist_ok=True)
    log_file = pathlib.Path("logs") / f"{uuid.uuid4()}.txt"
    print(log_file)


def print0(text, console=False):
    if rank != 0 and not args.every_rank:
        return
    if console:
        print(text)
    if log_file is not None:
        with open(log_file, "a") as out:
            print(text, file=out)


def kernels_are_cached():
    """Compiles what the cache lacks, and says whether there was nothing to do."""
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    kernel = pathlib.Path(folder) / "kernel.py" if folder else None
    if kernel is not None and kernel.exists():
        return True
    time.sleep(args.compile_seconds)
    if kernel is not None and rank == 0:
        kernel.parent.mkdir(parents=True, exist_ok=True)
        kernel.write_text(f"# compiled for {lr}\n")
    return False


def fail_for_memory():
    """As torch does it: a long traceback, then the reason."""
    for frame in range(60):
        print(f'[rank{rank}]:   File "site-packages/torch/layer.py", line {frame}, in forward', file=sys.stderr)
    sys.exit(
        f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 12.00 GiB. GPU {rank} has a total "
        "capacity of 79.11 GiB of which 3.02 GiB is free."
    )


print0(pathlib.Path(__file__).read_text())
print0("=" * 100)
print0(f"Running Python {sys.version}")
print0("=" * 100)
if args.data:
    shards = sorted(pathlib.Path(os.environ["DATA_PATH"]).glob("*.bin"))
    print0(f"{len(shards)} shards, {sum(len(shard.read_bytes()) for shard in shards)} bytes", console=True)
if args.leave_children and rank == 0:
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    pathlib.Path("workers").write_text(str(worker.pid))

if args.fail_first and rank == 0 and not pathlib.Path("failed").exists():
    pathlib.Path("failed").touch()
    sys.exit("the first process fails")

print0("compiling and warming up", console=True)
step_ms = 20 if kernels_are_cached() else 50
training_time_ms = 0  # the clock starts here
for step in range(train_steps + 1):
    is_last = step == train_steps
    if is_last or (step % 10 == 0 and not args.only_final):
        val_loss = 3.28 + 7 * (train_steps - step) / train_steps + abs(lr - 0.06) + seed / 1000
        val_loss += 0 if softcap else 0.02
        average = f"{training_time_ms / step:.2f}" if step else "nan"
        print0(
            f"step:{step}/{train_steps} val_loss:{val_loss:.4f} train_time:{training_time_ms}ms step_avg:{average}ms",
            console=True,
        )
    if is_last:
        break
    if args.out_of_memory and step == 10 and rank == world_size - 1:
        fail_for_memory()
    training_time_ms += step_ms
    average = f"{training_time_ms / (step + 1):.2f}"
    print0(f"step:{step + 1}/{train_steps} train_time:{training_time_ms}ms step_avg:{average}ms", console=True)
print0(f"peak memory allocated: {31000 + world_size} MiB reserved: 46582 MiB", console=True)
