"""A checkout with stand-ins for cmake, ninja and apt-get on PATH, for tests of ./nanobench.

The stand-in tools write what they were called with into a file; the stand-in ninja "builds" a program that prints its
arguments and its current directory. A stand-in that finds the file hold-NAME says so by NAME-holds, and waits until the
first is gone, half a minute at most.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

# A shell that starts the tests in the background has them ignore interrupts, and the launcher would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SYSTEM_TOOLS = (
    "awk bash cat cksum cut env find flock grep head mkdir mv nproc readlink rm sed sleep sort stty sync tail touch tr "
    "printf kill dpkg-query"
).split()
PACKAGE_HEADERS = (
    "nlohmann/json.hpp CLI/CLI.hpp sqlite3.h benchmark/benchmark.h gtest/gtest.h xxhash.h "
    "boost/math/distributions/students_t.hpp"
).split()
SOURCE_FOLDERS = ("core", "engine", "ablations", "results", "suites", "reports", "tools")
NOBODY = 65534

# Half a minute at most, so that a test whose launcher does not come further fails.
HOLD = """[ -e "$FAKE/hold-NAME" ] && touch "$FAKE/NAME-holds"
        held=0
        while [ -e "$FAKE/hold-NAME" ] && [ $held -lt 600 ]; do sleep 0.05; held=$((held + 1)); done"""

TOOLS = {
    "c++": "exit 0",
    "ccache": "exit 0",
    "python3": "exit 0",
    "cmake": """
        echo "cmake $*" >>"$CALLS"
        """
    + HOLD.replace("NAME", "cmake")
    + """
        if [ -e "$FAKE/break-cmake" ]; then echo 'CMake Error: the reason'; exit 1; fi
        mkdir -p "$CHECKOUT/build/release"; echo rules >"$CHECKOUT/build/release/build.ninja" """,
    # It knows how many steps a whole build has where a test says so.
    "ninja": """
        case "$*" in *'-t commands'*) exec cat "$FAKE/steps" ;; esac
        echo "ninja $*" >>"$CALLS"
        echo '[1/2] Building CXX object a.o'
        """
    + HOLD.replace("NAME", "ninja")
    + """
        if [ -e "$FAKE/break-ninja" ]; then echo 'a.cpp:1: error: the reason'; exit 1; fi
        bin="$CHECKOUT/build/release/bin"; mkdir -p "$bin"
        printf '%s\\n' '#!/bin/sh' 'printf "[%s]" "$@"; echo; pwd; exit ${EXIT_WITH:-0}' >"$bin/nanobench"
        chmod +x "$bin/nanobench" """,
    "ctest": 'echo "ctest $*"; pwd; echo "$CTEST_PARALLEL_LEVEL at once, $OMP_NUM_THREADS $OMP_WAIT_POLICY"',
    "chmod": 'exec /bin/chmod "$@"',
    "sudo": "exit 1",
}


class LauncherTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = pathlib.Path(folder.name)
        self.checkout = self.base / "a clone"
        self.fake = self.base / "fake"
        self.calls_file = self.fake / "calls"
        self.make_checkout()
        self.make_tools()
        self.make_prefix()
        os.chmod(self.base, 0o755)
        for path in [self.base, *self.base.rglob("*")]:
            if os.geteuid() == 0 and not path.is_symlink():
                os.chown(path, NOBODY, NOBODY)

    def make_checkout(self):
        shutil.copytree(SOURCE / "tools/setup", self.checkout / "tools/setup")
        shutil.copy2(SOURCE / "nanobench", self.checkout)
        for folder in SOURCE_FOLDERS:
            (self.checkout / folder).mkdir(exist_ok=True)
        for name in ("CMakeLists.txt", "CMakePresets.json", "core/a.cpp", "core/b.cpp"):
            (self.checkout / name).write_text("x")

    def make_tools(self):
        self.bin = self.fake / "bin"
        self.bin.mkdir(parents=True)
        for tool in SYSTEM_TOOLS:
            path = shutil.which(tool)
            if path:
                (self.bin / tool).symlink_to(os.path.realpath(path))
        for tool, script in TOOLS.items():
            self.write_tool(tool, script)

    def write_tool(self, name, script):
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def make_prefix(self):
        """A folder for CMAKE_PREFIX_PATH with every header that is looked for, and a LibTorch."""
        self.prefix = self.base / "prefix"
        self.torch = self.prefix / "libtorch"
        for path in [self.prefix / "include" / name for name in PACKAGE_HEADERS] + [
            self.torch / "include/ATen/ATen.h",
            self.torch / "lib/libtorch_cpu.so",
        ]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def environment(self, **changes):
        values = {
            "PATH": str(self.bin),
            "HOME": str(self.base / "home"),
            "CALLS": str(self.calls_file),
            "FAKE": str(self.fake),
            "CHECKOUT": str(self.checkout),
            "CMAKE_PREFIX_PATH": f"/nowhere:{self.prefix}",
        }
        return values | changes

    def start(self, *arguments, program=None, cwd=None, **changes):
        # Never as root: a test must not be able to install anything on the machine that runs it.
        user = NOBODY if os.geteuid() == 0 else None
        process = subprocess.Popen(
            [program or self.checkout / "nanobench", *arguments],
            cwd=cwd or self.base,
            env=self.environment(**changes),
            user=user,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def launch(self, *arguments, **options):
        process = self.start(*arguments, **options)
        process.out, process.err = process.communicate(timeout=60)
        return process

    def calls(self):
        """The calls of the stand-in tools since the last time."""
        lines = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        self.calls_file.unlink(missing_ok=True)
        return [line.split()[0] for line in lines]

    def wait_for(self, path):
        deadline = time.monotonic() + 30
        while not path.exists():
            self.assertLess(time.monotonic(), deadline, f"{path} does not come")
            time.sleep(0.01)
