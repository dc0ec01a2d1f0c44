"""A folder with generated results and the program that reads them, for the tests of documents, pages and browsers."""

import json
import os
import pathlib
import random
import sqlite3
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("NANOBENCH", ROOT / "build/release/bin/nanobench")).resolve()

MOCK = {"steps": 40, "val_every": 2, "loss_sigma": 0.002, "step_cv": 0.01}
HISTORY = {
    "name": "history",
    "title": "A history",
    "design": "history",
    "scale": "smoke",
    "threads": 1,
    "seeds": [1, 2, 3],
    "records": ["record1", "record8", "record12", "record17"],
    "engine": {"mock": {**MOCK, "cells": {"record12": {"step_ms": 8}, "record17": {"step_ms": 5, "effect": -0.01}}}},
}
# Effects and interactions far above the noise, so that charts of them do not depend on the noise of the day.
FACTORIAL_EFFECTS = {
    "rotary": -0.03,
    "attention_skip": 0.02,
    "value_embeddings": -0.01,
    "rotary + attention_skip": -0.03,
    "rotary + value_embeddings": -0.036,
    "attention_skip + value_embeddings": 0.022,
    "rotary + attention_skip + value_embeddings": -0.024,
}
FACTORIAL = {
    "name": "factorial",
    "design": "factorial",
    "scale": "smoke",
    "threads": 1,
    "seeds": [1, 2, 3],
    "base": {"record": "record17"},
    "features": ["rotary", "attention_skip", "value_embeddings"],
    "engine": {"mock": {**MOCK, "cells": {cell: {"effect": effect} for cell, effect in FACTORIAL_EFFECTS.items()}}},
}
WEEKLY = {**HISTORY, "name": "weekly", "seeds": list(range(1, 19))}
FAILING = {
    **HISTORY,
    "name": "failing",
    "seeds": [1],
    "engine": {"mock": {**MOCK, "fault": {"kind": "exit", "step": 4}}},
}
# A trainer of one's own, with two changes.
OWN = {
    "name": "own",
    "design": "leave_one_out",
    "seeds": [1, 2, 3],
    "engine": {
        "command": ["sh", "train.sh", "{seed}", "{feature:lr}", "{feature:warmup}"],
        "features": {"lr": {"values": ["high", "low"]}, "warmup": {"values": ["off", "on"]}},
    },
}
OWN_TRAINER = (
    "loss=$(( 2000 + $1 * 7 ))\n"
    "[ $2 = low ] || loss=$(( $loss + 100 ))\n"
    "echo step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\n"
    "echo step:2/4 val_loss:5.5 train_time:2000ms step_avg:1000.00ms\n"
    "echo step:4/4 val_loss:3.$loss train_time:$(( 4000 + $1 ))ms step_avg:1000.00ms\n"
)
LEAVE_ONE_OUT = {
    "name": "loo",
    "design": "leave_one_out",
    "base": {"record": "record17"},
    "features": ["rotary", "attention_skip", "qk_norm", "embedding_norm"],
    "threads": 1,
    "seeds": [1, 2, 3],
    "engine": {"mock": {**MOCK, "cells": {"without rotary": {"effect": 0.03}, "without qk_norm": {"effect": 0.02}}}},
}
GOOD_LOGS, BAD_LOGS = "2025-01-01_Good", "2025-02-01_Bad"
LOG_LINES = (
    "step:0/3 val_loss:10.{curve} train_time:0ms step_avg:nanms\n"
    "step:1/3 val_loss:5.5 train_time:100ms step_avg:100.00ms\n"
    "step:3/3 val_loss:{loss} train_time:{time}ms step_avg:100.00ms\n"
)


