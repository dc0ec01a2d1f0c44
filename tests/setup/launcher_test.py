"""./nanobench: from a fresh clone to the program, with stand-ins for cmake, ninja and apt-get on PATH."""

import os
import pathlib
import signal
import stat
import unittest

from launcher_support import SOURCE_FOLDERS, LauncherTest


class Launcher(LauncherTest):
    def test_first_use_builds_and_becomes_the_program(self):
        done = self.launch("run", "suites/a b.json", "--json", EXIT_WITH="3")
        self.assertEqual(done.returncode, 3, done.err)
        self.assertEqual(done.out, f"[run][suites/a b.json][--json]\n{self.base}\n")
        self.assertIn("nanobench: built the programs in", done.err)
        self.assertEqual(self.calls(), ["cmake", "ninja"])

    def test_later_uses_start_no_tool(self):
        self.launch("list")
        self.calls()
        done = self.launch("list")
        self.assertEqual((done.err, self.calls()), ("", []))

    def test_every_change_of_the_sources_is_noticed(self):
        changes = {
            "edited": lambda: (self.checkout / "core/a.cpp").write_text("yy"),
            **{
                f"new in {folder}": lambda folder=folder: (self.checkout / folder / "new.cpp").write_text("x")
                for folder in SOURCE_FOLDERS
            },
            "added": lambda: (self.checkout / "suites/new.json").write_text("{}"),
            "renamed": lambda: (self.checkout / "core/b.cpp").rename(self.checkout / "core/c.cpp"),
            "deleted": lambda: (self.checkout / "core/c.cpp").unlink(),
            "another LibTorch": lambda: (self.checkout / ".deps/libtorch.stamp").write_text("wheels"),
            "older": lambda: os.utime(self.checkout / "core/a.cpp", (1, 1)),
        }
        self.launch("list")
        for name, change in changes.items():
            self.calls()
            change()
            self.launch("list")
            # What can be built depends on what LibTorch brings.
            configures = ["cmake"] if name == "another LibTorch" else []
            self.assertEqual(self.calls(), [*configures, "ninja"], name)

    def test_building_without_charts_is_another_configuration(self):
        self.launch("list")
        self.calls()
        self.launch("list", NANOBENCH_CHARTS="OFF")
        self.assertIn("-DNANOBENCH_CHARTS=OFF", self.calls_file.read_text())

    def test_a_database_is_not_a_source(self):
        self.launch("list")
        self.calls()
        (self.checkout / "results/nanobench.db").write_text("rows")
        (self.checkout / "results/nanobench.db-wal").write_text("rows")
        self.launch("list")
        self.assertEqual(self.calls(), [])

    def test_through_a_link_from_another_folder(self):
        link = self.base / "a link"
        link.symlink_to(self.checkout / "nanobench")
        elsewhere = self.base / "else where"
        elsewhere.mkdir()
        self.assertEqual(self.launch("x", program=link, cwd=elsewhere).out, f"[x]\n{elsewhere}\n")

    def test_moved_checkout_is_configured_again(self):
        self.launch("list")
        self.calls()
        self.checkout = self.checkout.rename(self.base / "moved clone")
        self.assertEqual(self.launch("list").returncode, 0)
        self.assertEqual(self.calls(), ["cmake", "ninja"])

    def test_missing_packages_are_told_as_one_command(self):
        (self.bin / "ninja").unlink()
        (self.bin / "cmake").unlink()
        self.write_tool("apt-get", 'echo "apt-get $*" >>"$CALLS"')
        done = self.launch("run", "x")
        self.assertEqual(done.returncode, 2)
        command = "sudo apt-get install -y --no-install-recommends cmake ninja-build"
        self.assertEqual(
            done.err, f"nanobench: Debian packages are missing; run this, then the same command again: {command}\n"
        )
        self.assertEqual((done.out, self.calls()), ("", []))

    def test_missing_packages_without_apt_are_named(self):
        (self.bin / "c++").unlink()
        done = self.launch("run", "x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("missing on this system (named as Debian packages): g++;", done.err)

    def test_packages_are_installed_where_sudo_asks_for_no_password(self):
        (self.bin / "ninja").rename(self.fake / "ninja")
        self.write_tool("sudo", '[ "$1" = -n ] && shift; exec "$@"')
        self.write_tool("true", "exit 0")
        self.write_tool("dpkg", 'echo "dpkg $*" >>"$CALLS"')
        # The first installation fails, as with old package lists: it is tried again after an update.
        self.write_tool(
            "apt-get",
            'echo "apt-get $*" >>"$CALLS"\n'
            'case "$*" in *update) touch "$FAKE/updated" ;;\n'
            '*install*) [ -e "$FAKE/updated" ] || exit 100; /bin/mv "$FAKE/ninja" "$FAKE/bin/ninja" ;; esac',
        )
        done = self.launch("run", "x")
        self.assertEqual(done.returncode, 0, done.err)
        self.assertIn("nanobench: installing Debian packages: ninja-build\n", done.err)

    def test_packages_whose_files_somebody_removed_are_named(self):
        (self.bin / "ccache").unlink()
        self.write_tool("sudo", '[ "$1" = -n ] && shift; exec "$@"')
        self.write_tool("true", "exit 0")
        self.write_tool("dpkg", "exit 0")
        self.write_tool("apt-get", "exit 0")
        for said in (self.launch("list").err, self.launch("setup").err):  # the second one is no first use
            lines = [line for line in said.splitlines() if "--reinstall ccache" in line]
            self.assertEqual(len(lines), 1, said)
            self.assertNotIn("installed them", said)
        self.assertEqual(self.launch("list").returncode, 0)

    def test_failed_installation_shows_apts_words(self):
        (self.bin / "ninja").unlink()
        self.write_tool("sudo", '[ "$1" = -n ] && shift; exec "$@"')
        self.write_tool("true", "exit 0")
        self.write_tool("apt-get", "echo 'E: the reason'; exit 100")
        done = self.launch("run", "x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("E: the reason", done.err)
        self.assertIn("run this by hand: apt-get install", done.err)

    def test_own_libtorch_must_be_one(self):
        done = self.launch("run", "x", NANOBENCH_TORCH="/nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertIn("NANOBENCH_TORCH=/nowhere is not LibTorch", done.err)
        self.assertEqual(self.launch("run", "x", NANOBENCH_TORCH=str(self.torch)).returncode, 0)

    def test_failed_configuration_shows_why_and_is_repeated(self):
        (self.fake / "break-cmake").touch()
        done = self.launch("run", "x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("CMake Error: the reason", done.err)
        (self.fake / "break-cmake").unlink()
        self.assertEqual(self.launch("run", "x").returncode, 0)

    def test_failed_build_shows_why_and_is_repeated(self):
        (self.fake / "break-ninja").touch()
        done = self.launch("run", "x")
        self.assertEqual(done.returncode, 70)
        self.assertIn("a.cpp:1: error: the reason", done.err)
        (self.fake / "break-ninja").unlink()
        self.calls()
        self.assertEqual(self.launch("run", "x").returncode, 0)
        self.assertEqual(self.calls(), ["ninja"])

    def test_killed_build_is_completed(self):
        (self.fake / "hold-ninja").touch()
        process = self.start("run", "x")
        self.wait_for(self.fake / "ninja-holds")
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        (self.fake / "hold-ninja").unlink()
        self.assertEqual(self.launch("run", "x").out, f"[run][x]\n{self.base}\n")

    def test_a_failed_step_is_shown_without_its_command(self):
        self.write_tool(
            "ninja",
            "echo '[1/9] Building a.o'; echo 'a.cpp:9: warning: odd'; echo 'FAILED: b.o'; echo 'c++ -c b.cpp'\n"
            "echo 'b.cpp:1: error: the reason'; echo 'Killed signal terminated program cc1plus'; exit 1",
        )
        done = self.launch("run", "x")
        self.assertEqual(done.returncode, 70)
        lines = done.err.splitlines()
        for line in ("a.cpp:9: warning: odd", "FAILED: b.o", "b.cpp:1: error: the reason"):
            self.assertEqual(lines.count(line), 1, done.err)
        self.assertNotIn("c++ -c b.cpp", lines)
        self.assertIn("NANOBENCH_JOBS=1", lines[-1])
        log = (self.checkout / "build/release/build.log").read_text().splitlines()
        self.assertEqual(log[:4], ["[1/9] Building a.o", "a.cpp:9: warning: odd", "FAILED: b.o", "c++ -c b.cpp"])

    def test_signals_end_the_launcher_and_its_tool(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            (self.fake / "hold-ninja").touch()
            process = self.start("run", "x")
            self.wait_for(self.fake / "ninja-holds")
            process.send_signal(number)
            _, said = process.communicate(timeout=20)
            self.assertEqual(process.returncode, code)
            self.assertTrue(said.endswith("nanobench: interrupted; the same command continues from here\n"), said)
            (self.fake / "ninja-holds").unlink()

    def test_two_at_once_take_turns(self):
        (self.fake / "hold-ninja").touch()
        first = self.start("run", "first")
        self.wait_for(self.fake / "ninja-holds")
        second = self.start("run", "second")
        while "waiting for it" not in (line := second.stderr.readline()):
            self.assertTrue(line)
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
        (self.fake / "hold-ninja").unlink()
        out, _ = second.communicate(timeout=60)
        self.assertEqual(out, f"[run][second]\n{self.base}\n")

    def test_someone_elses_checkout(self):
        for path in [self.checkout, *self.checkout.rglob("*")]:
            path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
        done = self.launch("run", "x")
        self.checkout.chmod(0o755)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"cannot write into {self.checkout}", done.err)

    def test_test_builds_everything_and_becomes_ctest(self):
        done = self.launch("test", "-R", "a b", NANOBENCH_JOBS="3")
        expected = f"ctest --preset release -R a b\n{self.checkout}\n3 at once, 1 passive\n"
        self.assertEqual((done.returncode, done.out), (0, expected))
        self.assertEqual(self.calls(), ["cmake", "ninja"])

    def test_ctests_own_variable_says_how_many_tests_run_at_once(self):
        done = self.launch("test", NANOBENCH_JOBS="3", CTEST_PARALLEL_LEVEL="5", OMP_WAIT_POLICY="active")
        self.assertTrue(done.out.endswith("\n5 at once, 1 active\n"), done.out)

    def test_setup_only_builds(self):
        done = self.launch("setup")
        self.assertEqual((done.returncode, done.out), (0, ""))
        self.assertIn("nanobench: ready: ", done.err)
        self.assertEqual(self.launch("setup", "twice").returncode, 2)
        self.assertIn("./nanobench test [ARGS]", self.launch("setup", "--help").out)

    def targets(self):
        """What the stand-in ninja was asked to build since the last time."""
        lines = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        self.calls_file.unlink(missing_ok=True)
        return [line.split()[-1] for line in lines if line.startswith("ninja")]

    @unittest.skipIf(pathlib.Path("/proc/driver/nvidia/version").exists(), "a driver is installed")
    def test_the_gpu_plugin_is_built_when_a_command_asks_for_it(self):
        self.launch("list")
        self.assertEqual(self.targets(), ["programs"])
        self.launch("run", "x", "--device", "cpu", "cuda")
        self.assertEqual(self.targets(), [])
        self.launch("run", "x", "--device", "cuda:1")
        self.assertEqual(self.targets(), ["programs_with_gpu"])
        for command in (["list"], ["run", "--device=cuda"]):
            self.launch(*command)
            self.assertEqual(self.targets(), [], command)
        (self.checkout / "core/a.cpp").write_text("changed")
        self.launch("list")
        self.assertEqual(self.targets(), ["programs"])
        self.launch("run", "--device=cuda")
        self.assertEqual(self.targets(), ["programs_with_gpu"])
        self.launch("setup", NANOBENCH_CUDA="ON")
        self.assertEqual(self.targets(), ["programs_with_gpu"])

    def test_a_bundle_is_made_of_what_was_built(self):
        self.write_tool("python3", 'case "$*" in *make_bundle.py*) echo "python3 $*"; pwd ;; esac')
        done = self.launch("bundle", "to here", "--replace")
        build = f"{self.checkout}/build/release"
        made = f"python3 -B {self.checkout}/tools/bundle/make_bundle.py --build {build} to here --replace\n"
        self.assertEqual(done.returncode, 0, done.err)
        self.assertTrue(done.out.startswith(made), done.out)
        self.assertIn("bundle_programs", self.calls_file.read_text())
        self.assertEqual(self.launch("bundle", "x", NANOBENCH_PRESET="asan").returncode, 2)

    def test_packages_are_made_of_what_was_built(self):
        self.write_tool("python3", 'case "$*" in */make_*.py*) echo "python3 $*"; pwd ;; esac')
        build = self.checkout / "build/release"
        for kind in ("wheel", "deb"):
            (self.checkout / "core/a.cpp").write_text(kind)
            done = self.launch(kind, "to here")
            made = f"python3 -B {self.checkout}/tools/package/make_{kind}.py --build {build} to here\n"
            self.assertEqual(done.returncode, 0, done.err)
            self.assertTrue(done.out.startswith(made), done.out)
            self.assertEqual(self.targets(), ["programs"])
            self.assertEqual(self.launch(kind, "x", NANOBENCH_PRESET="asan").returncode, 2)


if __name__ == "__main__":
    unittest.main()
