"""./nanobench on a fresh clone with the real set-up scripts, and stand-ins for apt-get, pip, cmake and ninja: what it says that
it will do, what it shows, and that it continues wherever it was stopped.
"""

import fcntl
import hashlib
import io
import json
import os
import platform
import pty
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import unittest
import zipfile

from launcher_support import HOLD, NOBODY, LauncherTest

# Found first by every python of the set-up. Reads what the tests hold, as the stand-in programs do.
HOLDER = """
import os, pathlib, time

FAKE = pathlib.Path(os.environ["FAKE"])

def hold(name):
    if (FAKE / f"hold-{name}").exists():
        (FAKE / f"{name}-holds").touch()
    end_s = time.monotonic() + 30
    while (FAKE / f"hold-{name}").exists() and time.monotonic() < end_s:
        time.sleep(0.02)
"""

# The set-up's own steps are held by their last system call.
SITE = """
import os, pathlib, zipfile
from holder import hold

def held(name, call, when):
    def wrapped(*arguments, **named):
        if when(arguments):
            hold(name)
        return call(*arguments, **named)
    return wrapped

zipfile.ZipFile.extract = held("unpack", zipfile.ZipFile.extract, lambda words: words[1].filename.endswith("libc10.so"))
pathlib.Path.rename = held("rename", pathlib.Path.rename, lambda words: words[1].name == "nvidia")
os.sync = held("stamp", os.sync, lambda words: True)
"""

# Puts the wheel where it is asked to, in pieces, through a folder in between as the real one does.
PIP = """
import os, pathlib, sys, time
from holder import FAKE, hold

words = sys.argv
place = pathlib.Path(words[words.index("--dest") + 1])
project = pathlib.Path(words[words.index("--requirement") + 1]).read_text().split("==")[0]
with open(os.environ["CALLS"], "a") as calls:
    print("pip", project, file=calls)
content = (FAKE / "wheels" / project / "name").read_text(), (FAKE / "wheels" / project / "wheel").read_bytes()
between = pathlib.Path(os.environ["TMPDIR"]) / "pip-unpack"
between.mkdir()
pieces = 8
with open(between / content[0], "wb") as file:
    for piece in range(pieces):
        if piece == pieces // 2:
            file.flush()
            hold("pip")
        file.write(content[1][len(content[1]) * piece // pieces : len(content[1]) * (piece + 1) // pieces])
        file.flush()
        time.sleep(float(os.environ.get("PIP_PIECE_S", "0")))
os.rename(between / content[0], place / content[0])
"""

CHARTS = """
import os, sys
sys.path.append(os.environ["FAKE"] + "/modules")  # the set-up calls it with another path
from holder import hold

def javascript_bundle(vl_version):
    hold("charts")
    return "x;" * 100_000
"""

TORCH = {
    "torch/include/ATen/ATen.h": b"header",
    "torch/lib/libtorch_cpu.so": random.Random(5).randbytes(5 << 20),
    "torch/lib/libc10.so": b"library",
}
RUNTIME = {"nvidia/cu13/lib/libcudart.so.13": b"library"}


def python_for_anyone():
    """A Python that the user of these tests may start, or None: root's own may lie in a closed folder."""
    user = NOBODY if os.geteuid() == 0 else None
    for program in (sys.executable, "/usr/bin/python3"):
        try:
            subprocess.run([program, "-c", ""], check=True, user=user, stderr=subprocess.DEVNULL)
            return program
        except (OSError, subprocess.CalledProcessError):
            continue
    return None


PYTHON = python_for_anyone()


