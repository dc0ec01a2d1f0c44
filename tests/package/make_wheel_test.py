"""What is in a wheel, whether pip and auditwheel agree with it, and what making one refuses.

NANOBENCH=build/release/bin/nanobench python3 tests/package/make_wheel_test.py
"""

import base64
import csv
import hashlib
import io
import json
import re
import shutil
import stat
import subprocess
import unittest
import zipfile
from unittest import mock

import workshop
from workshop import elf, make_wheel

VERSION = re.search(r"project\(nanobench VERSION (\S+)", (workshop.ROOT / "CMakeLists.txt").read_text())[1]
INFO = f"nanobench-{VERSION}.dist-info"
ENGINE = "nanobench/engine/nanobench-train"


class Contents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = workshop.temporary_folder(cls)
        cls.wheel = workshop.package_of_the_build()
        cls.archive = zipfile.ZipFile(cls.wheel)
        cls.addClassCleanup(cls.archive.close)
        cls.unpacked = cls.folder / "unpacked"
        cls.archive.extractall(cls.unpacked)
        cls.binaries = [path for path in cls.unpacked.rglob("*") if path.is_file() and elf.is_elf(path)]

    def text(self, name):
        return self.archive.read(name).decode()

    def test_it_is_the_only_file_and_small(self):
        self.assertEqual(list(self.wheel.parent.iterdir()), [self.wheel])
        self.assertLess(self.wheel.stat().st_size, 40 << 20)

    def test_record_names_every_file_with_its_digest(self):
        rows = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(self.text(f"{INFO}/RECORD")))}
        self.assertEqual(set(rows), set(self.archive.namelist()))
        self.assertEqual(rows.pop(f"{INFO}/RECORD"), ("", ""))
        for name, (digest, size) in rows.items():
            data = self.archive.read(name)
            expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            self.assertEqual((digest, size), (f"sha256={expected}", str(len(data))), name)

    def test_one_version_everywhere(self):
        self.assertIn(f"\nVersion: {VERSION}\n", self.text(f"{INFO}/METADATA"))
        self.assertTrue(self.wheel.name.startswith(f"nanobench-{VERSION}-py3-none-"))
        changes = (workshop.ROOT / "CHANGELOG.md").read_text()
        self.assertEqual(re.search(r"^## (\S+)", changes, re.MULTILINE)[1], VERSION)

    def test_the_tag_is_what_the_programs_need(self):
        tag = re.search(r"^Tag: (\S+)$", self.text(f"{INFO}/WHEEL"), re.MULTILINE)[1]
        self.assertEqual(self.wheel.name, f"nanobench-{VERSION}-{tag}.whl")
        minor = int(re.fullmatch(r"py3-none-manylinux_2_(\d+)_\w+", tag)[1])
        needed = {name for path in self.binaries for names in elf.needed_versions(path).values() for name in names}
        glibc = [int(found[1]) for name in needed if (found := re.match(r"GLIBC_2\.(\d+)", name))]
        self.assertGreaterEqual(minor, max(glibc))

    def test_auditwheel_agrees(self):
        if not workshop.AUDITWHEEL.is_file():
            self.skipTest("auditwheel is not in .deps/dev; tools/dev/format.sh puts it there")
        words = [workshop.AUDITWHEEL, "show", "--json", self.wheel]
        shown = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        self.assertTrue(self.wheel.name.endswith(f"-{shown['sym_tag']}.whl"), shown["sym_tag"])
        self.assertFalse(shown["unsupported_isa"])
        # LibTorch comes to the engine at its first start; of nothing else may the wheel need more than the tag promises.
        self.assertEqual(set(shown["external_libs"]), {"libtorch_cpu.so", "libc10.so"})

    def test_programs_may_be_run_are_stripped_and_look_only_beside_themselves(self):
        paths = {str(path.relative_to(self.unpacked)): elf.read_dynamic(path).run_paths for path in self.binaries}
        self.assertEqual(set(paths.pop(ENGINE)), {"$ORIGIN/lib"})
        self.assertEqual(paths.pop("nanobench/bin/nanobench"), ["$ORIGIN/../lib"])
        self.assertEqual(set(paths), {f"nanobench/lib/{name}" for name in self.archive_names("nanobench/lib/")})
        self.assertEqual([found for found in paths.values() if found], [])
        for name in (ENGINE, "nanobench/bin/nanobench"):
            self.assertTrue(self.archive.getinfo(name).external_attr >> 16 & stat.S_IXUSR, name)
        for path in self.binaries:
            shown = subprocess.run(["readelf", "-W", "-S", path], capture_output=True, text=True, check=True).stdout
            self.assertNotIn(".symtab", shown, path)

    def archive_names(self, folder):
        return [name[len(folder) :] for name in self.archive.namelist() if name.startswith(folder)]

    def test_nothing_of_libtorch_or_the_compiler_is_in_it(self):
        carried = set(self.archive_names("nanobench/lib/"))
        self.assertIn("libsqlite3.so.0", carried)
        for name in carried:
            self.assertNotRegex(name, r"^lib(torch|c10|stdc\+\+|gcc_s|c\.|m\.)")

    def test_setup_and_suites_are_those_of_the_repository(self):
        for name in ("install_libtorch.py", "progress.py", "wheels.py", "libtorch.json"):
            self.assertEqual(
                self.archive.read(f"nanobench/setup/{name}"), (workshop.ROOT / "tools/setup" / name).read_bytes()
            )
        suites = {path.name for path in (workshop.ROOT / "suites").glob("*.json")}
        self.assertEqual(set(self.archive_names("nanobench/share/nanobench/suites/")), suites)

    def test_the_same_programs_give_the_same_bytes(self):
        again = workshop.make_in(self.folder / "again")
        self.assertEqual(again.read_bytes(), self.wheel.read_bytes())


class Refusals(unittest.TestCase):
    def setUp(self):
        self.folder = workshop.temporary_folder(self)
        self.out = self.folder / "out"

    def refused(self, sentence, build=workshop.BUILD, **variables):
        done = workshop.make(self.out, build, **variables)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(list(self.out.iterdir()) if self.out.is_dir() else [], [])

    def fake_build(self):
        (self.folder / "build/bin").mkdir(parents=True)
        for name in ("bin/nanobench", "bin/nanobench-train", "CMakeCache.txt"):
            shutil.copy2(workshop.BUILD / name, self.folder / "build" / name)
        return self.folder / "build"

    def test_a_folder_without_programs(self):
        self.refused("has no bin/", self.folder)
        build = self.fake_build()
        (build / "bin/nanobench-train").unlink()
        self.refused("nanobench-train does not exist", build)

    def test_programs_of_another_version(self):
        build = self.fake_build()
        (build / "bin/nanobench").write_text("#!/bin/sh\necho nanobench 0.0.1\n")
        self.refused(f"is not version {VERSION}", build)

    def test_a_machine_without_strip(self):
        self.refused("install binutils", PATH=str(self.folder))

    def test_too_much(self):
        options = make_wheel.make_parser().parse_args(["--build", str(workshop.BUILD), str(self.out)])
        with mock.patch.object(workshop.staging, "LARGEST_BYTES", 1 << 20), self.assertRaises(make_wheel.PackageError):
            make_wheel.make(options)
        self.assertEqual(list(self.out.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