class Workbench:
    """Everything lies in `folder`, which is removed at the end. Relative paths start there."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self.database = self.folder / "results.db"
        self.environment = {
            **os.environ,
            "NANOBENCH_DB": str(self.database),
            "NANOBENCH_ROOT": str(ROOT),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }

    def close(self):
        self._folder.cleanup()

    @classmethod
    def of(cls, case):
        """A workbench for a test class, as cls.bench; closed after its tests."""
        case.bench = cls()
        case.addClassCleanup(case.bench.close)
        return case.bench

    def run(self, *arguments, codes=(0,)):
        """Standard output, bytes. Raises AssertionError for another exit code."""
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, env=self.environment, capture_output=True)
        if done.returncode not in codes:
            raise AssertionError(f"{arguments}: {done.returncode}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def write(self, name, value):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value if isinstance(value, str) else json.dumps(value))
        return file

    def run_suite(self, suite, *arguments, codes=(0,)):
        self.write(f"{suite['name']}.json", suite)
        self.run("run", f"{suite['name']}.json", "--quiet", *arguments, codes=codes)

    def run_weekly(self, **changed):
        """A suite over eighteen revisions."""
        self.run_suite({**WEEKLY, **changed})
        self.spread_over_revisions("weekly", len(WEEKLY["seeds"]))

    def fill(self, **changed):
        """Suites of each kind: a factorial, a history (with what is `changed` in it), one over revisions, one that fails."""
        self.run_suite(FACTORIAL)
        self.run_suite({**HISTORY, **changed})
        self.run_weekly()
        self.run_suite(FAILING, codes=(4,))

    def write_good_and_bad_logs(self):
        self.write_logs(GOOD_LOGS, log_losses(5))
        self.write_logs(BAD_LOGS, log_losses(4, mean=3.29))

    def page(self, name, *arguments, codes=(0,)):
        """What the arguments print, as a page."""
        self.run(*arguments, "--out", f"{name}.html", codes=codes)
        return self.folder / f"{name}.html"

    def write_repository(self):
        """toy/: a trainer in a repository of two commits, the second of which is worse, with its suite."""
        git = ["git", "-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
        lines = "echo step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\n"
        lines += "echo step:4/4 val_loss:{loss} train_time:4000ms step_avg:1000.00ms\n"
        self.write(
            "toy/suite.json",
            {
                "name": "toy",
                "design": "cells",
                "cells": [{"label": "it"}],
                "seeds": [1, 2],
                "engine": {"command": ["sh", "train.sh", "{seed}"]},
            },
        )
        subprocess.run([*git, "init", "-q", "."], cwd=self.folder / "toy", check=True)
        for loss in ("3.1", "3.2"):
            self.write("toy/train.sh", lines.format(loss=loss))
            subprocess.run([*git, "add", "-A"], cwd=self.folder / "toy", check=True)
            subprocess.run([*git, "commit", "-q", "-m", f"loss {loss}"], cwd=self.folder / "toy", check=True)

    def add_asked_samples(self, suite):
        """What the runs of the suite would have if they had been asked for every metric and an evaluation."""
        draws = random.Random(1)
        samples, facts = [], []
        with sqlite3.connect(self.database) as store:
            runs = store.execute("SELECT id FROM runs WHERE suite = ? AND outcome = 'completed'", (suite,)).fetchall()
            for (run,) in runs:
                for metric in ("loss_at_position", "loss_by_document_length", "loss_by_token_frequency"):
                    for bucket in range(32):
                        samples.append((run, f"val/{metric}", bucket, 4 - 0.02 * bucket + draws.gauss(0, 0.002)))
                        samples.append((run, f"val/{metric}/tokens", bucket, 1000))
                for step in (0, 10, 20):
                    for part in ("", "/hidden_matrices", "/hidden_matrices/1", "/embeddings"):
                        samples.append((run, "health/gradient_norm" + part, step, draws.uniform(0.5, 2)))
                        samples.append((run, "health/update_ratio" + part, step, draws.uniform(0.001, 0.01)))
                    samples.append((run, "health/gradient_flow", step, draws.uniform(0.1, 0.5)))
                facts.append((run, "eval/toy_task/items", "the same items"))
                samples.append((run, "eval/toy_task/chance", 40, 0.25))
                for scoring in ("", "_norm"):
                    answers = [int(draws.random() < 0.4) for _ in range(200)]
                    samples.append((run, "eval/toy_task/accuracy" + scoring, 40, sum(answers) / 200))
                    samples += [
                        (run, "eval/toy_task/correct" + scoring, item, right) for item, right in enumerate(answers)
                    ]
            store.executemany("INSERT INTO samples (run_id, metric, step, value) VALUES (?, ?, ?, ?)", samples)
            store.executemany("INSERT INTO run_facts (run_id, name, value) VALUES (?, ?, ?)", facts)
        store.close()
        self.seal()

    def write_logs(self, folder, losses):
        for number, loss in enumerate(losses):
            self.write(f"{folder}/run{number}.txt", LOG_LINES.format(curve=1000 + number, loss=loss, time=300 + number))

    def spread_over_revisions(self, suite, revisions):
        """The suite's runs as if each seed had been run with a revision of its own, week after week; the last third of
        them is slower."""
        with sqlite3.connect(self.database) as store:
            facts = json.loads(store.execute("SELECT facts FROM environments").fetchone()[0])
            for number in range(revisions):
                mine = {**facts, "git_revision": f"{number:02x}" * 20, "git_dirty": "false"}
                environment = store.execute(
                    "INSERT INTO environments (digest, facts, created_at) VALUES (?, ?, ?)",
                    (f"made {number}", json.dumps(mine), "2026-01-01T00:00:00Z"),
                ).lastrowid
                day = f"2026-{number // 4 + 1:02}-{7 * (number % 4) + 1:02}"
                seed = (suite, number + 1)
                store.execute(
                    "UPDATE runs SET environment_id = ?, started_at = ?, finished_at = ? WHERE suite = ? AND seed = ?",
                    (environment, f"{day}T10:00:00Z", f"{day}T10:01:00Z", *seed),
                )
                if 3 * number >= 2 * revisions:
                    store.execute(
                        "UPDATE run_summaries SET median_step_ms = median_step_ms * 1.1 WHERE run_id IN "
                        "(SELECT id FROM runs WHERE suite = ? AND seed = ?)",
                        seed,
                    )
        store.close()
        self.seal()

    def seal(self):
        """Gives the store, which was edited by hand, the checksums of its rows: as one of the version before them, it
        gets them at the next opening."""
        with sqlite3.connect(self.database) as store:
            for table in ("runs", "plans", "plan_lines", "baselines"):
                store.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
            store.execute("DROP TABLE totals")
            store.execute("DROP TABLE plan_uses")
            store.execute("PRAGMA user_version = 4")
        store.close()
        self.run("db", "vacuum", self.database)


def log_losses(count, mean=3.2775, seed=1):
    draws = random.Random(seed)
    return [f"{draws.gauss(mean, 0.0012):.4f}" for _ in range(count)]
