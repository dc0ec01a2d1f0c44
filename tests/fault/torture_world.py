"""One store, up to four runners of one suite on it, and what befalls them."""

import glob
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from pathlib import Path

FAKETIME = next(iter(glob.glob("/usr/lib/*/faketime/libfaketime.so.1")), None)
DISK_KIB = 3072
KIB, MIB = 1024, 1024 * 1024


def kill(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


class Runner:
    """A process of `nanobench run`, in a process group of its own."""

    def __init__(self, command, environment, limits, log):
        def prepare():
            for kind, value in limits.items():
                resource.setrlimit(kind, (value, value))

        with open(log, "ab") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment,
                                            preexec_fn=prepare, start_new_session=True)  # fmt: skip # noqa: PLW1509, no threads here
        # What the loader and the kernel do to a process without memory, files or time.
        self.codes = {127} if {resource.RLIMIT_AS, resource.RLIMIT_NOFILE} & limits.keys() else set()
        if resource.RLIMIT_CPU in limits:
            self.codes = {-signal.SIGXCPU, -signal.SIGKILL}
        self.signals = set()

    def send(self, number):
        self.signals.add(number)
        return kill(self.process.pid, number)

    def complaint(self):
        """What is wrong with how it ended; None: as it should, or not yet."""
        code = self.process.poll()
        if code is None or -code in self.signals or code in (0, 2, 4, 130) or code in self.codes:
            return None
        return f"a runner ended with {code}"


