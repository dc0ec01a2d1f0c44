"""gpu_check.sh on simulated machines (fake_programs.py): with a GPU and without, whole and broken.

NANOBENCH=build/release/bin/nanobench python3 tests/bundle/gpu_check_test.py
"""

import functools
import json
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import bench

try:
    import jsonschema
except ImportError:
    jsonschema = None

PARTS = ["environment", "parity", "records", "micro", "history", "side_by_side"]
LOSSES = [5.0 - step / 10 for step in range(8)]


def write_golden(bundle):
    """One case that fake_programs.py computes exactly, whatever the machine that the bundle was made on had at hand."""
    shutil.rmtree(bundle / "golden", ignore_errors=True)
    summaries = {"w.weight": {"l2": 1.0, "sum": 0.5, "probe": 0.25}}
    truth = {"train_losses": LOSSES, "sequence_losses": [[loss] for loss in LOSSES], "val_losses": {"0": 6.0}}
    truth.update(activations_step_0_sequence_0=summaries, gradients={"0": summaries}, final_parameters=summaries)
    tolerance = {"train_losses": 1e-6, "val_losses": 1e-6, "final_parameters_matrices": 1e-6}
    counts = {"w.weight": 4}
    expected = {"float64": truth, "ignored_parameters": [], "tolerance": {"float32": tolerance, "float64": tolerance}}
    expected.update(element_counts={"parameters": counts, "activations": counts})
    bench.write_program(bundle / "golden/record12/expected.json", json.dumps(expected))
    bench.write_program(bundle / "golden/record12/config.json", "{}")


@functools.cache
def bundle_of_stand_ins():
    """Made once; no test changes it."""
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    first, bundle = pathlib.Path(folder.name) / "first", pathlib.Path(folder.name) / "a bundle, moved"
    done = bench.make(first, "--golden", folder.name)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    first.rename(bundle)
    write_golden(bundle)
    shutil.copy(bench.HERE / "fake_peer.py", bundle / "peers/torch_peer.py")
    bench.pretend(bundle)
    return bundle


class Machine(unittest.TestCase):
    """A bundle of stand-ins, and an interpreter with a torch of the right version."""

    @classmethod
    def setUpClass(cls):
        cls.folder = bench.temporary_folder(cls)
        cls.bundle = bundle_of_stand_ins()
        bench.write_torch(cls.folder / "site")
        cls.python = bench.write_python(cls.folder / "bin/python3", cls.folder / "site")

    def check(self, *options, fake="", bundle=None, **more):
        return bench.check(bundle or self.bundle, self.python, self.folder, *options, FAKE=fake, **more)

    def copy_of_bundle(self):
        folder = bench.temporary_folder(type(self)) / "copy"
        shutil.copytree(self.bundle, folder)
        return folder


