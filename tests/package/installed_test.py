"""The wheel in a new environment with an empty home: what a person does after `pip install`, without a network.

NANOBENCH=build/release/bin/nanobench python3 tests/package/installed_test.py
"""

import json
import subprocess
import sys
import unittest

import workshop
from make_wheel_test import VERSION
from workshop import install_libtorch

TWO_RECORDS = {
    "name": "two_records",
    "design": "history",
    "records": ["record17", "record18"],
    "scale": "smoke",
    "seeds": [1],
}


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = workshop.temporary_folder(cls)
        wheel = workshop.package_of_the_build()
        cls.bin = cls.folder / "an environment/bin"
        subprocess.run([sys.executable, "-m", "venv", cls.bin.parent], check=True)
        words = [cls.bin / "python", "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", wheel]
        subprocess.run(words, check=True)

    def setUp(self):
        self.home = workshop.temporary_folder(self)
        self.cache = self.home / ".cache/nanobench"

    def run_command(self, *words, **variables):
        """The command in the empty home, with nothing else in its environment. A download cannot succeed."""
        environment = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.home), "TMPDIR": str(self.home),
                       "OMP_NUM_THREADS": "1", "PIP_NO_INDEX": "1", **{k: str(v) for k, v in variables.items()}}  # fmt: skip
        words = [str(self.bin / words[0]), *map(str, words[1:])]
        return subprocess.run(words, cwd=self.home, env=environment, capture_output=True, text=True)

    def nanobench(self, *words, **variables):
        return self.run_command("nanobench", *words, **variables)

    def engine_info(self, **variables):
        done = self.run_command("nanobench-train", "--build-info", **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), done.stderr

    def suite(self):
        file = self.home / "two_records.json"
        file.write_text(json.dumps(TWO_RECORDS))
        return file

    def test_the_version(self):
        for words in (["nanobench", "--version"], ["python", "-m", "nanobench", "--version"]):
            done = self.run_command(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout.split()[:2], ["nanobench", VERSION])

    def test_suites_and_catalogue_came_along(self):
        done = self.nanobench("list", "suites")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for path in (workshop.ROOT / "suites").glob("*.json"):
            self.assertEqual(path.stem in done.stdout, path.stem != "suite.schema", path.stem)
        self.assertEqual(self.nanobench("show", "record17").returncode, 0)

    def test_a_mock_suite_needs_no_libtorch(self):
        done = self.nanobench("run", "mock_gate", "--json", NANOBENCH_TORCH="/nowhere")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("schema_version", json.loads(done.stdout))
        self.assertTrue((self.home / ".local/share/nanobench/nanobench.db").is_file())

    def test_a_tiny_run(self):
        words = ("run", self.suite(), "--threads", "1", "--quiet", "--json")
        done = self.nanobench(*words, NANOBENCH_TORCH=workshop.libtorch())
        self.assertEqual(done.returncode, 0, done.stderr)
        text = json.dumps(json.loads(done.stdout))
        self.assertTrue("record17" in text and "record18" in text)
        self.assertIn(str(workshop.libtorch()), done.stderr)  # said at the first use
        again = self.nanobench(*words, NANOBENCH_TORCH=workshop.libtorch())
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        runs = self.nanobench("list", "runs", "--json")
        self.assertEqual(len(workshop.completed_runs(runs.stdout)), 2, runs.stdout)  # the second time trained nothing

    def test_a_wrong_name_is_one_sentence_and_exit_code_2(self):
        for words in (("nanobench", "run", self.suite()), ("nanobench-train", "--build-info")):
            done = self.run_command(*words, NANOBENCH_TORCH="/nowhere")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn("NANOBENCH_TORCH=/nowhere", done.stderr)

    def test_an_installed_torch_is_used(self):
        site = workshop.write_installed_torch(self.home / "site", "2.11.0+cpu", workshop.libtorch() / "lib")
        info, said = self.engine_info(PYTHONPATH=site)
        self.assertTrue(info["libtorch"].startswith("2.11."))
        self.assertIn(str(site), said)

    def test_an_installed_torch_of_another_version_is_named_and_passed_over(self):
        site = workshop.write_installed_torch(self.home / "site", "2.9.1")
        self.pretend_download()
        info, said = self.engine_info(PYTHONPATH=site)
        self.assertTrue(info["libtorch"].startswith("2.11."))
        self.assertTrue("2.9.1" in said and str(self.cache) in said, said)
        self.assertEqual(self.engine_info(PYTHONPATH=site)[1], "")

    def pretend_download(self):
        """The cache as the download leaves it, by links to LibTorch of the build."""
        folder = self.cache / "libtorch-2.11.0"
        folder.mkdir(parents=True)
        (folder / "torch").symlink_to(workshop.libtorch())
        nvidia = workshop.libtorch().parent / "nvidia"
        if nvidia.is_dir():
            (folder / "nvidia").symlink_to(nvidia)
        else:
            (folder / "nvidia").mkdir()
        pins, _ = install_libtorch.read_pins("libtorch.json", "LibTorch", "")
        (folder / "libtorch.stamp").write_text(install_libtorch.stamp_text(pins, False))

    def test_without_any_libtorch_pip_is_asked_and_says_why_not(self):
        done = self.nanobench("run", self.suite())
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("sha256", done.stderr.splitlines()[-1])

    def test_doctor_says_that_libtorch_is_not_here_and_downloads_nothing(self):
        done = self.nanobench("doctor", "--json")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(list(self.cache.glob("*")), [])
        found = self.nanobench("doctor", NANOBENCH_TORCH=workshop.libtorch())
        self.assertEqual((found.returncode, found.stderr), (0, ""))

    def environment_files(self):
        files = [path for path in self.bin.parent.rglob("*") if "__pycache__" not in path.parts]
        return {str(path): path.stat().st_mtime_ns for path in files}

    def test_nothing_is_written_into_the_environment(self):
        before = self.environment_files()
        self.engine_info(NANOBENCH_TORCH=workshop.libtorch())
        self.assertEqual(self.nanobench("run", "mock_gate", "--quiet").returncode, 0)
        self.assertEqual(self.environment_files(), before)


if __name__ == "__main__":
    unittest.main()
