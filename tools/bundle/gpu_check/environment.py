"""Part `environment`: what this machine is, that the programs start, and that the GPU answers."""

import json
import os
import pathlib
import platform
import sys

import training
from problems import Failed, NotRun

DOCTOR_SECONDS = 120


def machine(torch):
    """The facts that need none of our programs."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory,
        "system": f"{platform.system()} {platform.release()}",
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "interpreter": sys.executable,
        "torch": torch["version"],
        "torch_folder": torch["folder"],
        "gpus": [],
        "driver": None,
    }


def _cpu_name():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def look_around(part, facts):
    """`nanobench doctor`, into `facts` too."""
    finished = part.run([part.program("nanobench"), "doctor", "--json"], seconds=DOCTOR_SECONDS)
    try:
        checks = json.loads(finished.stdout)["tables"]["checks"]
    except (ValueError, KeyError) as error:
        raise Failed("nanobench doctor printed no document with checks") from error
    facts["gpus"] = [row["found"] for row in checks if row["check"].startswith("gpu_") and row["check"] != "gpu_plugin"]
    drivers = [row["found"] for row in checks if row["check"] == "nvidia_driver"]
    facts["driver"] = drivers[0] if drivers else None
    rows = [{key: row[key] for key in ("check", "status", "found")} for row in checks]
    return {"gpus": len(facts["gpus"])}, rows


def programs_start(part):
    numbers = {}
    for name in ("nanobench", "nanobench-train"):
        numbers[name] = part.run([part.program(name), "--version"]).stdout.strip()
    numbers["library_folders"] = ":".join(part.settings.programs.library_folders)
    return numbers


def gpu_answers(part, facts):
    """A few steps on the GPU. There is no GPU if the engine cannot use one and the driver lists none."""
    if not part.settings.programs.has("libnanobench_cuda.so"):
        problem = "the bundle has no libnanobench_cuda.so: it was made of a build without the GPU plugin"
        part.settings.gpu_problem = problem
        raise NotRun(problem)
    config = training.suite_config(part, "record17", "smoke", steps=2)
    answer = training.train(part, config, "gpu", device=part.settings.device)
    if answer.outcome == "unsupported" and not facts["gpus"]:
        part.settings.gpu_problem = f"no GPU was found: {facts['driver'] or answer.message}"
        raise NotRun(part.settings.gpu_problem)
    answer.require_completed()
    return {"seconds": answer.seconds, "final_val_loss": answer.facts.get("final_val_loss")}


def run(part, facts):
    part.step("programs", programs_start)
    part.step("doctor", look_around, facts)
    if part.settings.is_gpu:
        part.step("gpu", gpu_answers, facts)
