"""How the wheel's launcher finds LibTorch and places the engine, with folders that only look like LibTorch.

python3 tests/package/launch_test.py
"""

import contextlib
import hashlib
import importlib.util
import io
import json
import os
import pathlib
import platform
import shutil
import unittest
import zipfile
from unittest import mock

import workshop
from nanobench import engine_place, launch, torch_place
from nanobench.problems import Refused

VERSION = json.loads((workshop.ROOT / "tools/setup/libtorch.json").read_text())["version"]
SERIES = ".".join(VERSION.split(".")[:2])
METADATA = f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}\n"


def fake_torch_wheel(folder):
    """A wheel with what install_libtorch.py unpacks; returns its pin."""
    file = folder / f"torch-{VERSION}-py3-none-manylinux_2_17_{platform.machine()}.whl"
    texts = {
        "torch/lib/libtorch_cpu.so": "library",
        "torch/include/ATen/ATen.h": "",
        "nvidia/cu13/lib/libcudart.so.13": "",
    }
    texts.update({f"torch-{VERSION}.dist-info/{name}": METADATA for name in ("METADATA", "licenses/LICENSE")})
    texts[f"torch-{VERSION}.dist-info/WHEEL"] = "Wheel-Version: 1.0\n"
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    data = file.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return {"project": "torch", "version": VERSION, "file": file.name, "bytes": len(data), "sha256": digest}


class Base(unittest.TestCase):
    def setUp(self):
        self.folder = workshop.temporary_folder(self) / "a folder"
        self.setup, self.site = self.folder / "setup", self.folder / "site"
        self.links = self.folder.parent / "links"  # pip splits its variable at spaces
        for folder in (self.setup, self.links, self.site):
            folder.mkdir(parents=True)
        for name in ("install_libtorch.py", "progress.py", "wheels.py"):
            shutil.copy2(workshop.ROOT / "tools/setup" / name, self.setup)
        self.write_pin(fake_torch_wheel(self.links))
        self.said = io.StringIO()
        self.find_spec = mock.Mock(return_value=True)  # with this path, Python would find no pip
        # PYTHONPATH is not read again by this process, so that the search for installed packages is given a path.
        environment = {"HOME": str(self.folder / "home"), "PATH": os.environ["PATH"], "PIP_NO_INDEX": "1",
                       "PIP_FIND_LINKS": str(self.links)}  # fmt: skip
        for change in (
            contextlib.redirect_stderr(self.said),
            mock.patch.dict(os.environ, environment, clear=True),
            mock.patch.object(torch_place, "SETUP", self.setup),
            mock.patch("sys.path", [str(self.site)]),
            mock.patch.object(importlib.util, "find_spec", lambda name: self.find_spec(name)),
        ):
            change.__enter__()
            self.addCleanup(change.__exit__, None, None, None)
        self.cache = self.folder / "home/.cache/nanobench"
        self.downloaded = self.cache / f"libtorch-{VERSION}/torch/lib"

    def write_pin(self, pin):
        (self.setup / "libtorch.json").write_text(json.dumps({"version": VERSION, platform.machine(): [pin]}))

    def find(self, may_download=True):
        return torch_place.find(may_download)


class Order(Base):
    def test_a_named_one_comes_first_then_an_installed_one_then_the_download(self):
        workshop.write_installed_torch(self.site, f"{SERIES}.1+cpu")
        named = workshop.write_libtorch(self.folder / "mine", VERSION)
        with mock.patch.dict(os.environ, {"NANOBENCH_TORCH": str(named)}):
            self.assertEqual(self.find().libraries, named / "lib")
        self.assertEqual(self.find().libraries, self.site / "torch/lib")
        self.assertFalse(self.cache.exists())
        shutil.rmtree(self.site)
        self.assertEqual(self.find().libraries, self.downloaded)
        self.assertEqual((self.downloaded / "libtorch_cpu.so").read_text(), "library")

    def test_a_named_folder_may_be_the_one_above(self):
        for name in ("torch", "libtorch"):
            folder = workshop.write_libtorch(self.folder / f"above {name}" / name)
            with mock.patch.dict(os.environ, {"NANOBENCH_TORCH": str(folder.parent)}):
                self.assertEqual(self.find().libraries, folder / "lib")

    def test_a_named_one_that_does_not_fit_is_refused(self):
        workshop.write_installed_torch(self.site, VERSION)
        older = workshop.write_libtorch(self.folder / "older", "2.9.1")
        for named in (older, self.folder / "nowhere"):
            with mock.patch.dict(os.environ, {"NANOBENCH_TORCH": str(named)}), self.assertRaises(Refused) as refused:
                self.find()
            self.assertEqual(refused.exception.exit_code, 2)
            self.assertIn(str(named), str(refused.exception))

    def test_an_installed_one_of_another_version_is_named_and_passed_over(self):
        workshop.write_installed_torch(self.site, "2.9.1+cu128")
        place = self.find()
        self.assertEqual(place.libraries, self.downloaded)
        self.assertIn("2.9.1+cu128", place.passed_over)
        self.assertIn("2.9.1+cu128", self.said.getvalue())  # before the download, which takes a while

    def test_an_installed_one_without_its_library_is_passed_over(self):
        workshop.write_installed_torch(self.site, VERSION)
        (self.site / "torch/lib/libtorch_cpu.so").unlink()
        self.assertEqual(self.find().libraries, self.downloaded)


