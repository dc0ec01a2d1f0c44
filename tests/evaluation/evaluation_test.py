"""Multiple choice with the engine itself: the suite of docs/evaluation.md runs as printed, its answers are stored and
reported, training is the same without them, and finished runs are reused only if they have them."""

import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NANOBENCH = os.environ["NANOBENCH"]


def suite_of_the_page():
    """The example of the page: the only indented object that has a name."""
    page = (ROOT / "docs/evaluation.md").read_text()
    return json.loads(re.search(r"^    \{\n(.*?)^    \}$", page, re.DOTALL | re.MULTILINE).group(0))


class Evaluation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nanobench-evaluation-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *words, code=0):
        environment = {
            **os.environ,
            "NANOBENCH_DB": str(self.folder / "results.db"),
            "XDG_CACHE_HOME": str(self.folder),
        }
        done = subprocess.run([NANOBENCH, *words], cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr if code else done.stdout

    def run_suite(self, suite):
        (self.folder / "suite.json").write_text(json.dumps(suite))
        return json.loads(self.run_program("run", "suite.json", "--quiet", "--json"))

    def rows(self, query, *values):
        with sqlite3.connect(self.folder / "results.db") as store:
            return store.execute(query, values).fetchall()

    def test_the_suite_of_the_page(self):
        suite = suite_of_the_page()
        report = self.run_suite(suite)
        for name, items in (("generated", 60), ("more_items", 200)):
            table = report["tables"]["accuracy_" + name]
            self.assertEqual([row["cell"] for row in table], suite["records"])
            for row in table:
                self.assertEqual((row["items"], row["models"]), (items, 2))
                self.assertTrue(0 <= row["accuracy"]["low"] <= row["accuracy"]["value"] <= row["accuracy"]["high"] <= 1)
            self.assertEqual(report["facts"]["chance_" + name], 0.25)
            self.assertTrue(0.5 < report["facts"]["best_accuracy_" + name] < 1)
            self.assertEqual(len(report["tables"]["accuracy_changes_" + name]), 2)
        stored = self.rows(
            "SELECT run_id, value FROM samples WHERE metric = 'eval/more_items/accuracy' ORDER BY run_id"
        )
        self.assertEqual(len(stored), 4)
        for run, accuracy in stored:
            correct = self.rows(
                "SELECT value FROM samples WHERE run_id = ? AND metric = 'eval/more_items/correct' ORDER BY step", run
            )
            self.assertEqual(len(correct), 200)
            self.assertAlmostEqual(sum(value for (value,) in correct) / 200, accuracy, places=12)
        self.check_reuse(suite)

    def check_reuse(self, suite):
        """The same suite makes nothing; without evaluations it reuses; with another one it makes new rows."""

        def runs():
            return self.rows("SELECT count(*) FROM runs WHERE suite = ?", suite["name"])[0][0]

        def losses():
            return self.rows("SELECT cell, seed, final_val_loss FROM runs GROUP BY cell, seed, final_val_loss")

        before, values = runs(), losses()
        self.run_suite(suite)
        self.run_suite({**suite, "run": {"evaluations": ["generated:60"]}})
        self.run_suite({key: value for key, value in suite.items() if key != "run"})
        self.assertEqual(runs(), before)
        self.run_suite({**suite, "run": {"evaluations": ["generated:61"]}})
        self.assertEqual(runs(), 2 * before, "other items under the same name")
        self.assertEqual(losses(), values, "training is the same, bit for bit")

    def answers(self, metric):
        """The samples of a metric by the cell and seed of the run, or of the run whose weights answered."""
        found = {}
        for cell, seed, step, value in self.rows(
            "SELECT cell, seed, step, value FROM samples JOIN runs ON runs.id = run_id WHERE metric = ?", metric
        ):
            found.setdefault((cell, seed), {})[step] = value
        return found

    def test_kept_weights_answer_as_their_runs_did(self):
        suite = {**suite_of_the_page(), "run": {"keep_weights": "last", "evaluations": ["generated:60"]}}
        self.run_suite(suite)
        own = self.answers("eval/generated/correct")
        text = self.run_program("evaluate", *suite["records"], "--task", "generated:60", "--name", "again", "--quiet")
        self.assertIn("Next:", text)
        words = (
            "evaluate",
            *suite["records"],
            "--task",
            "generated:60",
            "--name",
            "again",
            "--store",
            "--json",
            "--quiet",
        )
        document = json.loads(self.run_program(*words))
        self.assertEqual(self.answers("eval/again/correct"), own)
        self.assertEqual(len(own), 4)
        table = document["tables"]["accuracy_again"]
        report = json.loads(self.run_program("report", "--json"))
        self.assertEqual(report["tables"]["accuracy_again"], table, "the report finds what was stored later")
        self.assertEqual(
            [row["accuracy"] for row in report["tables"]["accuracy_generated"]], [row["accuracy"] for row in table]
        )
        self.run_program("db", "check")
        other = ("evaluate", suite["records"][0], "--task", "generated:20", "--name", "again", "--quiet")
        self.run_program(*other)
        self.assertIn("choose another name", self.run_program(*other, "--store", code=2))
        run, cell, seed = self.rows(
            "SELECT id, cell, seed FROM runs WHERE suite = ? ORDER BY id LIMIT 1", suite["name"]
        )[0]
        (file,) = (self.folder / f"results.db.weights/run-{run}").glob("*.safetensors")
        single = json.loads(self.run_program("evaluate", str(file), "--task", "generated:60", "--json", "--quiet"))
        (row,) = single["tables"]["accuracy_generated"]
        self.assertAlmostEqual(row["accuracy"]["value"], sum(own[cell, seed].values()) / 60, places=12)

    def write_byte_vocabulary(self, folder):
        """A vocabulary of single bytes, in the form of GPT-2's files."""
        seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
        unseen = [byte for byte in range(256) if byte not in seen]
        signs = {byte: chr(byte) for byte in seen} | {byte: chr(256 + n) for n, byte in enumerate(unseen)}
        folder.mkdir()
        (folder / "encoder.json").write_text(json.dumps({sign: byte for byte, sign in signs.items()}))
        (folder / "vocab.bpe").write_text("#version: 0.2\n")

    def test_the_examples_of_help(self):
        """As printed, at scale smoke: generated items, a file of llm.c, and HellaSwag's JSON lines."""
        examples = re.findall(r"^  nanobench (.*?)(?: {2,}.*)?$", self.run_program("evaluate", "--help"), re.MULTILINE)
        self.assertEqual(len(examples), 3)
        first, of_llm_c, of_text = examples
        run, generated = first.split(" && nanobench ")
        self.run_program(*run.split(), "--scale", "smoke", "--seeds", "1", "--quiet")

        def items(example):
            document = json.loads(self.run_program(*example.split(), "--json", "--quiet"))
            ((name, rows),) = [(key, rows) for key, rows in document["tables"].items() if key.startswith("accuracy_")][
                :1
            ]
            return name, [row["items"] for row in rows]

        self.assertEqual(items(generated), ("accuracy_generated", [400, 400]))
        (cached,) = (self.folder / "nanobench" / "evaluations").glob("*.bin")
        shutil.copy(cached, self.folder / "hellaswag_val.bin")
        self.assertEqual(items(of_llm_c), ("accuracy_hellaswag_val", [400]))
        weights = sorted(self.folder.glob("results.db.weights/run-*/*.safetensors"))[0]
        shutil.copy(weights, self.folder / "model.safetensors")
        lines = [{"ctx": f"Step {n} of", "label": n % 4, "endings": [" a", " b", " c", " d"]} for n in range(8)]
        (self.folder / "hellaswag_val.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.assertIn("--vocabulary", self.run_program("evaluate", "--help"))
        self.assertIn("vocabulary", self.run_program(*of_text.split(" --vocabulary")[0].split(), code=2))
        self.write_byte_vocabulary(self.folder / "gpt2")
        self.assertEqual(items(of_text), ("accuracy_hellaswag_val", [8]))


if __name__ == "__main__":
    unittest.main()
