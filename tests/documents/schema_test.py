"""Every command that reads prints documents of docs/schema/document.schema.json.

    NANOBENCH=build/release/bin/nanobench /usr/bin/python3 tests/documents/schema_test.py

Needs Debian's python3-jsonschema.
"""

import json
import re
import unittest

import jsonschema
import workbench

SCHEMA = json.loads((workbench.ROOT / "docs/schema/document.schema.json").read_text())
NEEDS_ENGINE = {"train", "profile", "evaluation"}  # as the engine's own tests do


def kinds_in_sources():
    kinds = set()
    for folder in ("reports", "tools"):
        for file in (workbench.ROOT / folder).rglob("*.cpp"):
            kinds.update(re.findall(r'\.kind = "([a-z_]+)"', file.read_text()))
    return kinds


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        cls.validator = jsonschema.Draft202012Validator(SCHEMA)
        bench = workbench.Workbench.of(cls)
        bench.fill()
        bench.run("baseline", "save", "main", "--suite", "history")
        bench.write_good_and_bad_logs()
        bench.write("book.txt", "= A title =\n\nSome words of a text.\n\n" * 200)
        bench.run("db", "vacuum", "results.db")
        bench.seen = set()

    def check(self, *arguments, codes=(0,)):
        document = json.loads(self.bench.run(*arguments, "--json", codes=codes))
        for error in self.validator.iter_errors(document):
            self.fail(f"{arguments}: {error.json_path}: {error.message[:200]}")
        self.bench.seen.add(document["kind"])
        return document

    def test_every_kind(self):
        for kind in (
            [],
            ["features"],
            ["records"],
            ["scales"],
            ["claims"],
            ["suites"],
            ["settings"],
            ["runs"],
            ["runs", "--limit", "2"],
            ["plans"],
        ):
            self.check("list", *kind)
        for name in ("rotary", "record17", "nano", "seed000_throughput_2_1_times", "speedrun_history", "1"):
            self.check("show", name)
        self.check("show", "record17", "--scale", "nano", "--set", "logit_softcap=off")
        self.check("diff", "record16", "record17")
        self.check("diff", "1", "30")
        self.check("reproduce", "1", "--quiet")
        self.check("plan", "history.json")
        self.check("plan", "factorial.json", "--detect", "0.002")
        self.check("run", "history.json", "--quiet")
        self.check("report", "--suite", "factorial")
        self.check("report", "--suite", "history", "--charts", "pictures")
        self.check("report", "--suite", "failing")
        self.check("bench", "--runs", "3", "--quiet", "--metric", "n=([0-9]+)", "echo 1", "echo 2")
        self.check("bench", "--runs", "2", "--quiet", "true", "false", codes=(4,))
        self.check("report", "--suite", "bench")
        self.check("hunt", "factorial.json", "--runs", "16", "--quiet")
        self.check("report", "--suite", "factorial screening")
        self.check("trend", "weekly")
        self.check("transfer", codes=(0, 3))
        self.check("claims")
        self.check("watch", "--once")
        self.check("compare", "record12", "record17", "--suite", "history")
        self.check("compare", "1", "2")
        self.check("gate", "history.json", "--baseline", "main", "--stored", codes=(0, 1, 3))
        self.check("gate", "failing.json", "--baseline", "main", "--stored", codes=(4, 5))
        self.check("calibrate", "history.json", "--pairs", "3", "--quiet")
        self.check("gate", "history.json", "--baseline-suite", "history.json", "--forecast")
        self.bench.write_repository()
        self.check("bisect", "toy/suite.json", "--good", "HEAD~1", "--bad", "HEAD", "--only", "loss", "--quiet")
        self.check("baseline", "list")
        self.check("audit", workbench.GOOD_LOGS, workbench.BAD_LOGS, "--runs", codes=(1,))
        self.check("audit", workbench.GOOD_LOGS, codes=(1,))
        self.check("compare", workbench.GOOD_LOGS, workbench.BAD_LOGS)
        self.check("import", workbench.GOOD_LOGS)
        self.check("report", "--suite", "speedrun_logs")
        self.check("doctor", codes=(0, 1, 2, 3, 4))
        self.check("db", "check", "results.db", codes=(1,))  # summaries were edited
        self.check("db", "vacuum", "results.db")
        self.check("db", "merge", "all.db", "results.db")
        self.check("data", "prepare", "--text", "book.txt", "--out", "shards")
        self.check("data", "info", "shards")
        self.check("data", "info", str(next((self.bench.folder / "shards").glob("*.bin"))))
        self.assertEqual(kinds_in_sources() - self.bench.seen, NEEDS_ENGINE)

    def test_kinds_of_the_schema_are_those_of_the_sources(self):
        self.assertEqual(set(SCHEMA["properties"]["kind"]["enum"]), kinds_in_sources())

    def test_the_schema_refuses_what_is_wrong(self):
        right = self.check("report", "--suite", "history")
        self.assertTrue(self.validator.is_valid({**right, "headline": "All is well."}))
        row = right["tables"][next(iter(right["tables"]))][0]
        wrong = (
            {**right, "schema_version": 3},
            {**right, "extra": 1},
            {**right, "kind": "other"},
            {**right, "text": []},
            {**right, "warnings": [1]},
            {**right, "headline": 1},
            {**right, "tables": {"cells": [[1]]}},
            {**right, "tables": {"cells": [{**row, "Not A Name": 1}]}},
            {**right, "charts": {}},
            {key: value for key, value in right.items() if key != "notes"},
        )
        for document in wrong:
            self.assertFalse(self.validator.is_valid(document))


if __name__ == "__main__":
    unittest.main()
