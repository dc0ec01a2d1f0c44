"""Part `micro`: single operations of the engine, timed by Google Benchmark: on the CPU briefly, and the GPU's kernels."""

import json

import kernel_tests
import processes
from problems import Failed

CPU, GPU = "nanobench-micro", "nanobench-gpu-bench"
# One shape, and little time for each case: this machine is here for its GPU.
CPU_SHAPE = ("--seq", "1024", "--window", "256", "--benchmark_min_time=0.05", "--benchmark_filter=-sgemm")
SMALL_SHAPE = ("--seq", "256", "--window", "128", "--dim", "64", "--heads", "2", "--layers", "6", "--vocab", "257")
SMALL_SHAPE += ("--threads", "1", "--benchmark_min_time=0", "--benchmark_filter=-sgemm")
GPU_SHARE = 0.75  # share of the part's time, so that the CPU's benchmarks always have some left


def _is_rival(name):
    """Whether a GPU benchmark row, operation/contestant/shape, is from another library, which may refuse a shape."""
    contestant = name.split("/")[1:2]
    return bool(contestant) and not contestant[0].startswith("own")


def _row(case):
    known = ("run_name", "name", "real_time", "cpu_time", "time_unit", "iterations", "error_message")
    if case.get("error_occurred"):
        return {"case": case["name"], "error": case.get("error_message")}
    row = {"case": case["name"], "real_time": case.get("real_time"), "unit": case.get("time_unit")}
    row["iterations"] = case.get("iterations")
    counters = {key: value for key, value in case.items() if isinstance(value, float) and key not in known}
    return {**row, **counters}


def bench(part, name, options, share=1.0, may_refuse=lambda name: False):
    file = part.folder / f"{name}.json"
    file.unlink(missing_ok=True)
    command = [kernel_tests.require(part, name), *options, f"--benchmark_out={file}", "--benchmark_out_format=json"]
    finished = processes.run(command, part, seconds=share * part.limit_s)
    problem = processes.how_it_ended(name, finished)
    if problem:
        raise Failed(problem + processes.last_line(finished))
    try:
        cases = json.loads(file.read_text(encoding="utf-8"))["benchmarks"]
    except (OSError, ValueError, KeyError) as error:
        raise Failed(f"{name} left no results") from error
    refused = [case for case in cases if case.get("error_occurred")]
    rows = [_row(case) for case in cases if case.get("run_type") != "aggregate"]
    wrong = [f"{case['name']}: {case.get('error_message')}" for case in refused if not may_refuse(case["name"])]
    numbers = {"cases": len(rows), "errors": len(wrong), "refused": len(refused) - len(wrong)}
    if wrong or not rows:
        raise Failed(wrong[0] if wrong else f"{name} has no case", numbers, rows)
    return numbers, rows


def run(part):
    if part.settings.is_gpu:
        part.step("gpu", bench, GPU, (), GPU_SHARE, _is_rival, needs_gpu=True)
    part.step("cpu", bench, CPU, CPU_SHAPE if part.settings.is_gpu else SMALL_SHAPE)