@unittest.skipIf(PYTHON is None, "no Python that anyone may start")
class FirstUseTest(LauncherTest):
    def make_tools(self):
        super().make_tools()
        (self.bin / "python3").unlink()
        (self.bin / "python3").symlink_to(PYTHON)
        self.make_modules()
        self.pins = {
            "libtorch.json": [self.wheel("torch", TORCH), self.wheel("nvidia-cuda-runtime", RUNTIME)],
            "vl_convert.json": [self.wheel("vl-convert-python", {"vl_convert/__init__.py": CHARTS.encode()})],
        }
        for name, pins in self.pins.items():
            document = {"version": "1.0", "vega_lite": "5.21", platform.machine(): pins}
            (self.checkout / "tools/setup" / name).write_text(json.dumps(document, indent=2))
        # ninja is what is missing on this system, and apt-get brings it.
        (self.bin / "ninja").rename(self.fake / "ninja")
        self.write_tool("sudo", '[ "$1" = -n ] && shift; exec "$@"')
        self.write_tool("true", "exit 0")
        self.write_tool("dpkg", "exit 0")
        brings = 'case "$*" in *install*) /bin/mv "$FAKE/ninja" "$FAKE/bin/ninja" ;; esac'
        self.write_tool("apt-get", f'echo "apt-get $*" >>"$CALLS"\n{HOLD.replace("NAME", "apt")}\n{brings}')

    def make_modules(self):
        modules = self.fake / "modules"
        for name, text in {
            "holder.py": HOLDER,
            "sitecustomize.py": SITE,
            "pip/__init__.py": "",
            "pip/__main__.py": PIP,
        }.items():
            (modules / name).parent.mkdir(parents=True, exist_ok=True)
            (modules / name).write_text(text)

    def make_prefix(self):
        super().make_prefix()
        shutil.rmtree(self.torch)  # it has to be downloaded

    def wheel(self, project, files):
        buffer = io.BytesIO()
        name = f"{project.replace('-', '_')}-1.0-cp311-cp311-manylinux_2_28_{platform.machine()}.whl"
        with zipfile.ZipFile(buffer, "w") as archive:
            for path, content in files.items():
                archive.writestr(path, content)
            archive.writestr(f"{project}-1.0.dist-info/licenses/LICENSE", "free")
        folder = self.fake / "wheels" / project
        folder.mkdir(parents=True)
        (folder / "wheel").write_bytes(buffer.getvalue())
        (folder / "name").write_text(name)
        digest = hashlib.sha256(buffer.getvalue()).hexdigest()
        size = len(buffer.getvalue())
        return {"project": project, "version": "1.0", "file": name, "bytes": size, "sha256": digest}

    def environment(self, **changes):
        own = {
            "CMAKE_PREFIX_PATH": str(self.prefix),
            "PYTHONPATH": str(self.fake / "modules"),
            "NANOBENCH_CUDA": "OFF",
            "NANOBENCH_JOBS": "4",
        }
        return super().environment(**own) | changes

    def hold(self, stage):
        (self.fake / f"hold-{stage}").touch()

    def wait_until_held(self, stage):
        self.wait_for(self.fake / f"{stage}-holds")
        (self.fake / f"{stage}-holds").unlink()

    def release(self, stage):
        (self.fake / f"hold-{stage}").unlink()

    def planned(self, said):
        """The lines of what is about to be done."""
        return [line for line in said.splitlines() if line.startswith("nanobench:   - ")]

    def assert_complete(self):
        deps = self.checkout / ".deps"
        for path, content in {**TORCH, **RUNTIME}.items():
            self.assertEqual((deps / path).read_bytes(), content, path)
        self.assertTrue((deps / "libtorch.stamp").exists())
        self.assertTrue((deps / "vl_convert/vega_bundle.js").exists())
        left = [path.name for path in deps.iterdir() if path.name.startswith(".")]
        self.assertEqual(left, [], "nothing is left behind")
        cache = [path.name for path in (self.base / "home/.cache/nanobench").iterdir() if path.name.startswith(".")]
        self.assertEqual(cache, [], "nothing is left behind")


class Continues(FirstUseTest):
    # What is held, and the tools that were called until then by the run that is stopped there.
    STAGES = (
        ("apt", ["apt-get"]),
        ("pip", ["apt-get", "pip"]),
        ("unpack", ["pip", "pip"]),
        ("rename", []),
        ("stamp", []),
        ("charts", ["pip"]),
        ("cmake", ["cmake"]),
        ("ninja", ["cmake", "ninja"]),
    )

    def stop_at_each_stage(self, stop):
        for stage, calls in self.STAGES:
            with self.subTest(stage):
                self.hold(stage)
                process = self.start("run", "x")
                self.wait_until_held(stage)
                stop(process)
                self.release(stage)
                self.assertEqual(self.calls(), calls)
                is_built = (self.checkout / "build/release/bin/nanobench").exists()
                self.assertFalse(is_built)
                stamped = (self.checkout / ".deps/libtorch.stamp").exists()
                self.assertEqual(stamped, stage in ("charts", "cmake", "ninja"))
        done = self.launch("run", "x")
        self.assertEqual((done.returncode, done.out), (0, f"[run][x]\n{self.base}\n"), done.err)
        self.assertEqual(self.calls(), ["ninja"])
        self.assert_complete()

    def test_after_kill_9_of_everything_at_each_stage(self):
        def stop(process):
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

        self.stop_at_each_stage(stop)

    def test_after_an_interrupt_at_each_stage(self):
        def stop(process):
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 130, said)

        self.stop_at_each_stage(stop)

    def test_two_at_once_do_everything_once(self):
        self.hold("pip")
        first = self.start("run", "first")
        self.wait_until_held("pip")
        second = self.start("run", "second")
        while "waiting for it" not in (line := second.stderr.readline()):
            self.assertTrue(line)
        self.release("pip")
        for process, name in ((first, "first"), (second, "second")):
            out, said = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (0, f"[run][{name}]\n{self.base}\n"), said)
        self.assertEqual(sorted(self.calls()), ["apt-get", "cmake", "ninja", "ninja", "pip", "pip", "pip"])
        self.assert_complete()

    def test_tools_that_outlive_their_launcher_are_waited_for(self):
        self.hold("ninja")
        first = self.start("run", "first")
        self.wait_until_held("ninja")
        first.kill()
        second = self.start("run", "second")
        while "waiting for it" not in (line := second.stderr.readline()):
            self.assertTrue(line, "it does not wait")
        self.assertEqual(self.calls().count("ninja"), 1)
        os.killpg(first.pid, signal.SIGKILL)
        self.release("ninja")
        out, said = second.communicate(timeout=60)
        self.assertEqual((second.returncode, out), (0, f"[run][second]\n{self.base}\n"), said)
        self.assertEqual(self.calls(), ["ninja"])


