"""A real bundle, moved away from where it was made, checks the CPU with the real programs, small and from end to end.

NANOBENCH=build/release/bin/nanobench python3 tests/bundle/whole_check_test.py
"""

import json
import pathlib
import shutil
import unittest

import bench

SUITE = "share/nanobench/suites/speedrun_history.json"


class Whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = bench.temporary_folder(cls)
        done = bench.make(cls.folder / "made")
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.bundle = cls.folder / "another place/moved"
        cls.bundle.parent.mkdir()
        (cls.folder / "made").rename(cls.bundle)
        suite = json.loads((cls.bundle / SUITE).read_text())
        (cls.bundle / SUITE).write_text(json.dumps({**suite, "records": ["record17", "record18"]}))
        for case in (cls.bundle / "golden").glob("*"):
            if case.name != "record17":
                shutil.rmtree(case)
        (cls.bundle / "peers").mkdir(exist_ok=True)
        shutil.copy(bench.HERE / "fake_peer.py", cls.bundle / "peers/torch_peer.py")
        bench.sign(cls.bundle)
        bench.write_torch(cls.folder / "site", libraries_of=bench.libtorch())
        nvidia = bench.libtorch().parents[1] / "nvidia"
        if nvidia.is_dir():
            (cls.folder / "site/nvidia").symlink_to(nvidia)
        cls.python = bench.write_python(cls.folder / "bin/python3", cls.folder / "site")

    def check(self, *options):
        return bench.check(self.bundle, None, self.folder, *options, path=f"{self.python.parent}:/usr/bin:/bin")

    def test_the_cpu_passes_from_end_to_end(self):
        parts = ["environment", "parity", "records", "history", "side_by_side"]
        if (self.bundle / "bin/nanobench-micro").is_file():
            parts.insert(3, "micro")
        result = self.check("--device", "cpu", "--pairs", "1", "--parts", ",".join(parts))
        self.assertEqual(result.code, 0, result.text + result.errors)
        self.assertEqual([part["name"] for part in result.document["parts"]], parts)
        self.assertEqual({part["outcome"] for part in result.document["parts"]}, {"passed"})
        pair = result.step("parity", "pair/record17/float32")["numbers"]
        self.assertLess(0.0, pair["cpu_fused_to_reference"])
        rows = result.step("history", "speedrun_history")["rows"]
        self.assertEqual([row["row"] for row in rows], ["record17", "record18"])
        self.assertTrue(all(row["val_loss"] > 3 and row["step_ms"] > 0 for row in rows))
        self.assertGreater(result.step("side_by_side", "train")["rows"][0]["ours_tokens_per_s"], 0)
        cases = [step["name"] for step in result.part("parity")["steps"] if step["name"].startswith("golden/")]
        self.assertEqual(cases, ["golden/record17/float64", "golden/record17/float32"])

    def test_a_gpu_that_is_not_here_is_said(self):
        if pathlib.Path("/proc/driver/nvidia").exists():
            self.skipTest("this machine has an NVIDIA driver")
        result = self.check("--parts", "parity,history")
        self.assertEqual(result.code, 4, result.text + result.errors)
        for part in result.document["parts"]:
            self.assertEqual(part["outcome"], "not_run")
            self.assertRegex(part["reason"], "no GPU was found|the bundle has no libnanobench_cuda.so")


if __name__ == "__main__":
    unittest.main()
