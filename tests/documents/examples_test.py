"""Every example of README.md and of every --help is run, in a folder that has what the examples speak of. Runs that would
train for minutes are made by the mock engine or at scale smoke. What cannot be run on any machine stands in NOT_RUN with
its reason.

    NANOBENCH=build/release/bin/nanobench /usr/bin/python3 tests/documents/examples_test.py

An example has to end with 0. One that ends by a verdict may find any, but refuse nothing: codes 0, 1 and 3.
"""

import json
import os
import pathlib
import re
import shutil
import sqlite3
import stat
import subprocess
import tempfile
import unittest

import workbench

ROOT = workbench.ROOT
HELPS = ROOT / "tests" / "tools" / "golden"
MOCK = workbench.PROGRAM.parent / "nanobench_mock_engine"
SECONDS = 240
VERDICT = (0, 1, 3)
GIT = ["git", "-c", "user.name=Tester", "-c", "user.email=tester@example.org"]

# By the beginning of an example.
NOT_RUN = {
    "nanobench test": "builds everything and runs this test too",
    "nanobench wheel": "builds a package: tests/package",
    "nanobench COMMAND": "a pattern",
    "nanobench evaluate": "needs weights of trained models: run by tests/evaluation",
    "nanobench run speedrun_history --keep-weights": "trains models: run by tests/evaluation",
    "source <(nanobench completion zsh)": "needs zsh: completion_test",
    "nanobench compare 3f2a91c 88d0e1b": "needs results of two revisions: compare_command_test",
    "nanobench bisect smoke_gate": "builds an engine for each revision: bisect_test",
    "nanobench watch --wait": "waits for a suite that another terminal starts: watch_command_test",
}
# Flags that need a machine of their own: what is run leaves them out.
ELSEWHERE = {
    " --device cuda": "a GPU",
    " --executor slurm --partition gpu --sbatch-option=--time=2:00:00": "a cluster",
    " | less": "a terminal",
    " && tensorboard --logdir events": "another program",
    " | source": "fish",
    ", --instructions": "symbols of both engines",
    " --only cost --instructions": "symbols of both engines",
    " --instructions": "symbols of both engines",
}
BY_VERDICT = re.compile(r"nanobench (gate|audit|bisect|hunt|transfer|trend|bench .*--gate|run .*--until-decided)")
REAL_ENGINE = re.compile(r"nanobench (profile|train|doctor)|&& nanobench train")
# Suites of our engine: at scale smoke they have a fifteenth of the steps, and take as much less time.
SCALED = re.compile(
    r"nanobench (run (?!my_)|ablate (?!--trainer)|hunt (?!hunted)|calibrate (?!my_|--stored)|claims .*--measure)"
)

TRAINER = """
loss=$((1000 + $1 * 3 + $1 * $1 % 5 + 0))
echo "step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms"
echo "step:4/4 val_loss:3.$loss train_time:4000ms step_avg:1000.00ms"
"""
TRAINER_SUITE = {
    "name": "mine",
    "design": "cells",
    "cells": [{"label": "it"}],
    "seeds": [1, 2, 3],
    "engine": {"command": ["sh", "train.sh", "{seed}"]},
}


def without_remark(line):
    """An example's words up to its explanation, which stands after two spaces or a #."""
    found = re.match(r"(.*?)(?:\s{2,}.*|\s+#\s.*)?$", line.strip())
    return re.sub(r"(>\S+) the configuration, .*", r"\1", found[1])


def examples_of_help(file):
    lines = file.read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if re.match(r"Examples?:", line))
    for line in lines[begin + 1 :]:
        if not line.startswith("  "):
            return
        yield without_remark(line)


def examples_of_readme():
    text = (ROOT / "README.md").read_text()
    for line in text.splitlines():
        if line.startswith("    ./nanobench"):
            yield without_remark(line)
    yield from re.findall(r"`([^`\n]*\bnanobench [^`\n]*)`", text)


def as_run(example):
    """The example for this folder: `./nanobench` is the program, and placeholders have a value."""
    example = example.replace("./nanobench", "nanobench")
    for flag in ELSEWHERE:
        example = example.replace(flag, "")
    for name, value in (
        ("--trainer DIR --patches DIR", "--trainer ../modded-nanogpt --patches patches"),
        ("SUITE --good A --bad B", "my_trainer.json --good v1.0 --bad main"),
        ("/mnt/box/nanobench.db", "server.db"),
        ("'./old'", "'./former'"),
        ("make -C new check", "make -C newer check"),
        ("hunt my_trainer.json", "hunt hunted.json"),
        ("gate speedrun_history", "gate speedrun_history --scale smoke"),
    ):
        example = example.replace(name, value)
    return example.replace("--scale mini", "--scale smoke").replace("--scale nano --config", "--scale smoke --config")