class Says(FirstUseTest):
    def test_what_it_will_do_and_how_long_before_it_does_anything(self):
        self.hold("apt")
        process = self.start("run", "x")
        self.wait_until_held("apt")
        os.killpg(process.pid, signal.SIGKILL)
        _, said = process.communicate()
        plan = self.planned(said)
        self.assertEqual(len(plan), 4, said)
        self.assertIn("ninja-build", plan[0])
        self.assertIn("download 5 MB", plan[1])
        self.assertIn("4 compilers at once", plan[3])
        # 700 s for one compiler and 10 s of configuring.
        self.assertTrue(plan[3].endswith(": about 4 min"), plan[3])
        self.assertEqual(self.calls(), ["apt-get"])
        self.assertLess(said.index(plan[3]), said.index("installing Debian packages"))

    def test_the_plan_is_what_is_left(self):
        self.launch("list")
        done = self.launch("list")
        self.assertEqual(done.err, "")
        (self.checkout / "core/a.cpp").write_text("changed")
        self.assertEqual(self.planned(self.launch("list").err), [], "an edit is no first use")
        shutil.rmtree(self.checkout / "build")
        plan = self.planned(self.launch("list").err)
        self.assertEqual(len(plan), 1, plan)
        self.assertIn("build the programs", plan[0])
        shutil.rmtree(self.checkout / ".deps")
        plan = self.planned(self.launch("list").err)
        self.assertEqual(len(plan), 2, "the wheels are in the cache")

    def test_a_build_that_was_begun_takes_less_than_a_whole_one(self):
        bounds = []
        for _ in range(2):
            said = self.launch("list").err
            lines = [*self.planned(said)[-1:], *re.findall(r"^nanobench: then .*$", said, re.MULTILINE)]
            bounds.append([re.findall("about|at most", line) for line in lines])
            (self.checkout / "build/release/bin/nanobench").unlink()
            (self.checkout / "build/release/.ninja_log").touch()
        self.assertEqual(bounds, [[["about"]] * 2, [["at most"]] * 2])

    def test_megabytes_are_those_of_the_pins(self):
        sizes = {"torch": 700 << 20, "vl": 90 << 20}
        document = {"version": "1.0"}
        for machine, factor in (("x86_64", 1), ("aarch64", 2)):
            document[machine] = [{"project": "a", "file": f"a_{machine}.whl", "bytes": sizes["torch"] * factor}]
        (self.checkout / "tools/setup/libtorch.json").write_text(json.dumps(document, indent=2))
        expected = document[platform.machine()][0]["bytes"] >> 20
        plan = self.planned(self.launch("list").err)
        self.assertIn(f"download {expected} MB", plan[1])


