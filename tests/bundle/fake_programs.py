"""Stands in for the programs of a bundle, GPU and all. FAKE names what goes wrong:

no_gpu, gpu_fails, train_crashes, bench_hangs, tests_fail, tests_crash, tests_skipped, bench_error, losses_differ, nan,
history_cut, history_slow, history_fails, no_warpgroups, sensitive

A check starts it a hundred times, so it imports little: what few of the pretended programs need, where they need it.
"""

import json
import os
import sys

FAKE = os.environ.get("FAKE", "").split(",")
GPU = "NVIDIA H200, 139 GiB"


def option(words, name, default=None):
    for word, following in zip(words, [*words[1:], None]):
        if word == name:
            return following
        if word.startswith(name + "="):
            return word.partition("=")[2]
    return default


def read(*names):
    with open(os.path.join(*names)) as file:
        return json.load(file)


def write(path, document):
    with open(path, "w") as file:
        json.dump(document, file)


def crash():
    import signal

    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGSEGV)


def doctor():
    checks = [{"check": "engine", "status": "ok", "found": "an engine"}]
    if "no_gpu" in FAKE:
        checks.append({"check": "nvidia_driver", "status": "absent", "found": "libnvidia-ml.so.1: no such file"})
    else:
        checks.append({"check": "nvidia_driver", "status": "ok", "found": "580.1"})
        checks.append({"check": "gpu_0", "status": "ok", "found": GPU})
    checks.append({"check": "gpu_plugin", "status": "ok", "found": "here"})
    print(json.dumps({"tables": {"checks": checks}}))


def show(words):
    settings = [following for word, following in zip(words, words[1:]) if word == "--set"]
    print(json.dumps({
        "gpu": {"settings": settings}, "model": {"rope": {}, "value_embeddings": {}}, "attention": {}, "data": {}, "run": {}, "precision": {},
        "schedule": {"learning_rate": {}}, "optimizer": {"hidden_matrices": {"ns_dtype": "compute"}},
    }))  # fmt: skip


def golden_trace(file):
    """What is expected, in the type that the tolerances are for."""
    return read(os.path.dirname(file), "expected.json")["float64"]


def made_trace(device, kernels, dtype, logit_scale):
    shift = 0.0 if kernels != "reference" else 1e-14 if dtype == "float64" else 1e-7
    if device != "cpu" and "losses_differ" in FAKE:
        shift = 0.1
    if "sensitive" in FAKE and dtype == "float32" and (device != "cpu" or logit_scale < 0.999):
        shift = 0.1  # of all nudges, only the larger ones down show it
    losses = [5.0 - step / 10 + shift for step in range(8)]
    if device != "cpu" and "nan" in FAKE:
        losses[3] = None
    return {"train_losses": losses, "val_losses": {"0": 6.0, "8": 4.5 + shift}}


def train(words):
    device, config = option(words, "--device"), words[1]
    if "train_crashes" in FAKE and device != "cpu":
        crash()
    if device != "cpu" and ("no_gpu" in FAKE or "gpu_fails" in FAKE):
        print(json.dumps({"facts": {"outcome": "unsupported", "message": "there is no driver"}}))
        sys.exit(2)
    logit_scale = read(config).get("model", {}).get("logit_scale", 1.0)
    if os.path.isfile(os.path.join(os.path.dirname(config), "expected.json")):
        trace = golden_trace(config)
    else:
        trace = made_trace(device, option(words, "--kernels"), option(words, "--dtype"), logit_scale)
    write(option(words, "--trace"), trace)
    print(json.dumps({"facts": {"outcome": "completed", "final_val_loss": 4.5}}))


