"""The programs of GPU tests and GPU micro-benchmarks, if the bundle has them."""

import json

import processes
from problems import Failed, NotRun

TESTS = "nanobench-gpu-tests"
SHARE = 0.5  # share of the part's time, so that later steps always have some left


def require(part, name):
    if not part.settings.programs.has(name):
        raise NotRun(f"the bundle has no {name}: it was not built")
    return part.program(name)


def _failures(document):
    for suite in document.get("testsuites", []):
        for test in suite.get("testsuite", []):
            name = f"{suite['name']}.{test['name']}"
            for failure in test.get("failures", []):
                yield {"test": name, "message": failure.get("failure", "").strip()[:500]}


def _documents(files):
    for file in files:
        try:
            yield json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            pass  # of a process that crashed or was stopped, which the caller reports


def run(part):
    """Every test of the kernels, divided among processes, because most of their time is references in float64 on one core of
    the CPU; what the others found still counts when one crashes."""
    program, count = require(part, TESTS), processes.at_once()
    files = [part.folder / f"kernel_tests.{number}.json" for number in range(count)]
    commands = []
    for number, file in enumerate(files):
        file.unlink(missing_ok=True)
        words = [program, f"--gtest_output=json:{file}", "--gtest_brief=1"]
        commands.append((words, {"GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(number)}))
    ended = processes.run_together(commands, part, seconds=SHARE * part.limit_s)
    problems = [(processes.how_it_ended(TESTS, finished), finished) for finished in ended]
    problems = [problem + processes.last_line(finished) for problem, finished in problems if problem]
    documents = list(_documents(files))
    tests = [test for document in documents for suite in document["testsuites"] for test in suite["testsuite"]]
    skipped = sum(test.get("result") == "SKIPPED" for test in tests)
    rows = [row for document in documents for row in _failures(document)]
    numbers = {"tests": len(tests), "failures": len(rows), "skipped": skipped, "processes": count}
    if len(documents) < count:
        raise Failed(problems[0] if problems else f"{TESTS} left no results", numbers, rows)
    if rows:
        raise Failed(f"{len(rows)} of {len(tests)} tests failed, {rows[0]['test']} first", numbers, rows)
    if problems:
        raise Failed(problems[0], numbers)
    if len(tests) == skipped:
        raise Failed(f"all {skipped} tests were skipped, so nothing was tested", numbers)
    return numbers
