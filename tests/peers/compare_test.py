"""compare: its statistics, its errors, and whole comparisons with stand-ins for the engine and for PyTorch."""

import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import engine_side  # noqa: E402 (the line above comes first)
import machine  # noqa: E402
import pairs  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402

SHAPE = {
    "seq": 256,
    "window": 128,
    "dim": 64,
    "heads": 2,
    "layers": 6,
    "vocab": 257,
    "doc_length": 0,
    "accumulate": 1,
    "threads": 2,
    "steps": 6,
}

FAKE_NANOBENCH = """#!/usr/bin/env python3
import json, sys
print(json.dumps({"model": {"rope": {}, "value_embeddings": {}}, "attention": {}, "data": {}, "run": {},
                  "schedule": {"learning_rate": {}}, "asked": sys.argv[1:]}))
"""
# Steps of 100 ms (200 with one thread), the first ten times as long.
FAKE_ENGINE = """#!/usr/bin/env python3
import json, os, sys
if sys.argv[1:] == ["--version"]:
    print("nanobench-train 9.9"); sys.exit()
if os.environ.get("FAIL") == "ours":
    sys.exit("line 1\\nthe reason")
spec = json.load(open(sys.argv[sys.argv.index("--spec") + 1]))
assert os.path.getsize(spec["train_shards"][0]) > 1024
say = lambda **event: print(json.dumps(event))
if os.environ.get("FAIL") == "hang":
    import time; time.sleep(60)
if os.environ.get("FAIL") == "event":
    say(event="failed", outcome="diverged", message="not a number"); sys.exit()
say(event="hello", engine_version="9.9")
ms = 100 if spec["threads"] > 1 else 200
for i in range(spec["config"]["run"]["stop_after"]):
    phases = {"data": 0, "forward": 30, "backward": 60, "optimizer": 10, "communication": 0}
    say(event="step", step=i, loss=5.0 - i / 10, step_ms=ms if i else 10 * ms, phases_ms=phases)
if os.environ.get("FAIL") != "cut":
    say(event="finished", peak_bytes=64 << 20)
"""
FAKE_PYTHON = """#!/usr/bin/env python3
import json, os, sys
if sys.argv[1] == "-c":
    print("3.0 2.11"); sys.exit()
if os.environ.get("FAIL") == "peer":
    sys.exit("Traceback\\nModuleNotFoundError: no torch")
if os.environ.get("FAIL") == "silent":
    sys.exit()
losses = [5.0 - i / 10 + (0.01 if os.environ.get("FAIL") == "loss" else 0) for i in range(6)]
print("warming up")
print(json.dumps({"tokens_per_s": 1280.0, "step_ms": 200.0, "loss": 3.0, "ms": 30.0, "sgemm_gflops": 100.0,
                  "losses": losses, "given": sys.argv[2:]}))
"""
FAKE_MICRO = """#!/usr/bin/env python3
import json
case = {"run_name": "attention/engine/T:256/process_time/real_time", "MFLOP": 500.0, "real_time": 10.0,
        "iterations": 7, "sgemm_GFLOP/s": 100.0}
print(json.dumps({"context": {"nanobench": "9.9", "cpu_path": "avx2"}, "benchmarks": [case]}))
"""


class Statistics(unittest.TestCase):
    def test_summary_is_median_extremes_and_spread_of_the_median(self):
        summary = pairs.summary([2.0, 1.0, 4.0])
        self.assertEqual((summary["n"], summary["median"], summary["min"], summary["max"]), (3, 2.0, 1.0, 4.0))
        self.assertEqual(summary["spread"], 1.5)

    def test_an_even_number_has_the_middle_of_both_as_its_median(self):
        self.assertEqual(pairs.summary([1.0, 2.0, 4.0, 8.0])["median"], 3.0)

    def test_one_value_has_no_spread_and_none_is_refused(self):
        summary = pairs.summary([1.5])
        self.assertIsNone(summary["spread"])
        self.assertIn("no spread", report.ratio_line({"meaning": "x", **summary}))
        with self.assertRaises(ValueError):
            pairs.summary([])

    def test_the_first_half_of_the_steps_is_warm_up(self):
        self.assertEqual(pairs.second_half([9, 9, 1, 2]), [1, 2])
        self.assertEqual(pairs.second_half([9, 1, 2]), [1, 2])
        self.assertEqual(pairs.steady_median([900, 90, 3, 1, 2]), 2)

    def test_orders(self):
        ours, peer = ("ours", "peer"), ("peer", "ours")
        self.assertEqual(pairs.orders_of_pairs(3, "ab", 1), [ours, ours, ours])
        self.assertEqual(pairs.orders_of_pairs(3, "abba", 1), [ours, peer, ours])
        drawn = pairs.orders_of_pairs(40, "random", 1)
        self.assertEqual(drawn, pairs.orders_of_pairs(40, "random", 1))
        self.assertNotEqual(drawn, pairs.orders_of_pairs(40, "random", 2))
        self.assertEqual(set(drawn), {ours, peer})


