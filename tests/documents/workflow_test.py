"""The ready workflows of docs/ci: they are YAML, and the one for a trainer of one's own does what it promises. Its steps
run in a clone of a small trainer's repository, as a runner would run them."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("NANOBENCH", ROOT / "build/release/bin/nanobench")).resolve()
WORKFLOWS = sorted((ROOT / "docs/ci").glob("*.yml"))
OURS, TRAINERS = ROOT / "docs/ci/github-workflow.yml", ROOT / "docs/ci/trainer-workflow.yml"
GIT = ["git", "-c", "user.name=Tester", "-c", "user.email=tester@example.org"]

TRAINER = """
harm=0
loss=$((1000 + $1 * 3 + $1 * $1 % 5 + harm))
echo "step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms"
echo "step:4/4 val_loss:3.$loss train_time:4000ms step_avg:1000.00ms"
"""
SUITE = """{"name": "mine", "design": "cells", "cells": [{"label": "it"}], "seeds": [1, 2, 3],
            "engine": {"command": ["sh", "train.sh", "{seed}"]}}"""


def read(file):
    return yaml.safe_load(file.read_text())


def steps_of(file):
    return [step for job in read(file)["jobs"].values() for step in job["steps"]]


def actions_of(file):
    return {step["uses"] for step in steps_of(file) if "uses" in step}


class Runner:
    """A clone of the trainer's repository at a pull request, with what a runner gives to its steps."""

    def __init__(self, case, change, folder="."):
        root = tempfile.TemporaryDirectory()
        case.addCleanup(root.cleanup)
        self.root = pathlib.Path(root.name)
        self.clone = self.root / "work" / "clone"
        self.temporary = self.root / "temporary"
        (self.temporary / "bin").mkdir(parents=True)
        (self.temporary / "bin" / "nanobench").symlink_to(PROGRAM)
        origin = self.root / "origin"
        trainer = origin / folder
        trainer.mkdir(parents=True)
        self.git(origin, "init", "-q", "-b", "main", ".")
        (trainer / "train.sh").write_text(TRAINER)
        (trainer / "suite.json").write_text(SUITE)
        self.commit(origin)
        self.git(origin, "checkout", "-q", "-b", "change")
        (trainer / "train.sh").write_text(TRAINER.replace(*change))
        self.commit(origin)
        self.git(self.root, "clone", "-q", "--branch", "change", origin, self.clone)
        self.suite = str(pathlib.Path(folder) / "suite.json")

    @staticmethod
    def git(folder, *words):
        subprocess.run([*GIT, *map(str, words)], cwd=folder, check=True, capture_output=True)

    def commit(self, folder):
        self.git(folder, "add", "-A")
        self.git(folder, "commit", "-q", "-m", "a commit")

    def environment(self, workflow, step):
        values = {"github.base_ref": "main", "vars.NANOBENCH_WHEEL": "none"}
        texts = {**workflow.get("env", {}), **step.get("env", {})}
        filled = {
            name: re.sub(r"\$\{\{ *([\w.]+) *\}\}", lambda found: values[found[1]], str(text))
            for name, text in texts.items()
        }
        files = {name: str(self.temporary / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")}
        return {
            **os.environ,
            **filled,
            **files,
            "SUITE": self.suite,
            "RUNNER_TEMP": str(self.temporary),
            "PATH": f"{self.temporary / 'bin'}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "NANOBENCH_ROOT": str(ROOT),
            "GITHUB_ACTIONS": "true",
        }

    def run(self, workflow, step):
        """As the default shell of a runner does."""
        return subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            cwd=self.clone,
            env=self.environment(workflow, step),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
        )

    def run_all(self, workflow):
        """The last step's result; the wheel is not installed, the program of this build stands for it."""
        for step in (step for job in workflow["jobs"].values() for step in job["steps"]):
            if "run" not in step or step.get("id") == "install":
                continue
            done = self.run(workflow, step)
            if done.returncode != 0:
                break
        return done


class Workflows(unittest.TestCase):
    def test_they_are_yaml_with_steps_that_bash_reads(self):
        self.assertGreaterEqual(len(WORKFLOWS), 3)
        for file in WORKFLOWS:
            self.assertIsInstance(read(file), dict, file)
        for file in (OURS, TRAINERS):
            for step in steps_of(file):
                if "run" in step:
                    done = subprocess.run(["bash", "-n", "-c", step["run"]], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_action_is_pinned_as_in_the_other_workflow(self):
        self.assertEqual(actions_of(TRAINERS), actions_of(OURS))
        for action in actions_of(TRAINERS):
            self.assertRegex(action, r"^actions/[a-z-]+@v\d+$")

    def test_both_write_the_same_comment(self):
        scripts = [
            step["with"]["script"]
            for file in (OURS, TRAINERS)
            for step in steps_of(file)
            if "script" in step.get("with", {})
        ]
        self.assertEqual(len(scripts), 2)
        self.assertEqual(scripts[0], scripts[1])


class TrainerWorkflow(unittest.TestCase):
    def check(self, change, code, folder="."):
        runner = Runner(self, change, folder)
        done = runner.run_all(read(TRAINERS))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        text = (runner.clone / "gate.md").read_text()
        marker = re.search(r"const marker = '(.*)'", TRAINERS.read_text())[1]
        self.assertEqual(text.splitlines()[0], marker, "the comment is found again by its first line")
        self.assertEqual((runner.temporary / "GITHUB_STEP_SUMMARY").read_text(), text)
        self.assertIn(f"code={code}", (runner.temporary / "GITHUB_OUTPUT").read_text())
        self.assertTrue((runner.clone / "gate.xml").exists())
        return runner, done

    def test_an_unchanged_trainer_passes(self):
        runner, _ = self.check(("harm=0", "harm=0 # another comment"), 0)
        again = runner.run_all(
            {**read(TRAINERS), "jobs": {"gate": {"steps": [s for s in steps_of(TRAINERS) if s.get("id") == "gate"]}}}
        )
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("hance to pass", again.stdout, "earlier runs say how likely it is")

    def test_a_worse_one_fails(self):
        self.check(("harm=0", "harm=100"), 1)

    def test_the_suite_may_lie_in_a_folder(self):
        self.check(("harm=0", "harm=100"), 1, folder="bench")


if __name__ == "__main__":
    unittest.main()
