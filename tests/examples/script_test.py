"""What real training scripts do, one habit a test: stand_in/train_gpt.py through `nanobench run`.

NANOBENCH=build/release/bin/nanobench python3 tests/examples/script_test.py
"""

import json
import os
import pathlib
import shutil
import sys
import time
import unittest

import workshop

RUNS = (
    "SELECT cell, seed, outcome, final_val_loss, train_ms / timed_steps, message FROM runs "
    "WHERE plan_id IS NOT NULL ORDER BY id"
)
WARMUPS = "SELECT cell, outcome FROM runs WHERE suite = 'warm-up' AND plan_id IS NULL ORDER BY id"


def is_gone(pid):
    """Neither alive nor waiting to be reaped by someone who will not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


class Script(unittest.TestCase):
    def setUp(self):
        self.shop = workshop.Workshop()
        shutil.copy(workshop.STAND_IN / "train_gpt.py", self.shop.folder)

    def tearDown(self):
        self.shop.close()

    def suite(self, *flags, ranks=0, seeds=(1,), limits=None, **engine):
        launcher = ["torchrun", "--standalone", f"--nproc_per_node={ranks}"] if ranks else [sys.executable]
        self.shop.suite(
            name="script",
            design="cells",
            cells=[{"label": "base"}, {"label": "slow", "values": {"lr": "0.05"}}],
            seeds=list(seeds),
            limits=limits or {},
            engine={
                "command": [*launcher, "train_gpt.py", *flags],
                "features": {"lr": {"values": ["0.05", "0.06"]}},
                **engine,
                "env": {"SEED": "{seed}", "MUON_LR": "{feature:lr}", **engine.get("env", {})},
            },
        )

    def run_suite(self, exit_code=0):
        code, out, err = self.shop.run("run", "suite.json", "--quiet", "--json")
        self.assertEqual(code, exit_code, out + err)
        return self.shop.rows(RUNS)

    def assert_completed(self, runs, count=2):
        self.assertEqual([run[2] for run in runs], ["completed"] * count, runs)
        for cell, seed, _, loss, _, _ in runs:
            self.assertAlmostEqual(loss, 3.28 + (0.01 if cell == "slow" else 0) + seed / 1000, places=6)

    def test_nothing_is_said_while_it_compiles(self):
        self.suite("--compile-seconds", "1", limits={"silence_seconds": 20})
        self.assert_completed(self.run_suite())

    def test_a_limit_shorter_than_the_compilation_is_a_timeout(self):
        self.suite("--compile-seconds", "60", limits={"silence_seconds": 0.5})
        self.assertEqual([run[2] for run in self.run_suite(exit_code=4)], ["timed_out"] * 2)

    def test_the_log_has_a_name_that_nobody_knows_and_holds_the_source(self):
        logs = self.shop.folder / "logs"
        logs.mkdir()
        (logs / "old.txt").write_text("step:30/30 val_loss:2.0000 train_time:1ms step_avg:1.00ms\n")
        self.suite("--uuid-log", seeds=(1, 2), log_file="logs/*.txt")
        self.assert_completed(self.run_suite(), count=4)
        self.assertEqual(len(list(logs.iterdir())), 5)
        steps = self.shop.rows("SELECT step, value FROM samples WHERE metric = 'val/loss' AND run_id = 1 ORDER BY step")
        self.assertEqual([step for step, _ in steps], [0, 10, 20, 30])
        self.assertGreater(steps[0][1], 10)

    def test_one_validation_at_the_end_is_enough(self):
        self.suite("--only-final")
        runs = self.run_suite()
        self.assert_completed(runs)
        self.assertEqual([run[4] for run in runs], [50.0, 50.0])

    def test_eight_ranks_of_which_the_first_prints(self):
        self.suite(ranks=8)
        self.assert_completed(self.run_suite())
        peaks = self.shop.rows("SELECT peak_bytes FROM runs")
        self.assertEqual(peaks, [((31000 + 8) * 2**20,)] * 2)

    def test_eight_ranks_that_all_print(self):
        self.suite("--every-rank", ranks=8)
        self.assert_completed(self.run_suite())
        steps = self.shop.rows("SELECT run_id, count(*) FROM samples WHERE metric = 'val/loss' GROUP BY run_id")
        self.assertEqual(steps, [(1, 4), (2, 4)])

    def test_children_that_a_launcher_leaves_are_ended(self):
        self.suite("--leave-children", ranks=2)
        self.assert_completed(self.run_suite())
        worker = int((self.shop.folder / "workers").read_text())
        deadline = time.monotonic() + 20
        while not is_gone(worker) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertTrue(is_gone(worker))

    def test_a_rank_without_memory_is_the_outcome_of_the_run(self):
        self.suite("--out-of-memory", ranks=8)
        runs = self.run_suite(exit_code=4)
        self.assertEqual([run[2] for run in runs], ["out_of_memory"] * 2, runs)
        for run in runs:
            self.assertIn("CUDA out of memory. Tried to allocate 12.00 GiB", run[5])

    def test_data_is_shared_and_only_read(self):
        data = self.shop.folder.parent / "data"
        data.mkdir()
        (data / "fineweb_val_000000.bin").write_bytes(b"\0" * 4096)
        data.chmod(0o555)
        self.suite("--data", env={"DATA_PATH": str(data)})
        self.assert_completed(self.run_suite())
        self.assertEqual(os.listdir(data), ["fineweb_val_000000.bin"])

    # --- caches of compiled kernels ---

    def step_times(self):
        """Milliseconds of a step of each cell's runs, in the order in which they ran."""
        times = {"base": [], "slow": []}
        for cell, _, _, _, step_ms, _ in self.shop.rows(RUNS):
            times[cell].append(step_ms)
        return times

    def cached_suite(self, *flags, seeds=(1, 2), **engine):
        self.suite(*flags, seeds=seeds, env={"TORCHINDUCTOR_CACHE_DIR": ".cache/{cell}"}, **engine)

    def test_a_cell_finds_what_its_first_run_has_compiled(self):
        self.cached_suite()
        self.assert_completed(self.run_suite(), count=4)
        self.assertEqual(self.step_times(), {"base": [50, 20], "slow": [50, 20]})
        self.assertEqual(sorted(path.name for path in (self.shop.folder / ".cache").iterdir()), ["base", "slow"])

    def test_a_warm_up_fills_the_cache_and_does_not_count(self):
        self.cached_suite(warmup=True)
        self.assert_completed(self.run_suite(), count=4)
        self.assertEqual(self.step_times(), {"base": [20, 20], "slow": [20, 20]})
        self.assertEqual(sorted(self.shop.rows(WARMUPS)), [("base", "completed"), ("slow", "completed")])
        _, out, _ = self.shop.run("report", "--json")
        rows = json.loads(out)["tables"]["rows"]
        self.assertEqual([row["n"]["completed"] for row in rows], [2, 2])

    def test_nothing_to_run_is_nothing_to_warm_up(self):
        self.cached_suite(warmup=True)
        self.run_suite()
        self.run_suite()
        self.assertEqual(len(self.shop.rows(WARMUPS)), 2)
        self.cached_suite(warmup=True, seeds=(1, 2, 3))  # the caches may be gone since
        self.run_suite()
        self.assertEqual(len(self.shop.rows(WARMUPS)), 4)
        self.assertEqual(len(self.shop.rows(RUNS)), 6)

    def test_warm_runs_are_none_of_cold_ones(self):
        self.cached_suite(seeds=(1,))
        self.run_suite()
        self.cached_suite(seeds=(1,), warmup=2)
        self.run_suite()
        self.assertEqual(self.step_times(), {"base": [50, 20], "slow": [50, 20]})
        self.assertEqual(len(self.shop.rows(WARMUPS)), 4)
        self.cached_suite(seeds=(1,), warmup=False)
        self.run_suite()
        self.assertEqual(len(self.shop.rows(RUNS)), 4)

    def test_a_run_after_a_failed_warm_up_has_no_times_and_is_repeated(self):
        self.cached_suite("--fail-first", seeds=(1,), warmup=True)
        runs = self.run_suite()
        self.assert_completed(runs)
        self.assertEqual(sorted(outcome for _, outcome in self.shop.rows(WARMUPS)), ["completed", "crashed"])
        self.assertEqual(sorted(run[4] or 0 for run in runs), [0, 20])
        self.assertEqual(sorted(run[4] or 0 for run in self.run_suite()), [0, 20, 20])
        self.run_suite()
        self.assertEqual(len(self.shop.rows(RUNS)), 3)

    def test_looks_of_one_command_share_a_warm_up(self):
        self.cached_suite(warmup=True)
        code, _, err = self.shop.run("run", "suite.json", "--quiet", "--until-decided", "--max-seeds", "4")
        self.assertEqual(code, 0, err)
        self.assertGreater(len(self.shop.rows(RUNS)), 6)
        self.assertEqual(len(self.shop.rows(WARMUPS)), 2)

    def test_two_checkouts_have_two_caches(self):
        self.cached_suite(warmup=True)
        shutil.copytree(self.shop.folder, self.shop.folder.parent / "base")
        words = ["--baseline-folder", "../base", "--only", "loss", "--margin", "loss=0.002", "--quiet"]
        code, _, err = self.shop.run("gate", "suite.json", *words)
        self.assertEqual(code, 0, err)
        self.assertEqual(len(self.shop.rows(WARMUPS)), 4)
        self.assertEqual({time for times in self.step_times().values() for time in times}, {20})

    def test_runs_side_by_side_have_no_times_to_warm_up_for(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("two runs at once need two processors")
        self.cached_suite(warmup=True)
        code, _, err = self.shop.run("run", "suite.json", "--quiet", "--jobs", "2")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.shop.rows(WARMUPS), [])


if __name__ == "__main__":
    unittest.main()
