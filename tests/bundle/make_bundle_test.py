"""What is in a bundle, what is not, and what making one refuses.

NANOBENCH=build/release/bin/nanobench python3 tests/bundle/make_bundle_test.py
"""

import gzip
import os
import pathlib
import shutil
import stat
import subprocess
import unittest

import bench
import elf  # tools/bundle, which bench puts on the path

FOREIGN = r"^(ld-linux|libc\.|libm\.|libdl|libpthread|librt|libcuda|libcublas|libnccl|libtorch|libc10)"


def elf_files(folder):
    return [path for path in folder.rglob("*") if path.is_file() and elf.is_elf(path)]


class Contents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = bench.temporary_folder(cls)
        cls.bundle = cls.folder / "a bundle"
        done = bench.make(cls.bundle)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.said = done.stdout + done.stderr
        cls.unpacked = cls.folder / "unpacked"  # the same, for those who look into files
        shutil.copytree(cls.bundle, cls.unpacked)
        for path in cls.unpacked.rglob("*.gz"):
            path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
            path.unlink()

    def test_it_is_small(self):
        total = sum(path.stat().st_size for path in self.bundle.rglob("*") if path.is_file())
        self.assertLess(total, 60 << 20)

    def test_nothing_of_libtorch_cuda_or_glibc_is_in_it(self):
        torch_names = bench.libraries.libtorch_names(bench.libtorch())
        self.assertIn("libtorch_cpu.so", torch_names)
        for path in self.bundle.rglob("*.so*"):
            self.assertFalse(bench.libraries.is_provided(path.name, torch_names), path)
            self.assertNotRegex(path.name, FOREIGN)

    def test_those_of_the_compiler_lie_apart(self):
        names = {path.name for path in (self.bundle / "lib/compiler").iterdir()}
        self.assertLessEqual({"libstdc++.so.6", "libgcc_s.so.1"}, names)
        self.assertNotIn("libsqlite3.so.0", names)
        for path in (self.bundle / "lib").glob("*.so*"):
            self.assertNotRegex(path.name, "stdc|gcc")

    def test_every_library_that_is_needed_is_carried_or_brought(self):
        own = {path.name for path in elf_files(self.unpacked)}
        torch_names = bench.libraries.libtorch_names(bench.libtorch())
        self.assertIn("libsqlite3.so.0", own)
        for path in elf_files(self.unpacked):
            for name in elf.read_dynamic(path).needed:
                self.assertTrue(name in own or bench.libraries.is_provided(name, torch_names), f"{path} needs {name}")

    def test_no_file_looks_for_libraries_in_a_folder_of_this_machine(self):
        looked = [path for path in elf_files(bench.BUILD / "bin") if elf.read_dynamic(path).run_paths]
        self.assertTrue(looked)  # those of the build do
        for path in elf_files(self.unpacked):
            self.assertEqual(elf.read_dynamic(path).run_paths, [], path)
            if shutil.which("readelf"):  # a second opinion
                shown = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
                self.assertNotIn("Library rpath: [/", shown.replace("runpath", "rpath"))

    def test_no_link_and_no_path_of_the_build_in_its_texts(self):
        for path in self.bundle.rglob("*"):
            self.assertFalse(path.is_symlink(), path)
            is_text = path.is_file() and path.suffix in (".json", ".sh", ".py", ".md", "") and not elf.is_elf(path)
            if is_text:
                self.assertNotIn(str(bench.BUILD).encode(), path.read_bytes(), path)

    def test_what_is_run_may_be_run(self):
        for name in ("gpu_check.sh", "bin/nanobench", "bin/nanobench-train", "peers/compare"):
            self.assertTrue((self.bundle / name).stat().st_mode & stat.S_IXUSR, name)

    def test_the_suites_come_along(self):
        self.assertTrue((self.bundle / "share/nanobench/suites/speedrun_history.json").is_file())

    def test_what_is_absent_is_said_and_kept(self):
        for name in bench.make_bundle.OPTIONAL:
            is_there = (self.unpacked / "bin" / name).is_file()
            self.assertEqual(is_there, (bench.BUILD / "bin" / name).is_file())
            self.assertEqual(f"without {name}: " in self.said, not is_there)

    def test_golden_cases_and_the_peer_come_along(self):
        for case in bench.make_bundle.GOLDEN_CASES:
            self.assertTrue((self.bundle / "golden" / case / "expected.json").is_file(), case)
        self.assertTrue((self.bundle / "peers/torch_peer.py").is_file())

    def test_golden_cases_of_another_folder_are_taken_where_they_are_whole(self):
        golden = self.folder / "other golden"
        for name in bench.make_bundle.GOLDEN_FILES:
            bench.write_program(golden / "record12" / name, "{}")
        bench.write_program(golden / "record15/config.json", "{}")  # not whole
        bundle = self.folder / "with other golden"
        done = bench.make(bundle, "--golden", golden)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((bundle / "golden/record12/expected.json").is_file())
        self.assertFalse((bundle / "golden/record15").exists())
        self.assertIn("without golden/record15", done.stderr)