def all_examples():
    found = {}
    for file in sorted(HELPS.glob("*.txt")):
        for example in examples_of_help(file) if "Example" in file.read_text() else ():
            if "nanobench" in example:
                found.setdefault(example, f"{file.stem} --help")
    for example in examples_of_readme():
        found.setdefault(example, "README.md")
    return found


class World:
    """project/, its neighbours, and stored results of the kinds that examples ask for."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self._folder.name)
        self.project = self.root / "project"
        for folder in ("bin", "home/.config/fish/completions", "project/results", "project/old", "modded-nanogpt"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "bin" / "nanobench").symlink_to(workbench.PROGRAM)
        self.script(self.root / "bin" / "xdg-open", "exit 0")
        self.environment = {
            **os.environ,
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.root / "home"),
            "NANOBENCH_DB": str(self.root / "results.db"),
            "NANOBENCH_ROOT": str(ROOT),
            "NANOBENCH_ENGINE": str(MOCK),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "GITHUB_STEP_SUMMARY": str(self.root / "summary.md"),
        }
        self.fill()

    def close(self):
        self._folder.cleanup()

    @staticmethod
    def script(file, text):
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    def run(self, command, **environment):
        """Returns the exit code and the output."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.project,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
        )
        return done.returncode, done.stdout.decode(errors="replace")

    def must(self, command, **environment):
        code, output = self.run(command, **environment)
        if code != 0:
            raise AssertionError(f"{command}: {code}: {output}")

    def git(self, folder, *words):
        subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True)

    def fill(self):
        self.write_logs()
        self.write_texts()
        self.write_commands()
        self.write_trainer()
        (self.project / "suites").symlink_to(ROOT / "suites")
        shutil.copy(MOCK, self.project / "old" / "nanobench-train")
        self.must("nanobench data prepare --text book.txt --out shards --val-fraction 0.3 --json >/dev/null")
        for name, split in (("train.bin", "train"), ("fineweb_train_000001.bin", "train"), ("val.bin", "val")):
            shutil.copy(sorted((self.project / "shards").glob(f"*{split}*.bin"))[0], self.project / name)
        self.must("nanobench show record17 --scale smoke --config >c.json && mkdir case")
        short = json.loads((self.project / "c.json").read_text())
        short["run"]["stop_after"] = 4  # the trace of a whole run in float64 takes a quarter of a minute
        (self.project / "case" / "config.json").write_text(json.dumps(short))
        suites = ("seed_claims", "smoke_gate", "leave_one_out", "speedrun_history")  # plans 1 to 4, and again 5 to 8
        for seeds in ("1,2,3", "4,5"):
            for suite in suites:
                self.must(f"nanobench run {suite} --scale smoke --seeds {seeds} --quiet || [ $? = 4 ]")
        for name in ("laptop.db", "server.db", "old.db", "results/nanobench.db", "../unnamed.db"):
            shutil.copy(self.root / "results.db", self.project / name)
        self.must("nanobench baseline accept --suite speedrun_history --reason first >/dev/null")
        self.must("nanobench baseline save main --suite smoke_gate --out baseline.json")
        shutil.copy(self.root / "results.db", self.root / "filled.db")
        with sqlite3.connect(self.root / "filled.db") as store:
            select = "SELECT max(id) FROM runs WHERE suite = 'speedrun_history' AND outcome = 'completed'"
            ((self.trained,),) = store.execute(select)
        self.must("nanobench calibrate smoke_gate --pairs 6 --quiet >/dev/null")
        shutil.copy(self.root / "results.db", self.root / "calibrated.db")

    def write_logs(self):
        groups = ["logs/base", "logs/init", "logs/gate", "OLD", "NEW", "ablation/base", "ablation/wide", "medium_logs"]
        groups += ["records/track_1_short/2025-01-04_SoftCap", "records/track_3_optimization/2025-02-01_x"]
        for seed, folder in enumerate(groups):
            for number, loss in enumerate(workbench.log_losses(5, mean=3.2750, seed=seed)):
                self.write_log(f"{folder}/run{number}.txt", loss, number)
        for number, name in enumerate(("a.txt", "b.txt", "base.txt", "changed.txt")):
            self.write_log(name, f"3.27{number}1", number)

    def write_log(self, name, loss, number):
        file = self.project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        script = "loss = 1\n" * 150 + "\n" + "=" * 100 + "\n"  # as logs hold it
        file.write_text(script + workbench.LOG_LINES.format(curve=1000 + number, loss=loss, time=300 + number))

    def write_texts(self):
        text = "\n\n".join(page.read_text() for page in sorted((ROOT / "docs").glob("*.md")))
        (self.project / "book.txt").write_text(text * 4)
        (self.project / "chapters").mkdir()
        for number in range(3):
            (self.project / "chapters" / f"{number}.txt").write_text(text)

    def write_commands(self):
        for name in ("a.out", "sum", "former", "new"):
            self.script(self.project / name, "sleep 0.002")
        for folder in ("old", "newer"):
            (self.project / folder).mkdir(exist_ok=True)
            (self.project / folder / "Makefile").write_text("check:\n\t@sleep 0.002\n")
        (self.project / "Makefile").write_text("all:\n\t@sleep 0.002\nclean:\n\t@true\n")
        (self.project / "train.py").write_text("print('val_loss: 3.2812')\n")

    def write_trainer(self):
        (self.project / "train.sh").write_text(TRAINER)
        (self.project / "my_trainer.json").write_text(json.dumps(TRAINER_SUITE))
        hunted = {**TRAINER_SUITE, "name": "hunted", "design": "leave_one_out"}
        hunted.pop("cells")
        hunted["engine"] = {
            **TRAINER_SUITE["engine"],
            "env": {"KNOB_A": "{feature:a}", "KNOB_B": "{feature:b}"},
            "features": {
                name: {"values": {"off": "0", "on": "1"}, "before": "off", "after": "on"} for name in ("a", "b")
            },
        }
        (self.project / "hunted.json").write_text(json.dumps(hunted))
        (self.project / "data").mkdir()
        self.git(self.project, "init", "-q", "-b", "main", ".")
        for tag, harm in (("v1.0", 0), ("v1.1", 0), ("v1.2", 50)):
            (self.project / "train.sh").write_text(TRAINER.replace("+ 0))", f"+ {harm})) # {tag}"))
            self.git(self.project, "add", "train.sh", "my_trainer.json", "Makefile")
            self.git(self.project, "commit", "-q", "-m", tag)
            self.git(self.project, "tag", tag)
        self.git(self.root, "clone", "-q", str(self.project), "base")
        self.first = subprocess.run(
            ["git", "rev-parse", "--short", "v1.0"], cwd=self.project, check=True, capture_output=True, text=True
        ).stdout.strip()
        other = self.root / "modded-nanogpt"
        (other / "train_gpt.py").write_text("rate = 1\nprint('step:1/1 val_loss:3.28 train_time:1ms step_avg:1ms')\n")
        self.git(other, "init", "-q", "-b", "main", ".")
        self.git(other, "add", "-A")
        self.git(other, "commit", "-q", "-m", "a trainer")
        (self.project / "patches").mkdir()
        (other / "train_gpt.py").write_text((other / "train_gpt.py").read_text().replace("rate = 1", "rate = 2"))
        patch = subprocess.run(["git", "diff"], cwd=other, check=True, capture_output=True, text=True).stdout
        (self.project / "patches" / "higher_rate.patch").write_text(patch)
        self.git(other, "checkout", "-q", ".")


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)

    def test_there_are_many(self):
        examples = all_examples()
        self.assertGreater(len(examples), 150)
        self.assertIn("nanobench profile record17 --set value_embeddings=off --scale mini", examples)
        self.assertIn("./nanobench run suites/barnacles.json", examples)

    def test_every_exception_is_an_example(self):
        examples = [example.replace("./nanobench", "nanobench") for example in all_examples()]
        for beginning in NOT_RUN:
            self.assertTrue(any(example.startswith(beginning) for example in examples), beginning)

    def test_every_one_runs(self):
        done = set()
        for example, place in all_examples().items():
            command = as_run(example).replace("1a2b3c", self.world.first)
            command = command.replace("reproduce 12", f"reproduce {self.world.trained}")
            if command in done or any(command.startswith(beginning) for beginning in NOT_RUN):
                continue
            done.add(command)
            with self.subTest(example=example, place=place):
                self.check(command)

    def check(self, command):
        extra = {"NANOBENCH_ENGINE": ""} if REAL_ENGINE.search(command) else {}
        if re.fullmatch(r"nanobench profile record17.*", command) and "--scale" not in command:
            command += " --scale smoke"
        if SCALED.match(command) and "--scale" not in command and "&&" not in command:
            command += " --scale smoke"
        # Ten runs of each command, which is the least, in place of three seconds.
        if command.startswith("nanobench bench ") and "--runs" not in command:
            command = command.replace("nanobench bench", "nanobench bench --budget 200ms", 1)
        named = "unnamed.db" if re.match(r"nanobench baseline save(?!.*--replace)", command) else "filled.db"
        if command == "nanobench calibrate --stored":
            named = "calibrated.db"
        shutil.copy(self.world.root / named, self.world.root / "results.db")
        for written in re.findall(r"--out (baseline\.json)|new suite (mine\.json)", command):
            (self.world.project / "".join(written)).unlink(missing_ok=True)
        code, output = self.world.run(command, **extra)
        allowed = VERDICT if BY_VERDICT.search(command) else (0,)
        self.assertIn(code, allowed, f"{command}\n{output[-2000:]}")


if __name__ == "__main__":
    unittest.main()
