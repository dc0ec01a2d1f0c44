"""A folder with a suite of the mock engine, and the program that runs it through whichever Slurm is on PATH. The folder's
name has what a careless script would stumble over."""

import concurrent.futures
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("NANOBENCH", ROOT / "build/release/bin/nanobench")).resolve()
CELLS = ["record12", "record13", "record14"]
CACHE = tempfile.TemporaryDirectory()  # the generated data of the tests of this process
LONG = {"steps": 40, "sleep_ms": 50}  # two seconds a run: long enough to interfere with it
PATIENCE_S = float(os.environ.get("NB_PATIENCE_S", "240"))


class Bench:
    def __init__(self, parent=None):
        self._folder = tempfile.TemporaryDirectory(dir=parent)
        self.folder = pathlib.Path(self._folder.name) / "a 'b' \"c\" $d %a;"
        self.folder.mkdir()
        self.database = self.folder / "results.db"
        self.environment = {
            **os.environ,
            "NANOBENCH_DB": str(self.database),
            "NANOBENCH_ROOT": str(ROOT),
            "XDG_CACHE_HOME": CACHE.name,
        }
        self.environment.pop("NANOBENCH_ENGINE", None)
        self.started = []

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self._folder.cleanup()

    def suite(self, mock=None, seeds=(1, 2), **more):
        """Three cells, each a fraction of a second a seed."""
        mock = {"steps": 10, "sleep_ms": 5, **(mock or {})}
        suite = {
            "name": "trial",
            "design": "history",
            "scale": "smoke",
            "threads": 1,
            "seeds": list(seeds),
            "records": CELLS,
            "engine": {"mock": mock},
            **more,
        }
        (self.folder / "trial.json").write_text(json.dumps(suite))

    def start(self, *arguments):
        return self.start_plain("--executor", "slurm", "--poll", "0.3", *arguments)

    def start_plain(self, *arguments):
        process = subprocess.Popen(
            [PROGRAM, "run", "trial.json", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def finish(self, process):
        """Exit code, standard output, standard error."""
        out, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out, err

    def run(self, *arguments):
        return self.finish(self.start(*arguments))

    def wait_until(self, condition):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError("waited in vain")
            time.sleep(0.02)

    def rows(self, query="SELECT cell, seed, outcome, message FROM runs ORDER BY id"):
        if not self.database.exists():
            return []
        store = sqlite3.connect(f"file:{str(self.database).replace('%', '%25')}?mode=ro", uri=True)
        try:
            return store.execute(query).fetchall()
        except sqlite3.OperationalError:  # not made yet
            return []
        finally:
            store.close()

    def outcomes(self):
        """How the newest run of each cell and seed ended."""
        return {(cell, seed): outcome for cell, seed, outcome, _ in self.rows()}

    def shared_files(self, pattern):
        """Without those that are being written: they are there once they have their own name."""
        found = self.folder.glob(f"results.db.slurm/trial-*/submit-*/{pattern}")
        return sorted(path for path in found if ".tmp-" not in path.name)

    def started_runs(self):
        return len(self.shared_files("started/*"))

    @staticmethod
    def interrupt(process):
        process.send_signal(signal.SIGINT)


def every_run_once(test, bench, seeds=(1, 2)):
    """Each planned run completed, once, with its samples, and answers the plan's line; nothing is left behind."""
    completed = [(cell, seed) for cell, seed, outcome, _ in bench.rows() if outcome == "completed"]
    test.assertEqual(sorted(completed), sorted((cell, seed) for cell in CELLS for seed in seeds))
    lines = bench.rows("SELECT r.outcome FROM plan_lines AS l LEFT JOIN runs AS r ON r.id = l.run_id")
    test.assertEqual(lines, [("completed",)] * len(completed))
    test.assertEqual(bench.rows("SELECT count(*) FROM plans"), [(1,)])
    samples = bench.rows(
        "SELECT count(*) FROM samples AS s JOIN runs AS r ON r.id = s.run_id "
        "WHERE s.metric = 'train/loss' AND r.outcome = 'completed' GROUP BY r.id"
    )
    test.assertEqual(len(set(samples)), 1, samples)
    test.assertFalse((bench.folder / "results.db.slurm").exists())


def groups_of(case, count):
    """The names of the case's tests, dealt out to `count` groups."""
    names = [f"{case.__name__}.{name}" for name in unittest.defaultTestLoader.getTestCaseNames(case)]
    return [names[first::count] for first in range(min(count, len(names)))]


def run_groups(groups, at_once):
    """Like unittest.main(), which it is where the command line names tests; else each group of names is run in a process
    of its own, and `at_once` of them side by side: these tests wait far more than they work. Prints the seconds of each."""
    if len(sys.argv) > 1:
        unittest.main()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        ended = list(pool.map(_run_group, groups))
    for names, (done, seconds) in zip(groups, ended):
        print(f"{seconds:6.1f} s  {' '.join(names)}{'' if done.returncode == 0 else ': failed'}")
        if done.returncode != 0:
            print(done.stdout)
    failed = sum(done.returncode != 0 for done, _ in ended)
    print(f"{sum(map(len, groups))} tests in {len(groups)} groups, {failed} groups failed")
    sys.exit(1 if failed or not groups else 0)


def _run_group(names):
    command = [sys.executable, "-B", sys.argv[0], "-v", *names]
    begin_s = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done, time.monotonic() - begin_s