class Refusals(unittest.TestCase):
    def setUp(self):
        self.folder = bench.temporary_folder(type(self))

    def refused(self, sentence, folder, *options, **more):
        done = bench.make(folder, *options, **more)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        last = done.stderr.strip().splitlines()
        self.assertEqual(len(last), 1, done.stderr)
        self.assertIn(sentence, last[0])

    def fake_build(self, *names):
        build = self.folder / "build"
        (build / "bin").mkdir(parents=True)
        for name in ("nanobench", "nanobench-train", *names):
            shutil.copy2(bench.BUILD / "bin" / name, build / "bin")
        if (bench.BUILD / "CMakeCache.txt").is_file():
            shutil.copy2(bench.BUILD / "CMakeCache.txt", build)
        return build

    def test_wrong_arguments(self):
        self.refused("unrecognized arguments", self.folder / "b", "--fast")
        self.refused("it has no bin/", self.folder / "b", build=self.folder / "nowhere")

    def test_a_folder_with_something_else_is_left_alone(self):
        (self.folder / "mine").mkdir()
        (self.folder / "mine/file").write_text("mine")
        self.refused("is not empty and not a bundle", self.folder / "mine", "--replace")
        self.refused("is a file", self.folder / "mine/file")
        self.assertEqual((self.folder / "mine/file").read_text(), "mine")

    def test_a_bundle_is_replaced_when_that_is_said(self):
        bundle = self.folder / "bundle"
        self.assertEqual(bench.make(bundle).returncode, 0)
        (bundle / "bin/old").write_text("")
        self.refused("add --replace", bundle)
        self.assertTrue((bundle / "bin/old").exists())
        self.assertEqual(bench.make(bundle, "--replace").returncode, 0)
        self.assertFalse((bundle / "bin/old").exists())
        self.assertEqual([path.name for path in self.folder.iterdir()], ["bundle"])

    def test_a_missing_program(self):
        build = self.fake_build()
        (build / "bin/nanobench").unlink()
        self.refused("nanobench does not exist; build it", self.folder / "b", build=build)
        self.assertFalse((self.folder / "b").exists())

    def test_an_engine_that_does_not_start(self):
        build = self.fake_build()
        bench.write_program(build / "bin/nanobench-train", "#!/bin/sh\necho 'the reason' >&2; exit 1\n")
        self.refused("does not start: the reason", self.folder / "b", build=build)

    def test_too_much_is_refused_and_the_largest_are_named(self):
        build = self.fake_build()
        with open(build / "bin/nanobench-micro", "wb") as file:
            file.truncate(61 << 20)
        self.refused("more than the 60 MiB that it may have; the largest: bin/nanobench-micro 61.0", self.folder / "b",
                     build=build)  # fmt: skip
        self.assertEqual([path.name for path in self.folder.iterdir()], ["build"])

    def test_a_library_that_is_nowhere(self):
        build = self.fake_build()
        data = (build / "bin/nanobench").read_bytes()
        self.assertIn(b"\0libsqlite3.so.0\0", data)
        (build / "bin/nanobench").write_bytes(data.replace(b"\0libsqlite3.so.0\0", b"\0libsqlite9.so.0\0"))
        self.refused("needs libsqlite9.so.0, which is not on this machine", self.folder / "b", build=build)

    def test_a_file_that_is_cut_off(self):
        for size in (10, 64, 400):
            path = self.folder / "cut"
            path.write_bytes((bench.BUILD / "bin/nanobench").read_bytes()[:size])
            with self.assertRaises(elf.NotElf):
                elf.read_dynamic(path)

    def test_files_of_the_system_can_be_read(self):
        for folder in (pathlib.Path("/lib/x86_64-linux-gnu"), pathlib.Path("/usr/bin")):
            for path in [path for path in folder.glob("*") if path.is_file()][:40] if folder.is_dir() else []:
                if os.access(path, os.R_OK) and elf.is_elf(path):
                    elf.read_dynamic(path)


if __name__ == "__main__":
    unittest.main()