class WithGpu(Machine):
    def test_all_passes_and_has_numbers(self):
        result = self.check("--pairs", "2")
        self.assertEqual(result.code, 0, result.text + result.errors)
        self.assertEqual([part["name"] for part in result.document["parts"]], PARTS)
        self.assertEqual({part["outcome"] for part in result.document["parts"]}, {"passed"})
        self.assertEqual((result.document["outcome"], result.document["exit_code"]), ("passed", 0))
        self.assertEqual(result.document["machine"]["gpus"], ["NVIDIA H200, 139 GiB"])
        self.assertEqual(result.document["machine"]["torch"], "2.11.0+cu130")
        self.assertEqual(result.step("parity", "kernel_tests")["numbers"]["tests"], 3)
        self.assertEqual(result.step("parity", "pair/record17/float32")["numbers"]["gpu_to_cpu"], 0.0)
        self.assertEqual(result.step("records", "float64")["numbers"], {"records": 2, "problems": 0, "largest": 0.0})
        self.assertEqual(
            [row["record"] for row in result.step("records", "bfloat16")["rows"]], ["record12", "record89"]
        )
        self.assertEqual(result.step("micro", "gpu")["rows"][0]["GFLOP/s"], 10.0)
        self.assertEqual(result.step("history", "speedrun_history")["rows"][1]["step_ms"], 900.0)
        self.assertEqual(result.step("history", "speedrun_history")["numbers"]["scale"], "official_brief")
        # 100 ms a step against half of its tokens/s.
        side = result.step("side_by_side", "train")
        self.assertEqual((side["numbers"]["median"], side["numbers"]["n"], side["numbers"]["spread"]), (2.0, 2, 0.0))
        self.assertEqual([row["first"] for row in side["rows"]], ["ours", "ours"])
        self.assertIn("passed   parity", result.text)
        self.assertEqual(sorted(path.name for path in (self.folder / "result.logs").iterdir()),
                         sorted(f"{part}.log" for part in PARTS))  # fmt: skip

    def test_the_peer_is_asked_for_compiled_flex_attention(self):
        result = self.check("--parts", "side_by_side", "--pairs", "1")
        self.assertEqual(result.code, 0, result.errors)
        log = (self.folder / "result.logs/side_by_side.log").read_text()
        for words in ("--device cuda", "--dtype bfloat16", "--attention flex", "--mode compile", "--seq 65536"):
            self.assertIn(words, log)
        variants = {"train_warpgroup": "attention_products=warpgroup"}
        variants["train_warpgroup_graph"] = "attention_products=warpgroup step_graph=on"
        for step, settings in variants.items():
            for setting in settings.split():
                self.assertIn(f"--set {setting}", log)
            self.assertIn(f"nanobench-train {settings};", result.step("side_by_side", step)["numbers"]["sides"])
        self.assertEqual(log.count("--set"), 3, "the record as it is has none")

    def test_what_this_gpu_has_not_is_not_run(self):
        result = self.check("--parts", "side_by_side", "--pairs", "1", fake="no_warpgroups")
        self.assertEqual(result.code, 4, result.errors)
        step = result.step("side_by_side", "train_warpgroup")
        self.assertEqual((step["outcome"], step["reason"]), ("not_run", "this GPU has no such products"))
        self.assertEqual(result.step("side_by_side", "train")["outcome"], "passed")

    @unittest.skipUnless(jsonschema, "Python's jsonschema is not here")
    def test_results_are_as_the_schema_says(self):
        schema = json.loads(bench.SCHEMA.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        for fake in ("no_gpu", "nan,tests_fail,bench_error"):
            document = self.check("--pairs", "1", fake=fake).document
            self.assertEqual([error.message for error in validator.iter_errors(document)], [], fake)
        for change in ({"schema_version": 2}, {"extra": 1}, {"exit_code": 3}, {"parts": [{}]}, {"outcome": "fine"}):
            self.assertFalse(validator.is_valid({**document, **change}))
        step = {**document["parts"][0]["steps"][0], "reason": "passed, but why?"}
        self.assertFalse(validator.is_valid({**document, "parts": [{**document["parts"][0], "steps": [step]}]}))

    def failed(self, fake, part, step, *words, options=()):
        """The part fails, says why, and the parts after it run."""
        other = "side_by_side" if part == "history" else "history"
        result = self.check("--parts", f"{part},{other}", "--pairs", "1", *options, fake=fake)
        self.assertEqual(result.code, 1, result.text + result.errors)
        self.assertEqual(result.part(part)["outcome"], "failed")
        self.assertEqual(result.part(other)["outcome"], "passed")
        self.result = result
        return self.also_failed(part, step, *words)

    def also_failed(self, part, step, *words):
        found = self.result.step(part, step)
        self.assertEqual(found["outcome"], "failed")
        for word in words:
            self.assertIn(word, found["reason"])
            self.assertIn(word, self.result.text)
        return found

    def test_kernels_and_runs_that_fail_each_say_why(self):
        step = self.failed("tests_fail,losses_differ", "parity", "kernel_tests", "1 of 3 tests failed", "Kernel.Is1")
        self.assertEqual(step["rows"], [{"test": "Kernel.Is1", "message": "kernels.cu:7\nexpected 1, got 2"}])
        step = self.also_failed("parity", "pair/record17/float32", "the GPU and the CPU differ by 0.02")
        self.assertGreater(step["numbers"]["gpu_to_cpu"], 0.01)
        self.assertEqual(len(step["rows"]), 8)

    def test_records_that_train_differently_are_named(self):
        step = self.failed(
            "losses_differ", "records", "float64", "2 of 2 records train differently", "record12 (the losses"
        )
        self.assertGreater(step["rows"][1]["apart"], 0.01)
        self.failed("nan", "records", "bfloat16", "differ by inf")
        step = self.failed(
            "train_crashes", "records", "float64", "record12 (gpu: nanobench train was killed by SIGSEGV"
        )
        self.assertEqual([row["apart"] for row in step["rows"]], [None, None])
        self.failed(
            "gpu_fails", "records", "float64", "gpu: nanobench train ended with exit code 2", "there is no driver"
        )

    def test_a_record_that_other_roundings_move_as_far_is_no_difference(self):
        result = self.check("--parts", "records", fake="sensitive")
        self.assertEqual(result.code, 0, result.text + result.errors)
        row = result.step("records", "bfloat16")["rows"][0]
        self.assertGreater(row["apart"], 0.01)
        self.assertGreater(row["cpu_fused_to_nudged"], 0.01)

    def test_crashes_of_kernels_and_runs_each_say_why(self):
        self.failed("tests_crash,nan", "parity", "kernel_tests", "killed by SIGSEGV", "illegal memory access")
        self.also_failed("parity", "pair/record17/bfloat16", "differ by inf")

        self.failed("tests_skipped,train_crashes", "parity", "kernel_tests", "all 3 tests were skipped")
        self.also_failed("parity", "pair/record12/float32", "killed by SIGSEGV")

    def test_a_golden_case_that_is_missed(self):
        bundle = self.copy_of_bundle()
        file = bundle / "golden/record12/expected.json"
        expected = json.loads(file.read_text())
        expected["tolerance"]["float32"]["val_losses"] = -1.0
        file.write_text(json.dumps(expected))
        bench.sign(bundle)
        result = self.check("--parts", "parity", bundle=bundle)
        self.assertEqual(result.code, 1)
        self.assertIn("val_losses 0 (allowed -1)", result.step("parity", "golden/record12/float32")["reason"])
        self.assertEqual(result.step("parity", "golden/record12/float64")["outcome"], "passed")

    def test_a_program_that_hangs_is_stopped(self):
        begin = time.monotonic()
        step = self.failed("bench_hangs", "micro", "gpu", "did not end within 3 s", options=("--limit", "micro=4"))
        self.assertLess(step["seconds"], 60)
        self.assertLess(time.monotonic() - begin, 300)

    def test_a_benchmark_that_fails(self):
        self.failed("bench_error", "micro", "gpu", "no such kernel image")

    def test_another_library_may_refuse_a_shape(self):
        result = self.check("--parts", "micro", fake="rival_refuses")
        gpu, cpu = result.step("micro", "gpu"), result.step("micro", "cpu")
        self.assertEqual((gpu["outcome"], gpu["numbers"]), ("passed", {"cases": 2, "errors": 0, "refused": 1}))
        self.assertEqual(gpu["rows"][1], {"case": "attention/flash/T:1024", "error": "heads of another size"})
        self.assertEqual((cpu["outcome"], cpu["reason"]), ("failed", "attention/flash/T:1024: heads of another size"))

    def test_a_suite_whose_run_fails(self):
        step = self.failed("history_fails", "history", "speedrun_history", "a run failed", "two ended as crashed")
        self.assertEqual(len(step["rows"]), 2)

    def test_a_gpu_that_the_engine_cannot_use_is_a_failure(self):
        self.failed("gpu_fails", "environment", "gpu", "unsupported: there is no driver")

    def test_a_history_that_is_cut_short_keeps_what_it_has(self):
        result = self.check("--parts", "history", "--limit", "history=12", fake="history_cut")
        self.assertEqual(result.code, 0, result.text)
        numbers = result.step("history", "speedrun_history")["numbers"]
        self.assertEqual((numbers["rows_done"], numbers["rows"], numbers["was_cut_short"]), (1, 2, True))
        result = self.check("--parts", "history", "--limit", "history=12", fake="history_slow")
        self.assertEqual(result.code, 4, result.text)
        self.assertIn("ended within", result.part("history")["reason"])

    def test_a_budget_is_shared(self):
        result = self.check("--budget", "40", "--pairs", "1")
        self.assertLessEqual(result.part("environment")["limit_s"], 40 * 180 / 4500 + 0.1)
        self.assertLessEqual(sum(part["seconds"] for part in result.document["parts"]), 41)
        self.assertEqual(result.document["budget_s"], 40)

    def test_without_time_a_part_is_not_run(self):
        result = self.check("--budget", "1", "--parts", "micro,history")
        self.assertEqual(result.code, 4, result.text)
        for part in result.document["parts"]:
            self.assertEqual(part["outcome"], "not_run")
            self.assertIn("were over before it", part["reason"])

    def test_interrupted_it_leaves_what_it_has(self):
        out = self.folder / "interrupted.json"
        command = [
            self.bundle / "gpu_check.sh",
            "--python",
            self.python,
            "--out",
            out,
            "--parts",
            "environment,history",
        ]
        variables = {"PATH": "/usr/bin:/bin", "FAKE": "history_slow", "TMPDIR": str(self.folder)}
        process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        log = self.folder / "interrupted.logs/history.log"
        while not (log.is_file() and "speedrun_history --scale" in log.read_text()):
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        text, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        document = json.loads(out.read_text())
        self.assertEqual(document["outcome"], "interrupted")
        self.assertEqual(document["parts"][0]["outcome"], "passed")
        self.assertIn("interrupted in", text)
        self.assertEqual(list(self.folder.glob("gpu_check-*")), [])

    def test_with_a_work_folder_everything_stays_there(self):
        work = self.folder / "work"
        self.assertEqual(self.check("--parts", "history", "--work", work).code, 0)
        self.assertTrue((work / "bin/nanobench").is_file())

    def test_without_a_peer_the_part_says_so(self):
        bundle = self.copy_of_bundle()
        (bundle / "peers/torch_peer.py").unlink()
        for name in ("nanobench-gpu-tests", "nanobench-gpu-bench.gz"):
            (bundle / "bin" / name).unlink()
        bench.sign(bundle)
        result = self.check("--pairs", "1", bundle=bundle)
        self.assertEqual(result.code, 4, result.text)
        self.assertEqual(result.document["outcome"], "incomplete")
        self.assertIn("there is no peer", result.part("side_by_side")["reason"])
        self.assertIn("nanobench-gpu-tests: it was not built", result.step("parity", "kernel_tests")["reason"])
        self.assertEqual(result.part("parity")["outcome"], "passed")
        self.assertFalse(result.part("parity")["is_complete"])
        named = self.check(
            "--pairs", "1", "--parts", "side_by_side", "--peer", bench.HERE / "fake_peer.py", bundle=bundle
        )
        self.assertEqual(named.code, 0, named.text)


class WithoutGpu(Machine):
    def test_what_needs_one_is_not_run_and_says_why(self):
        result = self.check("--pairs", "1", fake="no_gpu")
        self.assertEqual(result.code, 4, result.text)
        self.assertEqual(result.step("environment", "gpu")["outcome"], "not_run")
        for name in ("parity", "history", "side_by_side"):
            self.assertEqual(result.part(name)["outcome"], "not_run")
            self.assertEqual(result.part(name)["reason"], "no GPU was found: libnvidia-ml.so.1: no such file")
        self.assertEqual(result.step("micro", "gpu")["outcome"], "not_run")
        self.assertEqual(result.step("micro", "cpu")["outcome"], "passed")

    def test_parts_alone_know_it_too(self):
        result = self.check("--parts", "history", fake="no_gpu")
        self.assertEqual(result.code, 4, result.text)
        self.assertIn("no GPU was found", result.part("history")["reason"])

    def test_on_the_cpu_nothing_needs_one(self):
        result = self.check("--device", "cpu", "--pairs", "1", fake="no_gpu")
        self.assertEqual(result.code, 0, result.text)
        self.assertEqual([part["outcome"] for part in result.document["parts"]], ["passed"] * 6)
        steps = [step["name"] for part in result.document["parts"] for step in part["steps"]]
        self.assertNotIn("kernel_tests", steps)
        self.assertNotIn("gpu", steps)

    def test_the_plan_of_a_session_is_tried_without_one(self):
        out = bench.temporary_folder(type(self))
        for call, file, parts in (
            ("1", "right.json", ["environment", "parity", "records"]),
            ("2", "fast.json", ["micro", "side_by_side"]),
            ("3", "history.json", ["history"]),
        ):
            words = [
                self.bundle / "gpu_session.sh",
                call,
                out,
                "--device",
                "cpu",
                "--pairs",
                "1",
                "--python",
                self.python,
            ]
            done = bench.run(words, self.folder, FAKE="no_gpu")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            document = json.loads((out / file).read_text())
            self.assertEqual([part["name"] for part in document["parts"]], parts)
        done = bench.run([self.bundle / "gpu_session.sh", "4", out], self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage: gpu_session.sh 1|2|3 OUT", done.stderr)


class Refusals(Machine):
    def refused(self, sentence, result):
        self.assertEqual(result.code, 2, result.text + result.errors)
        self.assertIsNone(result.document)
        self.assertEqual(len(result.errors.strip().splitlines()), 1, result.errors)
        self.assertIn(sentence, result.errors)

    def test_wrong_arguments(self):
        for sentence, options in (
            ("unknown part 'speed'", ["--parts", "speed"]),
            ("expected cpu, cuda or cuda:N, got 'gpu'", ["--device", "gpu"]),
            ("expected a number of seconds from 1, got 'nan'", ["--budget", "nan"]),
            ("expected a number of seconds from 1, got '0'", ["--budget", "0"]),
            ("expected PART=SECONDS", ["--limit", "history"]),
            ("above 0, got '0'", ["--pairs", "0"]),
            ("there is no such file", ["--peer", "/no/peer.py"]),
            ("unrecognized arguments: --fast", ["--fast"]),
            ("name a file in an existing folder", ["--out", "/no/folder/x.json"]),
        ):
            self.refused(sentence, self.check(*options))

    def torch(self, **options):
        folder = bench.temporary_folder(type(self))
        bench.write_torch(folder / "site", **options)
        return bench.write_python(folder / "bin/python3", folder / "site")

    def test_another_torch(self):
        for version, cuda in (("2.10.0+cu130", "'13.0'"), ("2.11.0+cu128", "'12.8'"), ("2.11.0+cpu", "None")):
            result = bench.check(self.bundle, self.torch(version=version, cuda=cuda), self.folder)
            self.refused(f"is torch {version}, but the programs are built for 2.11.0+cu130", result)

    def test_the_cuda_version_may_stand_apart(self):
        result = bench.check(self.bundle, self.torch(version="2.11.0"), self.folder, "--parts", "environment")
        self.assertEqual(result.code, 0, result.errors)

    def test_no_torch(self):
        folder = bench.temporary_folder(type(self))
        (folder / "site").mkdir()
        python = bench.write_python(folder / "bin/python3", folder / "site")
        self.refused(
            "has no torch; name an interpreter that has it with --python", bench.check(self.bundle, python, folder)
        )

    def test_half_a_torch(self):
        python = self.torch()
        (python.parents[1] / "site/torch/lib/libtorch_cpu.so").unlink()
        self.refused("has no libtorch_cpu.so", bench.check(self.bundle, python, self.folder))

    def test_no_python(self):
        result = bench.check(self.bundle, self.folder / "no/python", self.folder)
        self.refused("name an interpreter that has torch with --python", result)

    def test_a_broken_bundle(self):
        for name, sentence in (
            ("bin/nanobench-train", "bin/nanobench-train is missing; copy the bundle here again"),
            ("manifest.json", "manifest.json cannot be read"),
            ("gpu_check/__main__.py", "gpu_check/__main__.py is missing"),
            ("lib/libsqlite3.so.0", "lib/libsqlite3.so.0 is missing"),
        ):
            bundle = self.copy_of_bundle()
            (bundle / name).unlink()
            self.refused(sentence, self.check(bundle=bundle))

    def test_a_file_that_was_cut_off(self):
        bundle = self.copy_of_bundle()
        with open(bundle / "lib/libsqlite3.so.0", "r+b") as file:
            file.truncate(1000)
        self.refused("lib/libsqlite3.so.0 was changed", self.check(bundle=bundle))

    def test_programs_that_do_not_start(self):
        bundle = self.copy_of_bundle()
        text = "#!/bin/sh\necho 'version GLIBC_9.9 not found' >&2; exit 1\n"
        bench.write_program(bundle / "bin/nanobench-train", text)
        bench.sign(bundle)
        self.refused("the programs do not start with", self.check(bundle=bundle))

    def test_the_bundles_compiler_libraries_are_taken_where_the_machines_do_not_do(self):
        bundle = self.copy_of_bundle()
        shutil.move(bundle / "bin/nanobench-train", bundle / "bin/real")
        text = '#!/bin/sh\ncase $LD_LIBRARY_PATH in */lib/compiler:*) exec "${0%/*}/real" "$@" ;; esac; exit 1\n'
        bench.write_program(bundle / "bin/nanobench-train", text)
        bench.sign(bundle)
        result = self.check("--parts", "environment", bundle=bundle)
        self.assertEqual(result.code, 0, result.errors)
        self.assertIn("lib/compiler", result.step("environment", "programs")["numbers"]["library_folders"])
        usual = self.check("--parts", "environment").step("environment", "programs")["numbers"]["library_folders"]
        self.assertNotIn("lib/compiler", usual)


class ReadOnly(Machine):
    def test_nothing_is_written_into_the_bundle(self):
        before = bench.file_digests(self.bundle)
        self.assertEqual(self.check("--pairs", "1").code, 0)
        self.assertEqual(bench.file_digests(self.bundle), before)
        self.assertEqual(list((self.folder / "home").iterdir()), [])


if __name__ == "__main__":
    unittest.main()