class Sides(unittest.TestCase):
    def test_documents_begin_where_the_peer_has_them(self):
        shape = {**SHAPE, "doc_length": 100, "steps": 4}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "tokens.bin"
            engine_side.write_shard(path, shape, seed=1)
            data = path.read_bytes()
        header, tokens = data[:1024], memoryview(data[1024:]).cast("H").tolist()
        self.assertEqual(int.from_bytes(header[:4], "little"), 20240520)
        self.assertEqual(int.from_bytes(header[8:12], "little"), len(tokens))
        separators = [i for i, token in enumerate(tokens) if token == 256]
        self.assertEqual(separators[:7], [0, 100, 200, 256, 356, 456, 512])

    def test_the_configuration_has_the_shape_of_the_peer(self):
        config = {"model": {"rope": {}, "value_embeddings": {}}, "attention": {}, "data": {}, "run": {}}
        config["schedule"] = {"learning_rate": {}}
        made = engine_side.overridden(config, {**SHAPE, "layers": 8, "accumulate": 3})
        self.assertEqual(made["model"]["value_embeddings"]["layer_map"], [0, 1, 2, None, None, 0, 1, 2])
        self.assertEqual(made["model"]["attention_skip_layers"], [7])
        self.assertEqual(made["data"]["sequences_per_step"], 3)
        self.assertFalse(made["attention"]["document_mask"])

    def test_a_process_that_cannot_start_is_a_failed_side(self):
        with self.assertRaisesRegex(processes.SideFailed, "could not be started"):
            processes.run("it", ["/does/not/exist"])

    def test_only_the_last_lines_of_stderr_are_shown(self):
        script = "import sys; [print('line', i, file=sys.stderr) for i in range(99)]; sys.exit(3)"
        with self.assertRaises(processes.SideFailed) as caught:
            processes.run("it", [sys.executable, "-c", script])
        self.assertIn("exit code 3", str(caught.exception))
        self.assertIn("line 98", str(caught.exception))
        self.assertNotIn("line 80", str(caught.exception))

    def test_machine_facts_can_be_written(self):
        json.dumps({"facts": machine.machine_facts(), "load": machine.load(), "git": machine.git_revision("/")})


