#!/usr/bin/env -S python3 -I -S -B
"""A Slurm that only pretends, behind the names sbatch, squeue, scancel, sinfo and sacct: its tasks are processes of this
machine, and tests say what goes wrong. Everything lies in $FAKE_SLURM:

    jobs/ID/name, jobs/ID/INDEX   the job's name, and a task's "STATE PROCESS"
    calls                         a line for each call of a program
    hold                          new tasks wait for the reason written there
    refuse                        sbatch says what is written there, and refuses
    mute                          sbatch makes the job and then never answers
    down                          squeue cannot reach the controller
    accounting                    sacct answers, with the state written there
"""

import fcntl
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HOME = pathlib.Path(os.environ["FAKE_SLURM"])


def control(name):
    file = HOME / name
    return file.read_text() if file.exists() else None


def write(file, text):
    part = file.with_name(f".{file.name}.{os.getpid()}")
    part.write_text(text)
    part.rename(file)


def task_file(job, index):
    return HOME / "jobs" / str(job) / str(index)


def tasks_of(job):
    return sorted(
        (file for file in (HOME / "jobs" / str(job)).iterdir() if file.name.isdigit()), key=lambda file: int(file.name)
    )


def run_task(job, index, log, script):
    """Until the script ends; the state stays when somebody has set another one meanwhile."""
    os.setsid()
    environment = {**os.environ, "SLURM_ARRAY_JOB_ID": str(job), "SLURM_ARRAY_TASK_ID": str(index)}
    if "--gres=gpu:" in (HOME / "jobs" / str(job) / "options").read_text():
        environment["SLURM_JOB_GPUS"] = str(index)
    with open(log, "ab") as out:
        process = subprocess.Popen(
            ["/bin/sh", script],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment,
            start_new_session=True,
        )
        write(task_file(job, index), f"RUNNING {process.pid}")
        code = process.wait()
    if task_file(job, index).exists() and task_file(job, index).read_text().startswith("RUNNING"):
        write(task_file(job, index), f"{'COMPLETED' if code == 0 else 'FAILED'} 0")


def sbatch(arguments):
    if control("refuse") is not None:
        sys.exit("sbatch: error: " + control("refuse"))
    options = dict(word[2:].split("=", 1) for word in arguments if word.startswith("--") and "=" in word)
    script = pathlib.Path(arguments[-1]).read_text()
    last = int(re.fullmatch(r"0-(\d+)(%\d+)?", options["array"]).group(1))
    with open(HOME / "next", "a+") as counter:
        fcntl.flock(counter, fcntl.LOCK_EX)
        counter.seek(0)
        job = int(counter.read() or "100") + 1
        counter.truncate(0)
        counter.write(str(job))
    folder = HOME / "jobs" / str(job)
    folder.mkdir(parents=True)
    write(folder / "job.sh", script)
    write(folder / "options", "\n".join(arguments))
    for index in range(last + 1):
        write(folder / str(index), "PENDING 0")
    write(folder / "name", options["job-name"])
    if control("hold") is None:
        for index in range(last + 1):
            log = re.sub("%(.)", lambda found: str(index) if found[1] == "a" else found[1], options["output"])
            start(job, index, log, folder / "job.sh")
    if control("mute") is not None:
        (HOME / f"mute-{os.getpid()}").touch()
        time.sleep(600)
    print(job)


def start(job, index, log, script):
    if os.fork() == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        run_task(job, index, log, script)
        os._exit(0)


def squeue(arguments):
    if control("down") is not None:
        sys.exit("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    options = dict(word[2:].split("=", 1) for word in arguments if "=" in word)
    names = options["name"].split(",")
    for job in sorted((HOME / "jobs").iterdir()) if (HOME / "jobs").exists() else []:
        if not (job / "name").exists() or (job / "name").read_text() not in names:
            continue
        for file in tasks_of(job.name):
            state = file.read_text().split()[0]
            node = "" if state == "PENDING" else "n1"
            reason = (control("hold") or "None") if state == "PENDING" else "None"
            print(f"{job.name}|{file.name}|{state}|{node}|{reason}")


def end(job, index, state):
    """The task is over, in this state; its processes are killed."""
    file = task_file(job, index)
    _, process = file.read_text().split()
    write(file, f"{state} 0")
    if int(process) > 0:
        try:
            os.killpg(int(process), signal.SIGKILL)
        except ProcessLookupError:
            pass


def scancel(arguments):
    for word in arguments:
        job, _, index = word.partition("_")
        for file in tasks_of(job):
            if index in ("", file.name) and file.read_text().split()[0] in ("PENDING", "RUNNING"):
                end(job, file.name, "CANCELLED")


def sinfo(_):
    print("main*|4\ngpu|8+")


def sacct(_):
    if control("accounting") is None:
        sys.exit("Slurm accounting storage is disabled")
    print(control("accounting"))


PROGRAMS = {program.__name__: program for program in (sbatch, squeue, scancel, sinfo, sacct)}


def install(folder):
    """The programs in `folder`, to be put on PATH; `folder`.parent is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        (folder / name).symlink_to(pathlib.Path(__file__).resolve())


if __name__ == "__main__":
    program = pathlib.Path(sys.argv[0]).name
    with open(HOME / "calls", "a") as calls:
        calls.write(program + "\n")
    PROGRAMS[program](sys.argv[1:])