class Download(Base):
    def test_nothing_is_downloaded_or_made_unless_allowed(self):
        self.assertIsNone(self.find(may_download=False))
        self.assertFalse((self.cache / f"libtorch-{VERSION}").exists())
        self.find()
        self.assertEqual(self.find(may_download=False).libraries, self.downloaded)

    def test_a_python_without_pip_is_told_what_to_do(self):
        self.find_spec.side_effect = lambda name: None
        with self.assertRaises(Refused) as refused:
            self.find()
        self.assertIn("NANOBENCH_TORCH", str(refused.exception))
        self.assertEqual(self.said.getvalue(), "")

    def test_it_is_done_once(self):
        self.find()
        shutil.rmtree(self.links)
        for wheel in self.cache.glob("*.whl"):
            wheel.unlink()
        self.assertEqual(self.find().libraries, self.downloaded)

    def test_a_file_with_another_digest_is_refused(self):
        pin = fake_torch_wheel(self.links)
        self.write_pin({**pin, "sha256": "0" * 64})
        with self.assertRaises(Refused) as refused:
            self.find()
        self.assertEqual(refused.exception.exit_code, 2)
        self.assertFalse(self.downloaded.exists())

    def test_xdg_cache_home_and_no_home_at_all(self):
        with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.folder / "cache")}):
            self.assertEqual(self.find().libraries, self.folder / f"cache/nanobench/libtorch-{VERSION}/torch/lib")
        del os.environ["HOME"]
        with self.assertRaises(Refused):
            self.find()

    def test_what_is_used_is_said_once_and_when_it_changes(self):
        self.cache.mkdir(parents=True)
        places = [torch_place.Place(pathlib.Path(name, "lib"), "somehow") for name in ("/a", "/b")]
        for place, lines in ((places[0], 1), (places[0], 1), (places[1], 2), (places[1], 2), (places[0], 3)):
            torch_place.say_once(place, self.cache)
            self.assertEqual(len(self.said.getvalue().splitlines()), lines)


class Engine(Base):
    def setUp(self):
        super().setUp()
        self.engine = self.folder / "nanobench-train"
        self.engine.write_text("#!/bin/sh\n")
        self.torches = [workshop.write_libtorch(self.folder / name) / "lib" for name in ("one", "two")]

    def placed(self, number):
        return engine_place.placed_engine(self.torches[number], self.folder / "cache", self.engine)

    def test_each_libtorch_has_an_engine_beside_it(self):
        first, second = self.placed(0), self.placed(1)
        self.assertNotEqual(first, second)
        for program, libraries in ((first, self.torches[0]), (second, self.torches[1])):
            self.assertEqual(program.read_bytes(), self.engine.read_bytes())
            self.assertTrue(os.access(program, os.X_OK))
            self.assertEqual((program.parent / "lib").resolve(), libraries)

    def test_it_is_placed_once_and_anew_for_another_engine(self):
        first = self.placed(0)
        time_ns = first.stat().st_mtime_ns
        self.assertEqual((self.placed(0), first.stat().st_mtime_ns), (first, time_ns))
        self.engine.write_text("#!/bin/sh\nexit 1\n")
        self.assertNotEqual(self.placed(0), first)

    def test_a_process_that_was_first_wins(self):
        folder = self.placed(0).parent
        with mock.patch.object(pathlib.Path, "is_file", side_effect=[False, True]):
            self.assertEqual(self.placed(0).parent, folder)
        self.assertEqual([path.name for path in (self.folder / "cache/engines").iterdir()], [folder.name])

    def test_no_variable_of_the_loader_is_set(self):
        workshop.write_installed_torch(self.site, VERSION)
        with (
            mock.patch.object(launch, "HERE", self.folder),
            mock.patch.object(engine_place.placed_engine, "__defaults__", (self.engine,)),
        ):
            environment = launch.environment_for(["run", "speedrun_history"])
        added = set(environment) - set(os.environ)
        self.assertEqual(added, {"NANOBENCH_ENGINE"})
        self.assertEqual(pathlib.Path(environment["NANOBENCH_ENGINE"]).read_bytes(), self.engine.read_bytes())

    def test_an_engine_of_the_user_needs_no_libtorch(self):
        os.environ.update(NANOBENCH_ENGINE="/mine", NANOBENCH_TORCH="/nowhere")
        self.assertEqual(launch.environment_for(["run", "speedrun_history"])["NANOBENCH_ENGINE"], "/mine")


class Commands(unittest.TestCase):
    def test_only_what_trains_needs_libtorch(self):
        folder = workshop.temporary_folder(self)
        suites = {"native": {"engine": "native"}, "usual": {}, "external": {"engine": {"command": ["x"]}}, "list": []}
        for name, suite in suites.items():
            (folder / f"{name}.json").write_text(json.dumps(suite))
        (folder / "cut.json").write_text("{")
        for text, expected in (
            ("", False),
            ("--version", False),
            ("run --help", False),
            ("list suites", False),
            ("report --format md", False),
            ("doctor", False),
            ("hunt --base record:17", True),
            ("evaluate record18 --task generated", True),
            ("claims", False),
            ("claims --measure", True),
            ("run speedrun_history", True),
            ("run --quiet speedrun_history", True),
            ("run mock_gate", False),
            ("run mock_gate.json", False),
            (f"run {folder}/native.json", True),
            (f"run {folder}/usual.json", True),
            (f"run {folder}/external.json", False),
            (f"run {folder}/list.json", True),
            (f"run {folder}/cut.json", True),
            (f"run {folder}/missing.json", True),
            ("train --record record17", True),
            ("ablate --base record:17", True),
        ):
            with mock.patch.object(launch, "SUITES", workshop.ROOT / "suites"):
                self.assertEqual(launch.trains(text.split()), expected, text)


if __name__ == "__main__":
    unittest.main()
