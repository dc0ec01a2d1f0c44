"""`watch` of runs that Slurm's nodes carry out, from the files that they write to the rows that a person sees, against a
Slurm that only pretends (fake_slurm.py).

    NANOBENCH=build/release/bin/nanobench python3 tests/slurm/watch_test.py
"""

import hashlib
import json
import subprocess
import unittest

import bench
import fake_slurm_control as fake_control

LONG = {"steps": 400, "sleep_ms": 50}


class Watch(unittest.TestCase):
    def setUp(self):
        self.bench = bench.Bench()
        self.fake = fake_control.FakeSlurm(self.bench)

    def tearDown(self):
        self.fake.close()
        self.bench.close()

    def look(self, *arguments):
        """What `watch --json` says; None while there is no plan."""
        done = subprocess.run(
            [bench.PROGRAM, "watch", "--json", *arguments],
            cwd=self.bench.folder,
            env=self.bench.environment,
            capture_output=True,
            text=True,
            timeout=bench.PATIENCE_S,
        )
        return json.loads(done.stdout) if done.returncode == 0 else None

    def text(self):
        done = subprocess.run(
            [bench.PROGRAM, "watch", "--once"],
            cwd=self.bench.folder,
            env=self.bench.environment,
            capture_output=True,
            text=True,
            timeout=bench.PATIENCE_S,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def wait_for(self, condition):
        """The first look that the condition holds of."""
        seen = []

        def holds():
            seen.append(self.look())
            return seen[-1] is not None and condition(seen[-1])

        self.bench.wait_until(holds)
        return seen[-1]

    def digests(self):
        """Of every file of the folder that a reader could have changed, but those that others append to."""
        return {
            file: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in self.bench.folder.rglob("*")
            if file.is_file()
        }

    @staticmethod
    def runs(document):
        return document["tables"].get("node_runs", [])

    def kill(self, process):
        process.kill()
        process.communicate()

    def test_runs_on_nodes_are_followed_step_by_step(self):
        self.bench.suite(LONG)
        self.bench.start()
        first = self.wait_for(lambda state: len([run for run in self.runs(state) if run["step"] > 0]) == 2)
        self.assertEqual(first["facts"]["state"], "running")
        self.assertEqual([first["facts"][key] for key in ("runs", "running", "queued", "trained")], [6, 2, 4, 0])
        self.assertEqual(len({run["seed"] for run in self.runs(first)}), 2)
        for run in self.runs(first):
            self.assertTrue(run["host"])
            self.assertGreater(run["train_loss"], 0)
            self.assertGreater(run["step_ms"], 0)
            self.assertGreater(run["elapsed_s"], 0)
            self.assertIn(run["cell"], bench.CELLS)
        steps = {run["seed"]: run["step"] for run in self.runs(first)}
        self.wait_for(lambda state: all(run["step"] > steps[run["seed"]] for run in self.runs(state)))
        text = self.text()
        for words in ("running: 2 runs on ", "Slurm job 101", "collects the results", "2 running, 4 queued", "ms/step"):
            self.assertIn(words, text)
        states = {row["cell"]: row["state"] for row in first["tables"]["cells"]}
        self.assertIn("queued", states.values())

    def test_what_waits_in_the_queue_and_why(self):
        self.bench.suite(LONG)
        self.fake.set("hold", "Priority")
        self.bench.start()
        state = self.wait_for(lambda state: state["facts"].get("slurm_queue"))
        self.assertEqual(state["facts"]["state"], "queued")
        self.assertEqual(state["facts"]["slurm_queue"], "2 tasks waiting (Priority)")
        self.assertEqual([state["facts"][key] for key in ("running", "queued", "to_do")], [0, 6, 0])
        self.assertEqual(self.runs(state), [])
        self.assertIsNone(state["facts"]["remaining_s"], "nobody knows how long a queue takes")

    def test_a_dead_submitter_is_not_missed(self):
        self.bench.suite({"steps": 60, "sleep_ms": 50})
        process = self.bench.start()
        self.wait_for(lambda state: len(self.runs(state)) == 2)
        self.kill(process)
        before = self.wait_for(lambda state: any(run["step"] > 0 for run in self.runs(state)))
        asked = self.fake.calls("squeue")  # with what the submitter asked in its last moments
        self.assertEqual(before["facts"]["state"], "running")
        self.assertIn("no program collects ", self.text())
        state = self.wait_for(lambda state: state["facts"].get("uncollected") == 6)
        self.assertEqual([state["facts"][key] for key in ("trained", "running", "queued")], [6, 0, 0])
        self.assertEqual(state["facts"]["state"], "gone")
        self.assertTrue(all(row["finished"] == 2 and row["val_loss"]["mean"] > 0 for row in state["tables"]["cells"]))
        self.assertIn("6 results of ended runs", self.text())
        self.assertEqual(self.fake.calls("squeue"), asked, "a reader asks Slurm nothing")
        files = self.digests()
        self.look()
        self.assertEqual(self.digests(), files, "a reader changes nothing")
        self.assertEqual(self.bench.rows(), [])
        code, _, err = self.bench.run()
        self.assertEqual(code, 0, err)
        bench.every_run_once(self, self.bench)
        self.assertEqual(self.look()["facts"]["state"], "ended")

    def test_a_failed_run_that_nobody_collected_says_why(self):
        self.bench.suite(
            {"steps": 10, "sleep_ms": 5, "cells": {"record13": {"fault": {"kind": "signal", "step": 2}}}}, seeds=(1,)
        )
        self.fake.set("hold", "Priority")
        process = self.bench.start()
        self.wait_for(lambda state: state["facts"].get("slurm_queue"))
        self.kill(process)
        self.fake.release()
        state = self.wait_for(lambda state: state["facts"].get("uncollected") == 3)
        self.assertEqual((state["facts"]["trained"], state["facts"]["failed"]), (2, 1))
        self.assertTrue(any("record13 seed 1 crashed" in warning for warning in state["warnings"]), state["warnings"])

    def test_a_shared_folder_elsewhere_is_found(self):
        self.bench.suite(LONG, seeds=(1,))
        process = self.bench.start("--scratch", "shared x")
        state = self.wait_for(lambda state: self.runs(state))
        self.assertEqual(state["facts"]["state"], "running")
        self.kill(process)
        self.assertTrue(self.wait_for(lambda state: self.runs(state)))

    def test_files_that_are_cut_hostile_or_gone(self):
        self.bench.suite(LONG)
        process = self.bench.start()
        self.wait_for(lambda state: len([run for run in self.runs(state) if run["step"] > 0]) == 2)
        self.kill(process)
        for job in self.fake.jobs():
            self.fake.scancel(job)
        files = self.bench.shared_files("progress/*")
        self.assertEqual(len(files), 2)
        whole = files[0].read_bytes()
        files[0].write_bytes(whole + b'{"at": 1e9, "step": 399, "lo')  # the writer was cut off
        state = self.look()
        self.assertEqual(len(self.runs(state)), 2)
        self.assertTrue(all(run["step"] < 399 for run in self.runs(state)), "half a line is none")
        for bad in (
            b"",
            b"{}\n",
            b"\xff\xfe\n",
            b"[" * 100000,
            b'{"host": 1, "started_at": {}}\n{"at": "x"}\n',
            whole + b'{"at": -1, "step": -5}\n{"at": 2, "step": 1e300, "val": [1, [2], [3, "x"]]}\nnull\n',
        ):
            files[0].write_bytes(bad)
            self.assertEqual(len(self.runs(self.look())), 2, bad[:40])
        files[1].unlink()
        self.assertEqual(len(self.runs(self.look())), 2, "it has begun, and its node says nothing")
        state_file = next(self.bench.folder.glob("results.db.slurm/trial-*/state.json"))
        state_file.write_text(state_file.read_text()[:100])
        self.assertEqual(self.runs(self.look()), [])
        state_file.unlink()
        self.assertEqual(self.look()["facts"]["state"], "not_begun")


if __name__ == "__main__":
    bench.run_groups(bench.groups_of(Watch, 100), at_once=6)
