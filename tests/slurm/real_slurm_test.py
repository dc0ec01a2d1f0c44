"""`run --executor slurm` against a real Slurm on the loopback, with two nodes that have host names of their own
(loopback.sh). Exits with 77 and the reason where there is no Slurm to start.

    NANOBENCH=build/release/bin/nanobench python3 tests/slurm/real_slurm_test.py
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import bench

LOOPBACK = pathlib.Path(__file__).resolve().parent / "loopback.sh"
PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "unshare"]
TWO_AT_ONCE = ["--sbatch-option=--oversubscribe"]  # a node has two processors and a run takes one


def why_not():
    """Why no Slurm can be started here; empty when one can."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [program for program in PROGRAMS if shutil.which(program, path=path) is None]
    if missing:
        return f"not here: {', '.join(missing)} (Debian's slurm-wlm and munge; .ci/run puts them there)"
    if os.geteuid() != 0:
        return "only root can start slurmd"
    done = subprocess.run(["unshare", "--uts", "hostname", "nano1"], capture_output=True, text=True)
    return f"no host names of one's own here: {done.stderr.strip()}" if done.returncode != 0 else ""


class RealSlurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        holder = tempfile.TemporaryDirectory(prefix="nanobench-slurm-")
        cls.addClassCleanup(holder.cleanup)
        cls.addClassCleanup(subprocess.run, [LOOPBACK, "stop", holder.name], check=True)
        done = subprocess.run([LOOPBACK, "start", holder.name], capture_output=True, text=True, timeout=180)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        os.environ["SLURM_CONF"] = done.stdout.strip()

    def setUp(self):
        self.bench = bench.Bench()
        self.addCleanup(self.bench.close)
        self.addCleanup(self.slurm, "scancel", "--partition=main")

    @staticmethod
    def slurm(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout

    def jobs(self):
        """Numbers of the jobs in the queue."""
        return sorted(set(self.slurm("squeue", "--noheader", "--format=%F").split()))

    def submissions(self):
        return len(list(self.bench.folder.glob("results.db.slurm/trial-*/submit-*")))

    def test_seeds_run_on_hosts_and_times_are_compared_within_them(self):
        self.bench.suite({"steps": 20, "sleep_ms": 20}, seeds=(1, 2, 3, 4))
        code, out, err = self.bench.run("--json")
        self.assertEqual(code, 0, err)
        self.assertIn("12 runs in 4 tasks", err)
        bench.every_run_once(self, self.bench, seeds=(1, 2, 3, 4))
        hosts = self.bench.rows("SELECT seed, group_concat(DISTINCT owner_host) FROM runs GROUP BY seed")
        self.assertTrue(all(host in ("nano1", "nano2") for _, host in hosts), hosts)
        self.assertEqual({host for _, host in hosts}, {"nano1", "nano2"})
        facts = [json.loads(text) for (text,) in self.bench.rows("SELECT facts FROM environments")]
        self.assertEqual({fact["host"] for fact in facts}, {"nano1", "nano2"})
        report = json.loads(out)
        self.assertIn("2 hosts", json.dumps(report))
        speed_ups = [row["speed_up"] for row in report["tables"]["rows"][1:]]
        self.assertTrue(all(value is not None for value in speed_ups), speed_ups)

    def watched(self):
        """What `watch --json` says now; None while it says nothing."""
        done = subprocess.run(
            [bench.PROGRAM, "watch", "--json"],
            cwd=self.bench.folder,
            env=self.bench.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return json.loads(done.stdout) if done.returncode == 0 else None

    def test_watch_follows_runs_on_their_nodes_also_of_a_killed_submitter(self):
        self.bench.suite({"steps": 200, "sleep_ms": 50}, seeds=(1, 2, 3))
        process = self.bench.start()
        seen = []

        def are_two_at_work():
            seen.append(self.watched() or {"tables": {}})
            runs = seen[-1]["tables"].get("node_runs", [])
            return len([run for run in runs if run["step"] > 0]) == 2

        self.bench.wait_until(are_two_at_work)
        self.assertEqual({run["host"] for run in seen[-1]["tables"]["node_runs"]}, {"nano1", "nano2"})
        facts = seen[-1]["facts"]
        self.assertEqual((facts["state"], facts["running"], facts["queued"]), ("running", 2, 7))
        self.assertIn("1 waiting (", facts["slurm_queue"])
        process.kill()
        process.communicate()
        before = {run["seed"]: run["step"] for run in seen[-1]["tables"]["node_runs"]}
        self.bench.wait_until(
            lambda: (
                are_two_at_work()
                and all(
                    run["step"] > before[run["seed"]]
                    for run in seen[-1]["tables"]["node_runs"]
                    if run["seed"] in before
                )
            )
        )

    def test_pairs_that_hosts_tore_apart_have_no_time_effect(self):
        self.bench.suite({"steps": 20, "sleep_ms": 20}, seeds=(1,))
        self.assertEqual(self.bench.run("--sbatch-option=--nodelist=nano1")[0], 0)
        suite = json.loads((self.bench.folder / "trial.json").read_text())
        suite["records"] = [*bench.CELLS, "record15"]
        (self.bench.folder / "trial.json").write_text(json.dumps(suite))
        code, out, err = self.bench.run("--sbatch-option=--nodelist=nano2", "--json")
        self.assertEqual(code, 0, err)
        rows = json.loads(out)["tables"]["rows"]
        self.assertIsNotNone(rows[2]["speed_up"])
        self.assertIsNone(rows[3]["speed_up"], "record14 ran on nano1, record15 on nano2")
        self.assertIsNotNone(rows[3]["val_loss_change"])

    def test_a_killed_submitter_and_a_cancelled_task(self):
        self.bench.suite(bench.LONG, seeds=(1, 2))
        process = self.bench.start(*TWO_AT_ONCE)
        self.bench.wait_until(lambda: self.bench.started_runs() >= 2)
        process.kill()
        process.communicate()
        job = self.jobs()
        self.assertEqual(len(job), 1)
        self.slurm("scancel", f"{job[0]}_1")
        # A task that still ends while the command looks on would count as cancelled by its user.
        self.bench.wait_until(lambda: f"{job[0]}_1" not in self.slurm("squeue", "--noheader", "--array", "--format=%i"))
        code, _, err = self.bench.run(*TWO_AT_ONCE)
        self.assertEqual(code, 0, err)
        self.assertIn(f"Slurm job {job[0]} was submitted before", err)
        bench.every_run_once(self, self.bench)
        cancelled = [row for row in self.bench.rows() if row[2] == "interrupted"]
        self.assertEqual([row[1] for row in cancelled], [2], self.bench.rows())
        self.assertIn("was cancelled", cancelled[0][3])

    def test_cancelled_while_we_look_on(self):
        self.bench.suite(bench.LONG, seeds=(1,))
        process = self.bench.start()
        self.bench.wait_until(lambda: self.bench.started_runs() >= 1)
        self.slurm("scancel", *self.jobs())
        code, _, err = self.bench.finish(process)
        self.assertEqual(code, 4, err)
        self.assertEqual(set(self.bench.outcomes().values()), {"interrupted"})

    def kill_task(self):
        """kill -9 of our program on its node, as the kernel does."""
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if b"slurm-task" in words and any(str(self.bench.folder).encode() in word for word in words):
                    os.kill(int(entry.name), signal.SIGKILL)

    def test_a_killed_task_is_a_crash_and_its_other_runs_go_on(self):
        self.bench.suite(bench.LONG, seeds=(1,))
        process = self.bench.start()
        self.bench.wait_until(lambda: self.bench.started_runs() >= 1)
        self.kill_task()
        code, _, err = self.bench.finish(process)
        self.assertEqual(code, 4, err)
        self.assertEqual(
            sorted(self.bench.outcomes().values()), ["completed", "completed", "crashed"], self.bench.rows()
        )

    def lose_node(self, *arguments):
        """The node goes down under the first run of a task. Returns what the command says."""
        self.bench.suite(bench.LONG, seeds=(1,))
        process = self.bench.start(*arguments)
        self.bench.wait_until(lambda: self.bench.started_runs() >= 1)
        node = self.slurm("squeue", "--noheader", "--states=RUNNING", "--format=%N").split()[0]
        self.slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
        try:
            code, _, err = self.bench.finish(process)
        finally:
            # It may be back by itself, and is then refused.
            subprocess.run(["scontrol", "update", f"nodename={node}", "state=resume"], capture_output=True, timeout=60)
        self.assertEqual(code, 0, err)
        bench.every_run_once(self, self.bench, seeds=(1,))
        return err

    def test_slurm_starts_a_task_again(self):
        self.assertNotIn("is run again", self.lose_node())
        self.assertEqual({row[2] for row in self.bench.rows()}, {"completed"})

    def test_a_lost_node_is_made_good(self):
        self.assertIn("is run again", self.lose_node("--sbatch-option=--no-requeue"))
        lost = [row[3] for row in self.bench.rows() if row[2] == "interrupted"]
        self.assertEqual(len(lost), 1)
        self.assertIn("was lost with its node", lost[0])

    def test_an_interrupt_and_the_same_command(self):
        self.bench.suite(bench.LONG, seeds=(1,))
        process = self.bench.start("--cancel-on-interrupt")
        self.bench.wait_until(lambda: self.bench.started_runs() >= 1)
        self.bench.interrupt(process)
        code, _, err = self.bench.finish(process)
        self.assertEqual(code, 130, err)
        self.assertIn("cancelled Slurm job", err)
        self.assertEqual(self.bench.run()[0], 0)
        bench.every_run_once(self, self.bench, seeds=(1,))

    def test_a_refusal_is_slurms_own_words(self):
        self.bench.suite(seeds=(1,))
        code, out, err = self.bench.run("--quiet", "--sbatch-option=--constraint=no_such_feature")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("sbatch refused the job: ", err)
        self.assertIn("error:", err)
        self.assertFalse((self.bench.folder / "results.db.slurm").exists())

    def test_why_a_task_waits(self):
        self.bench.suite(seeds=(1,))
        process = self.bench.start("--sbatch-option=--begin=now+10")
        code, _, err = self.bench.finish(process)
        self.assertEqual(code, 0, err)
        self.assertIn("1 task waiting (BeginTime)", err)

    def test_tasks_that_cannot_begin(self):
        self.bench.suite(seeds=(1,))
        process = self.bench.start("--sbatch-option=--begin=now+8")
        self.bench.wait_until(lambda: self.jobs())
        for file in self.bench.folder.glob("results.db.slurm/trial-*/plan.json"):
            file.write_text("{}")
        code, _, err = self.bench.finish(process)
        self.assertEqual(code, 4, err)
        self.assertEqual({row[2] for row in self.bench.rows()}, {"crashed"})
        self.assertIn("plan.json", self.bench.rows()[0][3])


if __name__ == "__main__":
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    bench.run_groups(bench.groups_of(RealSlurm, 3), at_once=3)  # a Slurm for each
