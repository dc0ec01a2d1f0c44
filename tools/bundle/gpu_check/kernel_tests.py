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


def run(part):
    """Every test of the kernels; results before a crash still count."""
    file = part.folder / "kernel_tests.json"
    file.unlink(missing_ok=True)
    command = [require(part, TESTS), f"--gtest_output=json:{file}", "--gtest_brief=1"]
    finished = processes.run(command, part, seconds=SHARE * part.limit_s)
    problem = processes.how_it_ended(TESTS, finished)
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Failed((problem or f"{TESTS} left no results") + processes.last_line(finished)) from error
    tests = [test for suite in document["testsuites"] for test in suite["testsuite"]]
    skipped = sum(test.get("result") == "SKIPPED" for test in tests)
    rows = list(_failures(document))
    numbers = {"tests": document["tests"], "failures": document["failures"], "skipped": skipped}
    if document["failures"] or rows:
        raise Failed(
            f"{document['failures']} of {document['tests']} tests failed, {rows[0]['test']} first", numbers, rows
        )
    if problem:
        raise Failed(problem, numbers)
    if len(tests) == skipped:
        raise Failed(f"all {skipped} tests were skipped, so nothing was tested", numbers)
    return numbers
