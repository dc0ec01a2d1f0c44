"""Each example in examples/ is run by the commands that the head of its trainer names, and so is the chapter of
docs/external.md about a script on eight GPUs, with stand-ins for torchrun and Slurm.

    NANOBENCH=build/release/bin/nanobench python3 tests/examples/examples_test.py
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import unittest

import workshop

sys.path.insert(0, str(workshop.ROOT / "tests" / "slurm"))
import fake_slurm_control

EXAMPLES = workshop.ROOT / "examples"
COUNTS = (
    "SELECT cell, count(*) FROM runs WHERE outcome = 'completed' AND plan_id IS NOT NULL GROUP BY cell ORDER BY cell"
)
WARMUPS = "SELECT count(*) FROM runs WHERE suite = 'warm-up'"


def commands_in(text):
    """Indented lines that begin with a program."""
    lines = re.findall(r"^ +((?:nanobench|cc) .*)$", text, flags=re.M)
    return [shlex.split(line, comments=True) for line in lines]


class Bench(unittest.TestCase):
    def setUp(self):
        self.shop = workshop.Workshop()

    def tearDown(self):
        self.shop.close()

    def run_commands(self, commands):
        """Their standard outputs."""
        self.assertGreaterEqual(len(commands), 2)
        outputs = []
        for command in commands:
            done = subprocess.run(
                command,
                cwd=self.shop.folder,
                env=self.shop.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=workshop.PATIENCE_S,
            )
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr}")
            outputs.append(done.stdout)
        return outputs

    def losses(self):
        """Of each cell, by seed."""
        losses = {}
        for cell, seed, loss in self.shop.rows("SELECT cell, seed, final_val_loss FROM runs WHERE plan_id IS NOT NULL"):
            losses.setdefault(cell, {})[seed] = loss
        return losses

    def assert_lower(self, better, worse):
        losses = self.losses()
        for seed, loss in losses[better].items():
            self.assertLess(loss, losses[worse][seed])


class Examples(Bench):
    def run_example(self, name, trainer="train.py"):
        self.shop.copy(EXAMPLES / name)
        return self.run_commands(commands_in((EXAMPLES / name / trainer).read_text()))

    def test_every_folder_is_listed_and_run(self):
        listed = set(re.findall(r"^\| \[(\w+)\]", (EXAMPLES / "README.md").read_text(), flags=re.M))
        folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
        self.assertEqual(listed, folders)
        self.assertEqual(folders - {name.removeprefix("test_the_example_") for name in dir(self)}, set())

    def test_the_example_environment(self):
        self.run_example("environment")
        self.assertEqual(self.shop.rows(COUNTS), [("base", 3), ("without decay", 3), ("without momentum", 3)])
        self.assertEqual(len({loss for seeds in self.losses().values() for loss in seeds.values()}), 9)
        self.assertIn("<html", (self.shop.folder / "environment.html").read_text())

    def test_the_example_torchrun(self):
        self.run_example("torchrun")
        self.assertEqual(self.shop.rows(COUNTS), [("base", 2), ("without lr", 2)])
        self.assertEqual(self.shop.rows(WARMUPS), [(2,)])
        self.assert_lower("base", "without lr")
        self.assertEqual(len(list(self.shop.folder.glob("logs/*.txt"))), 6)
        self.assertEqual(sorted(os.listdir(self.shop.folder / ".cache")), ["base", "without lr"])

    def test_the_example_c_program(self):
        if shutil.which("cc") is None:
            self.skipTest("no C compiler")
        self.run_example("c_program", "train.c")
        cells = [f"learning_rate={value}" for value in ("0.05", "0.1", "0.2")]
        self.assertEqual(self.shop.rows(COUNTS), [(cell, 3) for cell in cells])
        self.assert_lower(cells[1], cells[0])
        self.assert_lower(cells[2], cells[1])

    def test_the_example_patches(self):
        pairs = self.run_example("patches")[-1]
        self.assertIn("without momentum, without warmup", pairs)
        self.assertEqual(self.shop.rows(COUNTS), [("base", 3), ("without momentum", 3), ("without warmup", 3)])
        self.assertEqual(len({loss for seeds in self.losses().values() for loss in seeds.values()}), 9)
        self.assert_lower("base", "without momentum")
        self.assertIn("momentum = 0.8", (self.shop.folder / "train.py").read_text())

    def test_the_example_slurm(self):
        path = self.shop.environment["PATH"]
        fake = fake_slurm_control.FakeSlurm(self.shop)
        self.shop.environment["PATH"] = f"{fake.home / 'bin'}:{path}"
        try:
            self.run_example("slurm")
            self.assertEqual(fake.calls("sbatch"), 1)
        finally:
            fake.close()
        self.assertEqual(self.shop.rows(COUNTS), [("base", 2), ("without step_size", 2)])
        self.assertEqual(self.shop.rows(WARMUPS), [(4,)])
        self.assert_lower("base", "without step_size")


class Page(Bench):
    """The chapter for a script on eight GPUs, as a new user would follow it, with three seeds for eight."""

    def chapter(self):
        page = (workshop.ROOT / "docs" / "external.md").read_text()
        return re.search(r"^## A speedrun script on eight GPUs\n(.*?)^## ", page, flags=re.M | re.S)[1]

    def test_its_suite_and_its_commands(self):
        suite = json.loads(re.search(r"^```json\n(.*?)^```", self.chapter(), flags=re.M | re.S)[1])
        self.assertEqual(suite["seeds"], [1, 2, 3, 4, 5, 6, 7, 8])
        suite["seeds"] = [1, 2, 3]
        (self.shop.folder / "speedrun.json").write_text(json.dumps(suite))
        shutil.copy(workshop.STAND_IN / "train_gpt.py", self.shop.folder)
        self.shop.environment["STAND_IN_FLAGS"] = "--uuid-log --leave-children"
        commands = commands_in(self.chapter())
        self.assertEqual([command[1] for command in commands], ["show", "run", "plan", "run", "report"])
        self.run_commands(commands)
        losses = self.losses()
        self.assertEqual(sorted(losses), ["base", "without muon_lr", "without softcap"])
        for seed in (1, 2, 3):
            self.assertAlmostEqual(losses["without muon_lr"][seed] - losses["base"][seed], 0.01, places=6)
            self.assertAlmostEqual(losses["without softcap"][seed] - losses["base"][seed], 0.02, places=6)
        steps = self.shop.rows("SELECT DISTINCT train_ms / timed_steps FROM runs WHERE plan_id IS NOT NULL")
        self.assertEqual(steps, [(20,)])  # all of them were warm
        self.assertEqual(self.shop.rows(WARMUPS), [(3,)])  # the second command has nothing to run


if __name__ == "__main__":
    unittest.main()
