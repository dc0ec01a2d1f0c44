"""install_libtorch: only complete trees are taken for installed, whatever happened before."""

import contextlib
import hashlib
import io
import os
import pathlib
import shutil
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/setup"))
import install_libtorch
import wheels
from wheels import SetupError

TORCH_FILES = [
    "torch/include/ATen/ATen.h",
    "torch/lib/libtorch_cpu.so",
    "torch/lib/libc10.so",
    "torch/lib/libgomp.so.1",
    "torch/lib/libtorch_cuda.so",
    "torch/lib/libc10_cuda.so",
    "torch/lib/libtorch_python.so",
    "torch/nn/functional.py",
    "torch-1.0.dist-info/licenses/LICENSE",
]
NVIDIA_FILES = ["nvidia/cu13/lib/libcudart.so.13", "nvidia/cu13/lib/libcudart_static.a", "nvidia/cu13/include/cuda.h"]


class InstallLibTorch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = pathlib.Path(folder.name) / "a folder"
        self.deps, self.cache, self.links = self.base / "deps", self.base / "cache", self.base / "links"
        self.links.mkdir(parents=True)
        self.pins = [self.wheel("torch", TORCH_FILES, "first"), self.wheel("nvidia", NVIDIA_FILES, "first")]
        self.said = io.StringIO()
        for change in (
            contextlib.redirect_stderr(self.said),
            mock.patch.object(install_libtorch, "read_pins", lambda *_: (self.pins, {})),
            mock.patch.object(install_libtorch, "fetch", self.fetch),
            mock.patch.dict(os.environ, {"NANOBENCH_CUDA": "OFF"}),
        ):
            change.__enter__()
            self.addCleanup(change.__exit__, None, None, None)

    def wheel(self, project, names, content):
        path = self.links / f"{project}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, f"{content} {name}")
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        return {"project": project, "version": "1.0", "file": path.name, "bytes": len(data), "sha256": digest}

    def fetch(self, pins, cache, what):
        return [self.links / pin["file"] for pin in pins]

    def install(self):
        install_libtorch.main(self.deps, self.cache)

    def tree(self):
        return sorted(str(path.relative_to(self.deps)) for path in self.deps.rglob("*") if path.is_file())

    def test_unpacks_what_the_cpu_engine_needs(self):
        self.install()
        expected = [
            "libtorch.stamp",
            "licences/torch/LICENSE",
            "nvidia/cu13/lib/libcudart.so.13",
            "torch/include/ATen/ATen.h",
            "torch/lib/libc10.so",
            "torch/lib/libgomp.so.1",
            "torch/lib/libtorch_cpu.so",
        ]
        self.assertEqual(self.tree(), expected)

    def test_unpacks_what_the_gpu_plugin_needs_where_it_can_be_built(self):
        self.install()
        self.assertFalse((self.deps / "torch/lib/libtorch_cuda.so").exists())
        with mock.patch.dict(os.environ, {"NANOBENCH_CUDA": "ON"}):
            self.assertFalse(install_libtorch.is_installed(self.deps, self.pins))
            self.install()
        for name in ("torch_cuda", "c10_cuda", "torch_cpu"):
            self.assertTrue((self.deps / f"torch/lib/lib{name}.so").exists(), name)
        shutil.rmtree(self.links)
        self.install()  # what is there beyond need stays

    def test_nvcc_says_that_the_plugin_can_be_built(self):
        toolkit = self.base / "toolkit"
        (toolkit / "bin").mkdir(parents=True)
        (toolkit / "bin/nvcc").touch(mode=0o755)
        environment = {"NANOBENCH_CUDA": "AUTO", "CUDA_HOME": str(toolkit), "PATH": "/nowhere"}
        with mock.patch.dict(os.environ, environment):
            self.assertTrue(install_libtorch.wants_cuda())
            (toolkit / "bin/nvcc").unlink()
            self.assertFalse(install_libtorch.wants_cuda())

    def test_second_call_does_nothing(self):
        self.install()
        shutil.rmtree(self.links)
        self.install()

    def test_stop_at_any_file_is_repaired(self):
        real_extract = zipfile.ZipFile.extract
        self.install()
        complete = self.tree()
        for stop_at in range(6):
            shutil.rmtree(self.deps)
            count = iter(range(100))

            def extract(archive, member, path):
                if next(count) == stop_at:
                    raise KeyboardInterrupt
                return real_extract(archive, member, path)

            with mock.patch.object(zipfile.ZipFile, "extract", extract), self.assertRaises(KeyboardInterrupt):
                self.install()
            self.assertFalse(install_libtorch.is_installed(self.deps, self.pins))
            self.install()
            self.assertEqual(self.tree(), complete)

    def test_stop_at_any_rename_is_repaired(self):
        real_rename = pathlib.Path.rename
        self.install()
        complete = self.tree()
        self.pins = [self.wheel("torch", TORCH_FILES, "second"), self.wheel("nvidia", NVIDIA_FILES, "second")]
        for stop_at in range(7):  # three old folders aside, three new ones in, the stamp
            count = iter(range(100))

            def rename(path, target):
                if next(count) == stop_at:
                    raise KeyboardInterrupt
                return real_rename(path, target)

            (self.deps / "libtorch.stamp").unlink(missing_ok=True)
            with mock.patch.object(pathlib.Path, "rename", rename), contextlib.suppress(KeyboardInterrupt):
                self.install()
            if not install_libtorch.is_installed(self.deps, self.pins):
                self.install()
            self.assertTrue(install_libtorch.is_installed(self.deps, self.pins))
            self.assertIn("second", (self.deps / "torch/lib/libc10.so").read_text())
            self.assertEqual([name for name in self.tree() if not name.startswith(".")], complete)

    def test_the_stamp_comes_after_the_files_are_on_the_disk(self):
        there = []
        with mock.patch.object(os, "sync", lambda: there.extend(self.tree())):
            self.install()
        self.assertIn("torch/lib/libc10.so", there)
        self.assertNotIn("libtorch.stamp", there)
        self.assertIn("libtorch.stamp", self.tree())

    def test_other_pins_replace_what_is_there(self):
        self.install()
        self.pins[0] = self.wheel("torch", TORCH_FILES, "second")
        self.install()
        self.assertIn("second", (self.deps / "torch/lib/libc10.so").read_text())

    def test_full_disk_is_told_before_the_download(self):
        usage = shutil._ntuple_diskusage(1 << 40, 1 << 40, 1 << 20)
        with (
            mock.patch("shutil.disk_usage", lambda folder: usage),
            self.assertRaisesRegex(SetupError, "not enough disk"),
        ):
            self.install()

    def test_unknown_machine_is_a_sentence(self):
        with (
            mock.patch.object(install_libtorch, "read_pins", wheels.read_pins),
            mock.patch("platform.machine", lambda: "riscv64"),
            self.assertRaisesRegex(SetupError, "NANOBENCH_TORCH="),
        ):
            install_libtorch.main(self.deps, self.cache)


if __name__ == "__main__":
    unittest.main()