class Program(unittest.TestCase):
    """The script itself, with stand-ins."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = pathlib.Path(folder.name)
        self.json_file = self.base / "out.json"
        for name, text in (
            ("nanobench", FAKE_NANOBENCH),
            ("nanobench-train", FAKE_ENGINE),
            ("nanobench-micro", FAKE_MICRO),
            ("python", FAKE_PYTHON),
            ("peer.py", ""),
        ):
            path = self.base / name
            path.write_text(text)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def compare(self, *arguments, fail=None, with_sides=True):
        sides = ["--bin", self.base, "--python", self.base / "python", "--peer", self.base / "peer.py"]
        command = [sys.executable, HERE / "compare", *arguments, *(sides if with_sides else [])]
        environment = {**os.environ, "FAIL": fail or ""}
        return subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, env=environment, check=False
        )

    def document(self, *arguments):
        done = self.compare(*arguments, "--json", self.json_file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, json.loads(self.json_file.read_text())

    def refused(self, sentence, *arguments, **options):
        done = self.compare(*arguments, **options)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn(sentence, done.stderr)

    def test_training_is_compared_by_the_steady_state(self):
        text, result = self.document("--pairs", "2", "--seq", "512", "--steps", "6")
        # 512 tokens in 100 ms against 1280 tokens/s; the long first step does not count.
        self.assertEqual([pair["ratio"] for pair in result["pairs"]], [4.0, 4.0])
        self.assertEqual(result["ratio"]["median"], 4.0)
        self.assertIn("median 4.000", text)
        ours = result["pairs"][0]["ours"]
        self.assertEqual(ours["samples"]["step_ms"], [1000, 100, 100, 100, 100, 100])
        self.assertEqual(ours["losses"][-1], 4.5)
        self.assertEqual(result["pairs"][0]["peer"]["loss"], 3.0)
        self.assertIn("--doc-length", result["pairs"][0]["peer"]["given"])
        for key in ("machine", "versions", "git", "commands", "argv", "shape", "started_at"):
            self.assertIn(key, result)

    def test_losses_from_the_same_weights_must_agree(self):
        text, result = self.document("--pairs", "1", "--steps", "6", "--check-loss")
        self.assertIn("6 steps: largest difference 0", text)
        self.assertEqual(result["extras"]["loss_check"]["ours"], result["extras"]["loss_check"]["peer"])
        self.failed("the losses differ by up to 0.01", "loss", "--steps", "6", "--check-loss")

    def test_the_peer_can_be_the_same_training(self):
        sides = ["--bin", self.base, "--python", self.base / "python", "--json", self.json_file]
        done = self.compare("--same-weights", "--pairs", "1", "--mode", "eager", *sides, with_sides=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(self.json_file.read_text())
        given = result["pairs"][0]["peer"]["given"]
        self.assertEqual((given[1], given[3:]), ("train", ["--mode", "eager"]))
        self.assertEqual(given[2], result["commands"]["ours"][2])

    def test_a_preset_gives_way_to_what_is_named(self):
        _, result = self.document("--preset", "8192", "--pairs", "1", "--seq", "1024")
        self.assertEqual((result["shape"]["seq"], result["shape"]["window"]), (1024, 512))
        self.assertIsNone(result["ratio"]["spread"])

    def test_both_sides_are_told_where_to_train(self):
        _, result = self.document("--pairs", "1", "--device", "cuda:1", "--dtype", "bfloat16", "--attention", "flex")
        given = " ".join(result["pairs"][0]["peer"]["given"])
        for words in ("--device cuda:1", "--dtype bfloat16", "--attention flex", "--mode compile"):
            self.assertIn(words, given)
        self.assertEqual(result["extras"]["run_spec"]["device"], "cuda:1")
        self.assertEqual(result["where"], {"device": "cuda:1", "dtype": "bfloat16", "attention": "flex"})
        _, result = self.document("--pairs", "1")
        self.assertEqual(result["extras"]["run_spec"]["device"], "cpu")

    def test_the_order_can_be_turned(self):
        _, result = self.document("--pairs", "2", "--order", "abba")
        self.assertEqual([pair["order"][0] for pair in result["pairs"]], ["ours", "peer"])

    def test_scaling_needs_no_pytorch(self):
        done = self.compare("scaling", "--pairs", "1", "--threads", "2", "--bin", self.base, with_sides=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("median 2.000", done.stdout)

    def test_operations_are_held_against_sgemm(self):
        for kind in ("attention", "muon"):
            sides = ["--bin", self.base, "--python", self.base / "python", "--json", self.json_file]
            done = self.compare(kind, "--pairs", "1", *sides, with_sides=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads(self.json_file.read_text())
            self.assertEqual(result["ratio"]["median"], 3.0)
            self.assertEqual(result["pairs"][0]["ours"]["of_sgemm"], 0.5)
            self.assertAlmostEqual(result["pairs"][0]["peer"]["of_sgemm"], 0.5 / 3)

    def test_settings_are_of_our_side(self):
        _, result = self.document("--pairs", "1", "--set", "step_graph=on", "--set", "a=b")
        self.assertEqual(result["settings"], ["step_graph=on", "a=b"])
        asked = result["extras"]["run_spec"]["config"]["asked"]
        self.assertEqual(asked[-4:], ["--set", "step_graph=on", "--set", "a=b"])
        self.assertEqual(result["sides"]["ours"], "nanobench-train step_graph=on a=b")
        self.assertNotIn("step_graph", result["sides"]["peer"] + " ".join(result["commands"]["peer"]))

    def test_wrong_arguments_are_refused_with_one_sentence(self):
        self.refused("--seq must be a multiple of 128", "--seq", "1000")
        self.refused("--layers must be even", "--layers", "7")
        self.refused("--dim must be", "--dim", "100", "--heads", "3")
        self.refused("--steps must be", "--steps", "2")
        self.refused("above 0, got '0'", "--pairs", "0")
        self.refused("above 0, got '-3'", "--pairs=-3")
        self.refused("invalid choice: '5'", "--preset", "5")
        self.refused("invalid choice: 'flex'", "flex")
        self.refused("unrecognized arguments: --fast", "--fast")
        self.refused("--threads of at least 2", "scaling", "--threads", "1", with_sides=False)
        self.refused("--doc-length", "attention", "--doc-length", "64", with_sides=False)
        self.refused("--check-loss counts for train only", "muon", "--check-loss", with_sides=False)
        self.refused("leave --peer out", "--same-weights")
        self.refused("expected cpu, cuda or cuda:N, got 'gpu'", "--device", "gpu")
        self.refused("--device counts for train only", "muon", "--device", "cuda", with_sides=False)
        self.refused("--set counts for train only", "muon", "--set", "step_graph=on", with_sides=False)
        self.refused("--dtype counts for the peer", "--check-loss", "--dtype", "bfloat16")
        self.refused("--json: the folder", "--json", self.base / "no" / "out.json")

    def test_what_is_missing_is_named(self):
        here = ["--bin", self.base]
        self.refused("nanobench-train does not exist", "--bin", "/no", with_sides=False)
        self.refused("tests/peers/setup", "--python", "/no/python", *here, with_sides=False)
        self.refused("no peer at", "--peer", "/no.py", "--python", sys.executable, *here, with_sides=False)

    def failed(self, sentence, fail, *arguments):
        done = self.compare("--pairs", "1", *arguments, fail=fail)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_side_that_fails_ends_the_comparison(self):
        self.failed("the reason", "ours")
        self.failed("no torch", "peer")
        self.failed("diverged: not a number", "event")
        self.failed("did not end within 1 s", "hang", "--timeout", "1")
        self.failed("without saying that it finished", "cut")
        self.failed("did not end its output with a line of JSON", "silent")

    def test_help_names_every_kind(self):
        done = self.compare("--help", with_sides=False)
        self.assertEqual(done.returncode, 0)
        for kind in ("train", "attention", "muon", "scaling"):
            self.assertIn(f"compare {kind}".replace("compare train", "compare [train]"), done.stdout)


if __name__ == "__main__":
    unittest.main()
