"""The test's side of fake_slurm.py: puts it on PATH, and says what goes wrong."""

import os
import pathlib
import signal
import subprocess
import sys
import time


class FakeSlurm:
    def __init__(self, bench):
        self.home = bench.folder.parent / "fake"
        self.home.mkdir()
        self.bench = bench
        os.environ["FAKE_SLURM"] = bench.environment["FAKE_SLURM"] = str(self.home)
        # Imported late: it reads the variable.
        sys.modules.pop("fake_slurm", None)
        import fake_slurm

        self.fake = fake_slurm
        self.fake.install(self.home / "bin")
        bench.environment["PATH"] = f"{self.home / 'bin'}:{os.environ['PATH']}"

    def close(self):
        """No task outlives its test."""
        for job in self.jobs():
            self.scancel(job)
        for file in self.home.glob("mute-*"):
            os.kill(int(file.name.removeprefix("mute-")), signal.SIGKILL)

    def set(self, name, text):
        (self.home / name).write_text(text)

    def unset(self, name):
        (self.home / name).unlink()

    def calls(self, program):
        file = self.home / "calls"
        return file.read_text().split().count(program) if file.exists() else 0

    def jobs(self):
        return sorted(int(folder.name) for folder in self.home.glob("jobs/*") if (folder / "name").exists())

    def settle(self, job):
        """Until tasks that may run have said which process they are."""
        while not (self.home / "hold").exists() and any(
            file.read_text().startswith("PENDING") for file in self.fake.tasks_of(job)
        ):
            time.sleep(0.02)

    def end(self, job, index, state):
        """FORGOTTEN: it is no longer in the queue either."""
        self.settle(job)
        self.fake.end(job, index, state)
        if state == "FORGOTTEN":
            self.fake.task_file(job, index).unlink()

    def forget(self, job):
        for file in self.fake.tasks_of(job):
            file.unlink()

    def scancel(self, job):
        self.settle(job)
        self.fake.scancel([str(job)])

    def release(self):
        """Tasks that were held start now."""
        self.unset("hold")
        for job in self.jobs():
            for file in self.fake.tasks_of(job):
                if file.read_text().startswith("PENDING"):
                    log = next(self.bench.folder.glob("results.db.slurm/*/submit-*/log")) / file.name
                    subprocess.Popen(
                        [
                            sys.executable,
                            "-c",
                            "import sys, fake_slurm; fake_slurm.start(int(sys.argv[1]), int(sys.argv[2]), "
                            "sys.argv[3], sys.argv[4])",
                            str(job),
                            file.name,
                            str(log),
                            str(file.parent / "job.sh"),
                        ],
                        env={**self.bench.environment, "PYTHONPATH": str(pathlib.Path(__file__).parent)},
                        stdin=subprocess.DEVNULL,
                    ).wait()

    def run_by_hand(self, job, index):
        """The task's exit code."""
        script = self.home / "jobs" / str(job) / "job.sh"
        environment = {**self.bench.environment, "SLURM_ARRAY_JOB_ID": str(job), "SLURM_ARRAY_TASK_ID": str(index)}
        return subprocess.run(["/bin/sh", script], env=environment, capture_output=True).returncode