class Shows(FirstUseTest):
    BUILD = (
        'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo "[$i/20] Building $i.o"; sleep 0.02; done'
    )

    def make_tools(self):
        super().make_tools()
        ninja = (self.fake / "ninja").read_text()
        (self.fake / "ninja").write_text(ninja.replace("echo '[1/2] Building CXX object a.o'", self.BUILD))

    def on_terminal(self, columns, *arguments, code=0, during=lambda keyboard: None, **changes):
        """What a terminal of this width gets from the launcher, while somebody types."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            [self.checkout / "nanobench", *arguments],
            cwd=self.base,
            env=self.environment(TERM="xterm", **changes),
            user=NOBODY if os.geteuid() == 0 else None,
            stdout=subprocess.PIPE,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0),  # noqa: PLW1509 (there are no threads)
        )
        os.close(theirs)
        self.addCleanup(self.end, process)
        during(ours)
        shown = b""
        while piece := self.read(ours):
            shown += piece
        os.close(ours)
        process.wait(30)
        self.assertEqual(process.returncode, code, shown)
        return shown.decode()

    @staticmethod
    def read(terminal):
        try:
            return os.read(terminal, 1 << 16)
        except OSError:  # the other side is closed
            return b""

    def bars(self, shown, label):
        """(percent, filled, places) of each drawing of the line."""
        drawn = re.findall(rf"\r(nanobench: {label}  (?:\[(#*)(\.*)\]  )?(\d+) %[^\r]*)\033\[K", shown)
        return [(int(percent), len(filled), len(filled + empty)) for _, filled, empty, percent in drawn]

    def test_one_line_is_redrawn_on_a_terminal(self):
        shown = self.on_terminal(100, "run", "x", PIP_PIECE_S="0.15")
        for label, first in (("LibTorch", 60), ("build", 10)):
            bars = self.bars(shown, label)
            percents = [percent for percent, _, _ in bars]
            self.assertEqual(percents, sorted(percents), label)
            self.assertGreater(len(set(percents)), 3, label)
            self.assertLess(percents[0], first, label)
            for percent, filled, places in bars:
                self.assertGreaterEqual(places, 5)
                self.assertAlmostEqual(filled / places, percent / 100, delta=1 / places + 0.01)
        self.assertEqual(self.bars(shown, "build")[-1][0], 100)
        self.assertEqual(self.bars(shown, "unpacking LibTorch")[-1][0], 100)
        self.assertIn(" MB/s  ", shown)

    def test_a_narrow_terminal_gets_no_broken_lines(self):
        shown = self.on_terminal(40, "run", "x", PIP_PIECE_S="0.1")
        drawn = re.findall(r"\r(nanobench: (?:LibTorch|build|unpack)[^\r\n]*?)\033\[K", shown)
        self.assertGreater(len(drawn), 10)
        self.assertLess(max(map(len, drawn)), 40)

    def test_ctrl_c_on_a_terminal(self):
        def type_it(keyboard):
            self.wait_until_held("ninja")
            os.write(keyboard, b"\x03")

        self.hold("ninja")
        shown = self.on_terminal(100, "run", "x", code=130, during=type_it)
        last = shown.rstrip("\r\n").split("\033[K")[-1]
        self.assertTrue(last.startswith("nanobench: interrupted"), shown[-300:])
        self.release("ninja")
        self.assertEqual(self.launch("run", "x").returncode, 0)

    def test_plain_lines_without_a_terminal(self):
        for changes in ({}, {"TERM": "dumb"}):
            shutil.rmtree(self.checkout / "build", ignore_errors=True)
            said = self.launch("run", "x", **changes).err
            self.assertNotIn("\r", said)
            self.assertNotIn("\033", said)
            steps = [int(step) for step in re.findall(r"(\d+)/20 steps", said)]
            self.assertEqual(steps, [1, *range(2, 21, 2)])

    def first_estimate(self, whole_steps):
        """Seconds left that the first line of a build of 20 steps says, where a build from the beginning has whole_steps."""
        shutil.rmtree(self.checkout / "build", ignore_errors=True)
        (self.fake / "steps").write_text("c++ -c a.cpp\n" * whole_steps)
        said = self.launch("run", "x").err
        count, unit = re.search(r" 1/20 steps  (\d+) (s|min) left", said).groups()
        return int(count) * (60 if unit == "min" else 1)

    def test_the_first_estimate_is_that_of_the_steps_that_are_left(self):
        # 700 s for one compiler, and there are four.
        self.assertIn(self.first_estimate(20), range(150, 181))
        self.assertIn(self.first_estimate(0), range(150, 181))  # nobody knows
        self.assertIn(self.first_estimate(200), range(1, 21))

    def test_what_ninja_does_for_its_own_file_is_no_step(self):
        own = "echo '[0/2] Re-checking globbed directories...'; sleep 1.5; echo '[1/2] Re-running CMake...'; echo '-- Configuring done'\n"
        ninja = (self.fake / "ninja").read_text()
        (self.fake / "ninja").write_text(ninja.replace(self.BUILD, own + self.BUILD))
        said = self.launch("run", "x").err
        steps = re.findall(r"(\d+)/(\d+) steps", said)
        self.assertEqual(steps, [(str(step), "20") for step in [1, *range(2, 21, 2)]])
        shutil.rmtree(self.checkout / "build")
        shown = self.on_terminal(100, "run", "x")
        self.assertGreater(shown.count("/20 steps"), 0)
        self.assertNotIn("/2 steps", shown)


if __name__ == "__main__":
    unittest.main()
