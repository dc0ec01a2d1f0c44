"""`run --executor slurm` from the command to the stored runs, against a Slurm that only pretends (fake_slurm.py): tasks
that crash, hang and vanish, submitters that are killed, interrupted and doubled, a Slurm that refuses or is silent.

    NANOBENCH=build/release/bin/nanobench python3 tests/slurm/executor_test.py
"""

import json
import random
import signal
import time
import unittest

import bench
import fake_slurm_control as fake_control

STEADY = {"steps": 10, "sleep_ms": 5}
TRAINER = """import sys, time
time.sleep(0.3)
rate, seed = float(sys.argv[2]), int(sys.argv[4])
print("step:0/2 val_loss:10.0000 train_time:0ms step_avg:nanms")
print(f"step:2/2 val_loss:{3 + rate + seed / 100:.4f} train_time:20ms step_avg:10.00ms")
"""


class Executor(unittest.TestCase):
    def setUp(self):
        self.bench = bench.Bench()
        self.fake = fake_control.FakeSlurm(self.bench)

    def tearDown(self):
        self.fake.close()
        self.bench.close()

    def assert_one_sentence(self, err, *words):
        for word in words:
            self.assertIn(word, err)
        self.assertEqual(len([line for line in err.splitlines() if line.startswith("nanobench:")]), 1, err)

    # --- all goes well ---

    def test_a_suite_is_one_array_and_a_seed_is_one_task(self):
        self.bench.suite()
        code, out, err = self.bench.run("--json")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.fake.calls("sbatch"), 1)
        self.assertIn("6 runs in 2 tasks", err)
        self.assertEqual(json.loads(out)["kind"], "comparison")
        bench.every_run_once(self, self.bench)
        planned, real = self.bench.rows("SELECT DISTINCT 'slurm', hardware FROM runs")[0]
        self.assertNotIn(planned, real)  # the row names the node's processor
        # In the plan's order, one after the other.
        for seed in (1, 2):
            runs = self.bench.rows(f"SELECT started_at, finished_at FROM runs WHERE seed = {seed} ORDER BY position")
            for before, after in zip(runs, runs[1:]):
                self.assertGreaterEqual(after[0], before[1])

    def test_finished_runs_are_not_submitted_again(self):
        self.bench.suite(seeds=(1,))
        self.assertEqual(self.bench.run()[0], 0)
        self.assertEqual(self.bench.run()[0], 0)
        self.assertEqual(self.fake.calls("sbatch"), 1)
        self.bench.suite(seeds=(1, 2))
        code, _, err = self.bench.run()
        self.assertEqual(code, 0, err)
        self.assertIn("3 runs in 1 task", err)
        self.assertEqual(self.fake.calls("sbatch"), 2)
        self.assertEqual(self.bench.run("--fresh")[0], 0)
        self.assertEqual(len(self.bench.rows()), 12)

    def test_a_run_may_be_a_task_of_its_own_and_the_shared_folder_elsewhere(self):
        self.bench.suite(seeds=(1,))
        code, _, err = self.bench.run("--chunk", "run", "--scratch", "shared x", "--tasks-at-once", "2")
        self.assertEqual(code, 0, err)
        self.assertIn("3 runs in 3 tasks", err)
        bench.every_run_once(self, self.bench, seeds=(1,))
        self.assertEqual(list((self.bench.folder / "shared x").iterdir()), [])

    def test_seeds_until_decided(self):
        self.bench.suite()
        code, _, err = self.bench.run("--until-decided", "--max-seeds", "3")
        self.assertEqual(code, 0, err)
        self.assertIn("look 1, 3 seeds", err)

    def test_fresh_seeds_until_decided_are_measured_once(self):
        self.bench.suite()
        self.assertEqual(self.bench.run("--until-decided", "--max-seeds", "6")[0], 0)
        once = len(self.bench.rows())
        self.assertGreater(once, 9, "one look is too few for this test")
        code, _, err = self.bench.run("--until-decided", "--max-seeds", "6", "--fresh")
        self.assertEqual(code, 0, err)
        self.assertEqual(len(self.bench.rows()), 2 * once)

    def test_a_cell_that_fails_ends_its_changes_alone(self):
        self.bench.suite(mock={"steps": 10, "cells": {bench.CELLS[-1]: {"fault": {"kind": "exit", "step": 3}}}})
        code, _, err = self.bench.run("--until-decided", "--max-seeds", "6")
        self.assertEqual(code, 4, err)
        self.assertIn("1 with a cell that fails", err)
        failed = self.bench.rows("SELECT count(*) FROM runs WHERE outcome = 'crashed'")[0][0]
        self.assertLessEqual(failed, 3, "the first look only")
        self.assertGreater(len(self.bench.rows()), 9)

    def test_a_budget_is_that_of_the_runs_and_not_of_the_queue(self):
        self.bench.suite(mock={"steps": 10, "sleep_ms": 20})  # nine runs of 0.2 s in the first look
        code, _, err = self.bench.run("--budget", "1s")
        self.assertEqual(code, 2, err)
        self.assert_one_sentence(err, "--budget 1.0 s", "the first look, at 3 seeds of 3 cells, takes about 1.8 s")
        self.assertEqual(self.fake.calls("sbatch"), 0)
        # The first look waits in the queue for longer than the budget, and yet there is another one.
        self.fake.set("hold", "")
        process = self.bench.start("--budget", "6s", "--max-seeds", "50")
        self.bench.wait_until(lambda: self.fake.calls("sbatch") == 1)
        time.sleep(7)
        self.fake.release()
        code, out, err = self.bench.finish(process)
        self.assertEqual(code, 0, err)
        text = " ".join(out.split())
        self.assertIn("of the budget of 6.0 s spent, all tasks together", text)
        self.assertRegex(text, r"is undecided; [^.]*(seeds|a seed takes)[^;.]* [0-9.]+ s")
        runs = len(self.bench.rows())
        self.assertGreater(runs, 9)
        self.assertLessEqual(runs, 6 * 1.05 / 0.2)  # no more than fit
        code, _, err = self.bench.run("--budget", "3s", "--max-seeds", "50")
        self.assertEqual(code, 0, err)
        self.assertGreater(len(self.bench.rows()), runs)

    def test_of_unknown_cells_one_seed_runs_before_a_budget_is_refused(self):
        self.bench.suite()
        suite = json.loads((self.bench.folder / "trial.json").read_text())
        for key in ("scale", "records", "threads"):
            del suite[key]
        suite["design"] = "leave_one_out"
        suite["engine"] = {
            "command": ["python3", "train.py", "--lr", "{feature:lr}", "--seed", "{seed}"],
            "features": {"lr": {"values": ["0.1", "0.2"]}},
        }
        (self.bench.folder / "trial.json").write_text(json.dumps(suite))
        (self.bench.folder / "train.py").write_text(TRAINER)
        code, _, err = self.bench.run("--budget", "1s")
        self.assertEqual(code, 2, err)
        self.assertIn("--budget 1.0 s: the first look, at 3 seeds of 2 cells, takes about", err)
        self.assertEqual(self.fake.calls("sbatch"), 1)
        self.assertEqual(len(self.bench.rows()), 2)
        code, _, err = self.bench.run("--budget", "1h", "--max-seeds", "3")
        self.assertEqual(code, 0, err)
        self.assertEqual(len(self.bench.rows()), 6)  # the first two count

    def external(self, seats):
        self.bench.suite()
        suite = json.loads((self.bench.folder / "trial.json").read_text())
        for key in ("scale", "records", "threads"):
            del suite[key]
        suite["design"] = "leave_one_out"
        suite["engine"] = {
            "command": ["python3", "train.py", "--lr", "{feature:lr}", "--seed", "{seed}"],
            "features": {"lr": {"values": ["0.1", "0.2"]}},
            "seats": seats,
        }
        (self.bench.folder / "trial.json").write_text(json.dumps(suite))
        (self.bench.folder / "train.py").write_text(TRAINER)

    def test_a_task_is_a_seat(self):
        self.external({"gpus": 4, "per_run": 2})
        code, out, err = self.bench.run()
        self.assertEqual(code, 0, err)
        self.assertIn("4 runs in 2 tasks", err)
        self.assertIn("all runs of a seed on the same one", " ".join(out.split()))
        (options,) = self.fake.home.glob("jobs/*/options")
        words = options.read_text().split("\n")
        self.assertIn("--gres=gpu:2", words)
        self.assertIn("--array=0-1%2", words)
        self.assertNotIn("--exclusive", words)
        seats = self.bench.rows(
            "SELECT seed, value FROM run_facts JOIN runs ON runs.id = run_id WHERE name = 'seats/name'"
        )
        self.assertEqual(sorted(seats), [(1, "GPU 0"), (1, "GPU 0"), (2, "GPU 1"), (2, "GPU 1")])

    def test_a_run_may_have_a_seat_of_its_own(self):
        self.external({"gpus": 4, "chunk": "run"})
        code, out, err = self.bench.run()
        self.assertEqual(code, 0, err)
        self.assertIn("4 runs in 4 tasks", err)
        self.assertIn("only times of one seat are compared", " ".join(out.split()))

    def test_seats_that_are_named_are_not_slurms(self):
        self.external([{"env": {"CUDA_VISIBLE_DEVICES": "0"}}])
        code, _, err = self.bench.run()
        self.assertEqual(code, 2, err)
        self.assert_one_sentence(err, "/engine/seats: Slurm gives each task its place")
        self.assertEqual(self.fake.calls("sbatch"), 0)

    # --- runs that fail ---

    def test_failed_runs_are_rows_with_a_reason(self):
        faults = {
            "record12": {"fault": {"kind": "signal", "step": 2}},
            "record13": {"fault": {"kind": "hang", "step": 2}},
        }
        self.bench.suite({**STEADY, "cells": faults}, seeds=(1,), limits={"silence_seconds": 1})
        code, _, err = self.bench.run()
        self.assertEqual(code, 4, err)
        self.assertEqual(
            self.bench.outcomes(),
            {("record12", 1): "crashed", ("record13", 1): "timed_out", ("record14", 1): "completed"},
        )
        self.assertFalse((self.bench.folder / "results.db.slurm").exists())

    def test_an_engine_that_is_not_on_the_node(self):
        self.bench.suite(seeds=(1,))
        engine = self.bench.folder / "engine"
        engine.write_text("#!/bin/sh\nexit 1\n")
        engine.chmod(0o755)
        suite = json.loads((self.bench.folder / "trial.json").read_text())
        del suite["engine"]
        (self.bench.folder / "trial.json").write_text(json.dumps(suite))
        self.bench.environment["NANOBENCH_ENGINE"] = str(engine)
        self.fake.set("hold", "Priority")
        process = self.bench.start()
        self.bench.wait_until(lambda: self.fake.jobs())
        engine.unlink()
        self.fake.release()
        code, _, err = self.bench.finish(process)
        self.assertEqual(code, 4, err)
        for _, _, outcome, message in self.bench.rows():
            self.assertEqual(outcome, "unsupported")
            self.assertIn(f"the engine {engine} is not on ", message)

    # --- tasks that are lost ---

    def lose(self, state, *arguments, mock=None):
        """A suite of one seed whose task is over in this state while its first run is at work."""
        self.bench.suite(mock or bench.LONG, seeds=(1,))
        process = self.bench.start(*arguments)
        self.bench.wait_until(lambda: self.bench.started_runs() >= 1)
        self.fake.end(self.fake.jobs()[-1], 0, state)
        return self.bench.finish(process)

    def test_a_lost_node_is_no_fault_of_the_run(self):
        code, _, err = self.lose("NODE_FAIL")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.fake.calls("sbatch"), 2)
        bench.every_run_once(self, self.bench, seeds=(1,))
        lost = [message for _, _, outcome, message in self.bench.rows() if outcome == "interrupted"]
        self.assertEqual(len(lost), 1)
        self.assertIn("was lost with its node", lost[0])

    def check_limit(self, state, outcome):
        """The limit of Slurm has a name, and the rest of the task goes on."""
        code, _, err = self.lose(state)
        self.assertEqual(code, 4, err)
        outcomes = list(self.bench.outcomes().values())
        self.assertEqual(sorted(outcomes), sorted([outcome, "completed", "completed"]), self.bench.rows())

    def test_slurms_time_limit(self):
        self.check_limit("TIMEOUT", "timed_out")

    def test_slurms_memory_limit(self):
        self.check_limit("OUT_OF_MEMORY", "out_of_memory")

    def test_a_task_that_slurm_calls_failed(self):
        self.check_limit("FAILED", "crashed")

    def test_cancelled_stays_cancelled_until_the_command_is_given_again(self):
        code, _, err = self.lose("CANCELLED")
        self.assertEqual(code, 4, err)
        self.assertEqual(set(self.bench.outcomes().values()), {"interrupted"})
        self.assertEqual(self.fake.calls("sbatch"), 1)
        self.assertEqual(self.bench.run()[0], 0)
        bench.every_run_once(self, self.bench, seeds=(1,))

    def test_a_task_that_slurm_has_forgotten(self):
        self.fake.set("accounting", "OUT_OF_MEMORY\n")
        self.bench.suite(bench.LONG, seeds=(1,))
        process = self.bench.start()
        self.bench.wait_until(lambda: self.bench.started_runs() >= 1)
        self.fake.end(self.fake.jobs()[0], 0, "FORGOTTEN")
        code, _, err = self.bench.finish(process)
        self.assertEqual(code, 4, err)
        self.assertIn("out_of_memory", self.bench.outcomes().values())

    def test_tasks_that_never_come_to_their_first_run(self):
        self.bench.suite(seeds=(1,))
        self.fake.set("hold", "Priority")
        process = self.bench.start()
        self.bench.wait_until(lambda: self.fake.jobs())
        self.fake.end(self.fake.jobs()[0], 0, "FAILED")
        code, _, err = self.bench.finish(process)
        self.assertEqual(code, 4, err)
        self.assertEqual([row[2] for row in self.bench.rows()], ["crashed"] * 3)
        self.assertIn("before its first run", self.bench.rows()[0][3])

    def test_a_result_that_cannot_be_read(self):
        self.bench.suite(seeds=(1,))
        self.fake.set("hold", "Priority")
        process = self.bench.start()
        self.bench.wait_until(lambda: self.fake.jobs())
        self.bench.shared_files("results")[0].joinpath("1.db").write_bytes(b"SQLite format 3\0" + bytes(5000))
        self.fake.release()
        code, _, err = self.bench.finish(process)
        self.assertEqual(code, 4, err)
        self.assertEqual(sorted(row[2] for row in self.bench.rows()), ["completed", "completed", "crashed"])
        self.assertIn("result file", next(row[3] for row in self.bench.rows() if row[2] == "crashed"))

    # --- submitters that end early ---

    def test_a_killed_submitter_is_followed_by_one_that_goes_on(self):
        self.bench.suite(bench.LONG)
        process = self.bench.start()
        self.bench.wait_until(lambda: len(self.bench.rows()) >= 1)
        process.kill()
        process.communicate()
        code, _, err = self.bench.run()
        self.assertEqual(code, 0, err)
        self.assertIn("was submitted before", err)
        self.assertEqual(self.bench.rows("SELECT plan_id FROM plan_uses"), [(1,)], "the newest plan")
        self.assertEqual(self.fake.calls("sbatch"), 1)
        bench.every_run_once(self, self.bench)

    def test_submitters_killed_again_and_again(self):
        draws = random.Random(20240520)
        self.bench.suite({"steps": 10, "sleep_ms": 30})
        for _ in range(12):
            process = self.bench.start()
            try:
                process.communicate(timeout=draws.uniform(0.05, 0.6))
            except Exception:
                process.kill()
                process.communicate()
        code, _, err = self.bench.run()
        self.assertEqual(code, 0, err)
        bench.every_run_once(self, self.bench)

    def test_killed_while_sbatch_has_not_answered(self):
        self.bench.suite()
        self.fake.set("mute", "")
        process = self.bench.start()
        self.bench.wait_until(lambda: self.fake.jobs())
        process.kill()
        process.communicate()
        code, _, err = self.bench.run()
        self.assertEqual(code, 0, err)
        self.assertEqual(self.fake.calls("sbatch"), 1)
        bench.every_run_once(self, self.bench)

    def test_killed_before_sbatch_made_a_job(self):
        self.bench.suite(bench.LONG)
        process = self.bench.start()
        self.bench.wait_until(lambda: self.bench.started_runs() >= 1)
        process.kill()
        process.communicate()
        job = self.fake.jobs()[0]
        self.fake.scancel(job)
        # As if it had died before sbatch did anything.
        folder = self.bench.shared_files("")[0]
        state_file = folder.parent / "state.json"
        state = json.loads(state_file.read_text())
        state["submissions"][0].pop("job_id", None)
        state_file.write_text(json.dumps(state))
        for mark in self.bench.shared_files("started/*"):
            mark.unlink()
        self.fake.forget(job)
        self.bench.suite(bench.LONG)
        code, _, err = self.bench.run()
        self.assertEqual(code, 0, err)
        self.assertEqual(self.fake.calls("sbatch"), 2)
        bench.every_run_once(self, self.bench)

    def test_a_job_that_was_given_up_does_not_run(self):
        self.bench.suite(seeds=(1,))
        self.fake.set("hold", "Priority")
        process = self.bench.start()
        self.bench.wait_until(lambda: self.fake.jobs())
        self.bench.shared_files("")[0].joinpath("abandoned").touch()
        self.assertEqual(self.fake.run_by_hand(self.fake.jobs()[0], 0), 0)
        self.assertEqual(self.bench.shared_files("results/*"), [])
        process.kill()

    def test_two_submitters(self):
        self.bench.suite(bench.LONG)
        first = self.bench.start()
        self.bench.wait_until(lambda: self.fake.jobs())
        code, out, err = self.bench.run("--quiet")
        self.assertEqual((code, out), (2, ""))
        self.assert_one_sentence(err, f"process {first.pid} on ", "already")
        self.assertEqual(self.bench.finish(first)[0], 0)
        self.assertEqual(self.fake.calls("sbatch"), 1)
        bench.every_run_once(self, self.bench)

    def test_an_interrupt_leaves_the_job_and_says_how_to_go_on(self):
        self.bench.suite(bench.LONG, seeds=(1,))
        process = self.bench.start()
        self.bench.wait_until(lambda: self.bench.started_runs() >= 1)
        self.bench.interrupt(process)
        code, _, err = self.bench.finish(process)
        self.assertEqual(code, 130, err)
        self.assertIn(f"`scancel {self.fake.jobs()[0]}` cancels it", err)
        self.assertEqual(self.fake.calls("scancel"), 0)
        self.assertEqual(self.bench.run()[0], 0)
        self.assertEqual(self.fake.calls("sbatch"), 1)
        bench.every_run_once(self, self.bench, seeds=(1,))

    def test_an_interrupt_that_cancels(self):
        self.bench.suite(bench.LONG, seeds=(1,))
        process = self.bench.start("--cancel-on-interrupt")
        self.bench.wait_until(lambda: self.bench.started_runs() >= 1)
        process.send_signal(signal.SIGTERM)
        code, _, err = self.bench.finish(process)
        self.assertEqual(code, 130, err)
        self.assertEqual(self.fake.calls("scancel"), 1)
        self.bench.suite(bench.LONG, seeds=(1,))
        self.assertEqual(self.bench.run()[0], 0)
        self.assertEqual(self.fake.calls("sbatch"), 2)
        bench.every_run_once(self, self.bench, seeds=(1,))

    # --- a Slurm that refuses, waits or is silent ---

    def test_why_tasks_wait_is_shown(self):
        self.bench.suite(seeds=(1,))
        self.fake.set("hold", "QOSMaxJobsPerUserLimit")
        process = self.bench.start()
        self.bench.wait_until(lambda: self.fake.calls("squeue") >= 2)
        self.fake.release()
        code, _, err = self.bench.finish(process)
        self.assertEqual(code, 0, err)
        self.assertIn("1 task waiting (QOSMaxJobsPerUserLimit)", err)

    def test_a_silent_controller_loses_nothing(self):
        self.bench.suite(bench.LONG, seeds=(1,))
        self.fake.set("down", "")
        process = self.bench.start()
        self.bench.wait_until(lambda: self.fake.calls("squeue") >= 2)
        self.fake.unset("down")
        code, _, err = self.bench.finish(process)
        self.assertEqual(code, 0, err)
        self.assertIn("Unable to contact slurm controller", err)
        bench.every_run_once(self, self.bench, seeds=(1,))

    def test_a_refusal_is_quoted_and_leaves_nothing(self):
        self.bench.suite()
        self.fake.set("refuse", "Batch job submission failed:\n  Invalid qos specification")
        code, out, err = self.bench.run("--quiet")
        self.assertEqual((code, out), (2, ""))
        self.assert_one_sentence(err, "sbatch: error: Batch job submission failed: Invalid qos specification")
        self.assertFalse((self.bench.folder / "results.db.slurm").exists())
        self.fake.unset("refuse")
        self.assertEqual(self.bench.run()[0], 0)

    def test_bad_commands_are_refused_with_one_sentence(self):
        self.bench.suite()
        (self.bench.folder / "file").touch()
        cases = [
            (["--partition", "mian"], 'did you mean "main"'),
            (["--scratch", "file"], "--scratch"),
            (["--processes", "2", "--threads", "2"], "processes a run"),
            (["--sbatch-option=time"], "expected one option of sbatch"),
            (["--sbatch-option=--array=0-3"], "nanobench sets it itself"),
            (["--chunk", "cell"], "expected seed or run"),
            (["--times", "turns"], "--times turns"),
            (["--threads", "5", "--executor", "slrum"], 'did you mean "slurm"'),
        ]
        for arguments, words in cases:
            with self.subTest(words):
                command = ["--quiet", *arguments]
                if "--executor" in arguments:
                    process = self.bench.start_plain(*command)
                else:
                    process = self.bench.start(*command)
                code, out, err = self.bench.finish(process)
                self.assertEqual((code, out), (2, ""), err)
                self.assert_one_sentence(err, words)
        self.assertEqual(self.fake.calls("sbatch"), 0)

    def test_without_slurm(self):
        self.bench.suite()
        self.bench.environment["PATH"] = "/nowhere"
        code, out, err = self.bench.run("--quiet")
        self.assertEqual((code, out), (2, ""))
        self.assert_one_sentence(err, "not on PATH")
        code, out, err = self.bench.finish(self.bench.start_plain("--partition", "main"))
        self.assertEqual((code, out), (2, ""))
        self.assert_one_sentence(err, "--partition needs --executor slurm")

    def test_a_damaged_state_is_said(self):
        self.bench.suite(bench.LONG, seeds=(1,))
        process = self.bench.start()
        self.bench.wait_until(lambda: self.bench.started_runs() >= 1)
        process.kill()
        process.communicate()
        state_file = self.bench.shared_files("")[0].parent / "state.json"
        for text in ("", "[]", '{"format": 1}', state_file.read_text().replace('"tasks"', '"task"')):
            state_file.write_text(text)
            code, out, err = self.bench.run("--quiet")
            self.assertEqual((code, out), (2, ""), text)
            self.assert_one_sentence(err, "state.json")


if __name__ == "__main__":
    bench.run_groups(bench.groups_of(Executor, 100), at_once=6)
