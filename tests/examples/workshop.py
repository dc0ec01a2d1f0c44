"""A folder with a trainer and a suite, and the program that runs it, with the stand-ins of this folder on PATH."""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("NANOBENCH", ROOT / "build/release/bin/nanobench")).resolve()
STAND_IN = pathlib.Path(__file__).resolve().parent / "stand_in"
PATIENCE_S = 120


class Workshop:
    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name) / "trainer"
        self.folder.mkdir()
        self.environment = {
            **os.environ,
            "PATH": f"{STAND_IN}:{PROGRAM.parent}:{os.environ['PATH']}",
            "NANOBENCH_DB": str(self.folder.parent / "results.db"),
            "NANOBENCH_ROOT": str(ROOT),
            "XDG_CACHE_HOME": str(self.folder.parent / "cache"),
        }
        for name in ("NANOBENCH_ENGINE", "RANK", "WORLD_SIZE"):
            self.environment.pop(name, None)

    def close(self):
        self._folder.cleanup()

    def copy(self, source):
        shutil.copytree(source, self.folder, dirs_exist_ok=True)

    def run(self, *arguments):
        """Exit code, standard output, standard error."""
        done = subprocess.run(
            [PROGRAM, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        return done.returncode, done.stdout, done.stderr

    def suite(self, **suite):
        (self.folder / "suite.json").write_text(json.dumps(suite))

    def rows(self, query):
        store = sqlite3.connect(f"file:{self.environment['NANOBENCH_DB']}?mode=ro", uri=True)
        try:
            return store.execute(query).fetchall()
        finally:
            store.close()