class World:
    """`disturb` does one thing at random; `counts` says how often each was done."""

    def __init__(self, program, suite, folder, seed):
        self.program, self.suite, self.folder = program, suite, Path(folder)
        self.random = random.Random(seed)
        self.counts, self.codes = Counter(), Counter()
        self.runners, self.stopped, self.problems = [], [], []
        self.has_disk = False
        self.folder.mkdir(parents=True)
        if self.random.random() < 0.5 and os.geteuid() == 0:
            mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_KIB}k", "none", str(self.folder)]
            self.has_disk = subprocess.run(mount, capture_output=True).returncode == 0
        self.store, self.merged = self.folder / "store.db", self.folder / "merged.db"
        # What the log takes must not fill the small disk.
        self.log = Path(f"{folder}.log")

    def close(self):
        for runner in self.runners:
            runner.send(signal.SIGKILL)
        for pid in self.engines():
            kill(pid, signal.SIGKILL)
        if self.has_disk:
            subprocess.run(["umount", "-l", str(self.folder)], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, **more):
        return {**os.environ, "TMPDIR": str(self.folder.parent), "NANOBENCH_TORTURE": str(self.folder), **more}

    def engines(self):
        """Processes of this world that train."""
        mark = f"NANOBENCH_TORTURE={self.folder}\0".encode()
        found = []
        for entry in glob.glob("/proc/[0-9]*"):
            try:
                is_engine = b"mock-engine" in Path(entry, "cmdline").read_bytes()
                if is_engine and mark in Path(entry, "environ").read_bytes():
                    found.append(int(entry[6:]))
            except OSError:
                pass
        return found

    def start(self, limits=None, **more):
        command = [self.program, "run", str(self.suite), "--db", str(self.store)]
        runner = Runner(command, self.environment(**more), limits or {}, self.log)
        self.runners.append(runner)
        return runner

    def reap(self):
        for runner in [one for one in self.runners if one.process.poll() is not None]:
            self.codes[runner.process.returncode] += 1
            if runner.complaint():
                self.problems.append(runner.complaint())
            self.runners.remove(runner)

    # What befalls them. Each returns whether it could be done.

    def limited_runner(self):
        limits = self.random.choice([
            {resource.RLIMIT_AS: int(self.random.choice([14, 20, 40, 100]) * self.random.uniform(1, 1.5) * MIB)},
            {resource.RLIMIT_NOFILE: self.random.randrange(3, 40)},
            {resource.RLIMIT_FSIZE: self.random.randrange(4, 800) * KIB},
            {resource.RLIMIT_CPU: 1},
        ])  # fmt: skip
        self.start(limits)
        return True

    def runner_in_the_past(self):
        if FAKETIME is None:
            return False
        self.start(LD_PRELOAD=FAKETIME, FAKETIME=f"-{self.random.choice(['10s', '1h', '3d'])}")
        return True

    def kill_runner(self):
        return bool(self.runners) and self.random.choice(self.runners).send(signal.SIGKILL)

    def interrupt_runner(self):
        number = self.random.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        return bool(self.runners) and self.random.choice(self.runners).send(number)

    def kill_engine(self):
        engines = self.engines()
        return bool(engines) and kill(self.random.choice(engines), signal.SIGKILL)

    def kill_all(self):
        for runner in self.runners:
            runner.send(signal.SIGKILL)
        return sum(kill(pid, signal.SIGKILL) for pid in self.engines()) + len(self.runners) > 0

    def stop_one(self):
        """Continued by one of the next disturbances."""
        pids = [runner.process.pid for runner in self.runners] + self.engines()
        if not pids:
            return False
        self.stopped.append(self.random.choice(pids))
        return kill(self.stopped[-1], signal.SIGSTOP)

    def continue_all(self):
        for pid in self.stopped:
            kill(pid, signal.SIGCONT)
        self.stopped.clear()
        return True

    def full_disk(self):
        if not self.has_disk:
            return False
        filler = self.folder / "filler"
        try:
            with open(filler, "wb", buffering=0) as out:
                while out.write(b"\0" * 4096):
                    pass
        except OSError:
            pass
        time.sleep(self.random.uniform(0.1, 1.5))
        filler.unlink()
        return True

    def locked_store(self):
        if not self.store.exists():
            return False
        try:
            database = sqlite3.connect(f"file:{self.store}?mode=rw", uri=True, isolation_level=None, timeout=0.2)
            database.execute("BEGIN IMMEDIATE")
            time.sleep(self.random.uniform(0.1, 3.0))
            database.execute("ROLLBACK")
            database.close()
        except sqlite3.Error:
            return False
        return True

    def merge(self):
        """Sometimes killed half-way."""
        if not self.store.exists():
            return False
        merge = subprocess.Popen([self.program, "db", "merge", str(self.merged), str(self.store)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
        try:
            _, message = merge.communicate(timeout=self.random.choice([0.005, 0.02, 60]))
        except subprocess.TimeoutExpired:
            merge.kill()
            merge.communicate()
            return True
        if merge.returncode not in (0, 2, 4):
            self.problems.append(f"a merge ended with {merge.returncode}: {message[-400:]}")
        return True

    DISTURBANCES = (limited_runner, runner_in_the_past, kill_runner, interrupt_runner, kill_engine, kill_all, stop_one,
                    continue_all, full_disk, locked_store, merge)  # fmt: skip

    def disturb(self):
        """One thing after a short time, with up to four runners."""
        self.reap()
        if len(self.runners) < self.random.randint(1, 4):
            self.start()
            self.counts["runners"] += 1
        time.sleep(self.random.uniform(0.02, 0.5))
        what = self.random.choice(self.DISTURBANCES)
        if what.__name__.endswith("runner") and len(self.runners) >= 4 and what is not World.kill_runner:
            what = World.kill_runner
        if what(self):
            self.counts[what.__name__] += 1

    def finish(self, patience_s):
        """Lets all end, then one more runner: it must complete the suite. Then merges."""
        self.continue_all()
        if self.has_disk:
            subprocess.run(["mount", "-o", "remount,size=64m", str(self.folder)], check=True)
        for runner in self.runners:
            if self.random.random() < 0.5:
                runner.send(signal.SIGKILL)
        for _ in range(2):
            for runner in self.runners:
                try:
                    runner.process.wait(patience_s)
                except subprocess.TimeoutExpired:
                    self.problems.append(f"a runner did not end within {patience_s} s")
                    runner.send(signal.SIGKILL)
                    runner.process.wait()
            self.reap()
            last = self.start()
        last.process.wait(patience_s)
        if last.process.returncode != 0:
            self.problems.append(f"the last runner ended with {last.process.returncode}")
        self.reap()
        if self.engines():
            self.problems.append("an engine outlived its runner")
        for _ in range(2):
            merge = [self.program, "db", "merge", str(self.merged), str(self.store)]
            done = subprocess.run(merge, capture_output=True, text=True)
            if done.returncode != 0:
                self.problems.append(f"the last merge ended with {done.returncode}: {done.stderr[-400:]}")