def run_suite():
    done = {"completed": 1, "planned": 1}
    rows = [{"row": name, "val_loss": {"mean": 4.0}, "step_ms": {"mean": 900.0}, "n": done} for name in ("one", "two")]
    if "history_cut" in FAKE or "history_slow" in FAKE:
        import signal
        import time

        stopped = []
        signal.signal(signal.SIGINT, lambda *_: stopped.append(1))
        while not stopped:
            time.sleep(0.05)
        for row in rows[1:] if "history_cut" in FAKE else rows:
            row.update(val_loss=None, n={"completed": 0, "planned": 1})
    print(json.dumps({"tables": {"rows": rows}}))
    if "history_fails" in FAKE:
        print("nanobench: two ended as crashed", file=sys.stderr)
    sys.exit(4 if "history_fails" in FAKE else 130 if "history_cut" in FAKE or "history_slow" in FAKE else 0)


def nanobench(words):
    if words[0] == "--version":
        print("nanobench 9.9")
    elif words[0] == "doctor":
        doctor()
    elif words[0] == "list":
        print(json.dumps({"tables": {"records": [{"record": "record12"}, {"record": "record89"}]}}))
    elif words[0] == "show":
        show(words)
    elif words[0] == "train":
        train(words)
    elif words[0] == "run":
        run_suite()


def engine(words):
    if words[0] == "--version":
        print("nanobench-train 9.9, LibTorch 2.11.0")
        return
    spec = read(option(words, "--spec"))
    print(json.dumps({"event": "hello", "engine_version": "9.9"}))
    if "no_warpgroups" in FAKE and "attention_products=warpgroup" in spec["config"]["gpu"]["settings"]:
        print(json.dumps({"event": "failed", "outcome": "unsupported", "message": "this GPU has no such products"}))
        sys.exit(2)
    for step in range(spec["config"]["run"]["stop_after"]):
        phases = {"data": 0, "forward": 30, "backward": 60, "optimizer": 10, "communication": 0}
        print(json.dumps({"event": "step", "step": step, "loss": 5.0, "step_ms": 100, "phases_ms": phases}))
    print(json.dumps({"event": "finished", "peak_bytes": 64 << 20, "device": spec["device"]}))


def gpu_tests(words):
    result = "SKIPPED" if "tests_skipped" in FAKE else "COMPLETED"
    tests = [{"name": f"Is{number}", "result": result} for number in range(3)]
    if "tests_fail" in FAKE:
        tests[1]["failures"] = [{"failure": "kernels.cu:7\nexpected 1, got 2"}]
    # As GoogleTest divides them.
    shard, shards = int(os.environ["GTEST_SHARD_INDEX"]), int(os.environ["GTEST_TOTAL_SHARDS"])
    tests = tests[shard::shards]
    failures = sum("failures" in test for test in tests)
    document = {"tests": len(tests), "failures": failures, "testsuites": [{"name": "Kernel", "testsuite": tests}]}
    if "tests_crash" in FAKE:
        print("CUDA error: an illegal memory access was encountered", file=sys.stderr)
        crash()
    write(option(words, "--gtest_output").partition(":")[2], document)
    sys.exit(1 if failures else 0)


def bench(words):
    if "bench_hangs" in FAKE:
        import signal
        import time

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    contestant = "own/" if sys.argv[1] == "nanobench-gpu-bench" else ""
    case = {"name": f"attention/{contestant}T:1024", "real_time": 1.5, "time_unit": "ms", "iterations": 3}
    case["GFLOP/s"] = 10.0
    rival = {"name": "attention/flash/T:1024", "error_occurred": True, "error_message": "heads of another size"}
    if "bench_error" in FAKE:
        case.update(error_occurred=True, error_message="no such kernel image")
    write(option(words, "--benchmark_out"), {"benchmarks": [case, rival] if "rival_refuses" in FAKE else [case]})


PROGRAMS = {"nanobench": nanobench, "nanobench-train": engine, "nanobench-gpu-tests": gpu_tests}
PROGRAMS.update({"nanobench-micro": bench, "nanobench-gpu-bench": bench})
PROGRAMS[sys.argv[1]](sys.argv[2:])
