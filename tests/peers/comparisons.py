"""What can be compared: for each kind, how a side is run, what its rate is, and the columns to show."""

import json

import engine_side
import processes
import torch_side

LOSS_TOLERANCE = 1e-4  # nats per token, float32


class TrainComparison:
    """Whole training steps against the peer, or (--same-weights) against our own script on the very same training."""

    ratio_meaning = "our tokens/s over the peer's"
    columns = (("tokens/s", "tokens_per_s", ".0f"), ("step ms", "step_ms", ".2f"), ("loss", "loss", ".5f"))

    def __init__(self, arguments, shape, folder):
        self.shape = shape
        mode = arguments.mode or "compile"
        self._programs = engine_side.Programs(arguments.bin)
        program = self._programs.find("nanobench-train")
        self._torch = torch_side.Torch(arguments.python)
        if arguments.same_weights and arguments.peer:
            raise processes.UsageError("--same-weights has a peer of its own; leave --peer out")
        peer = torch_side.SAME_WEIGHTS if arguments.same_weights else torch_side.find_peer(arguments.peer)
        where = engine_side.Where(arguments.device, arguments.dtype, tuple(arguments.settings))
        spec = engine_side.make_spec(self._programs, shape, folder, arguments.seed, where)
        self.versions = {"engine": engine_side.version(self._programs), **self._torch.versions()}
        self.extras = {"run_spec": json.loads(spec.read_text(encoding="utf-8"))}
        if arguments.same_weights or arguments.check_loss:
            same_spec = engine_side.with_init_file(spec)
            self._torch.run("same_weights.py", torch_side.SAME_WEIGHTS, ["init", same_spec])
            spec = same_spec if arguments.same_weights else spec
        if arguments.check_loss:
            self.extras["loss_check"] = self._check_loss(same_spec)
        self._spec, self._peer = spec, peer
        self._peer_arguments = (
            ["train", str(spec), "--mode", mode]
            if arguments.same_weights
            else torch_side.peer_arguments(shape, mode, where, arguments.attention)
        )
        self.names = {"ours": " ".join(["nanobench-train", *where.settings]), "peer": f"PyTorch, {peer.name}, {mode}"}
        self.commands = {
            "ours": [str(program), "--spec", str(spec)],
            "peer": [str(self._torch.python), str(peer), *self._peer_arguments],
        }

    def _check_loss(self, spec):
        """Both train from the same weights on the same tokens; their losses must agree at every step."""
        ours = engine_side.run_engine(self._programs, spec, self.shape)["losses"]
        peer = self._torch.run("same_weights.py", torch_side.SAME_WEIGHTS, ["train", spec])["losses"]
        largest = max(abs(a - b) for a, b in zip(ours, peer, strict=True))
        result = {"tolerance": LOSS_TOLERANCE, "largest_difference": largest, "ours": ours, "peer": peer}
        if not largest <= LOSS_TOLERANCE:
            shown = "; ".join(f"{a:.6f} and {b:.6f}" for a, b in zip(ours, peer))
            raise processes.SideFailed(
                f"from the same weights the losses differ by up to {largest:.2g}, more than {LOSS_TOLERANCE}: {shown}"
            )
        return result

    def run(self, side):
        if side == "ours":
            return engine_side.run_engine(self._programs, self._spec, self.shape)
        return torch_side.run_peer(self._torch, self._peer, self._peer_arguments)

    def ratio(self, ours, peer):
        return ours["tokens_per_s"] / peer["tokens_per_s"]

    def describe(self, pair):
        ours, peer = (pair[side]["tokens_per_s"] for side in ("ours", "peer"))
        return f"{ours:.0f} and {peer:.0f} tokens/s, {pair['ratio']:.2f}x"


class ScalingComparison:
    """nanobench-train against itself on one thread."""

    ratio_meaning = "tokens/s with all threads over tokens/s with one"
    columns = TrainComparison.columns

    def __init__(self, arguments, shape, folder):
        if shape["threads"] < 2:
            raise processes.UsageError("scaling needs --threads of at least 2")
        self.shape = shape
        self.names = {"ours": f"{shape['threads']} threads", "peer": "1 thread"}
        self._programs = engine_side.Programs(arguments.bin)
        self._programs.find("nanobench-train")
        spec = engine_side.make_spec(self._programs, shape, folder, arguments.seed)
        self._specs = {"ours": spec, "peer": engine_side.with_threads(spec, 1)}
        self.versions = {"engine": engine_side.version(self._programs)}
        program = str(self._programs.find("nanobench-train"))
        self.commands = {side: [program, "--spec", str(file)] for side, file in self._specs.items()}
        self.extras = {"run_spec": json.loads(spec.read_text(encoding="utf-8"))}

    def run(self, side):
        return engine_side.run_engine(self._programs, self._specs[side], self.shape)

    def ratio(self, ours, peer):
        return ours["tokens_per_s"] / peer["tokens_per_s"]

    describe = TrainComparison.describe


class OperationComparison:
    """One operation alone: a case of nanobench-micro against a small PyTorch script. Both take the mean over about
    SECONDS of calls, and the rate of float32 matrix products in the same process.
    """

    SECONDS = 1.0
    ratio_meaning = "the peer's time over ours"
    columns = (
        ("ms", "ms", ".3f"),
        ("GFLOP/s", "gflops", ".1f"),
        ("sgemm", "sgemm_gflops", ".1f"),
        ("of sgemm", "of_sgemm", ".3f"),
    )

    def __init__(self, arguments, shape, operation, script, fields, peer_options):
        if shape["doc_length"]:
            raise processes.UsageError(f"--doc-length counts for whole training steps, not for {operation}")
        self.shape = {name: shape[name] for name in (*fields, "threads")}
        micro = engine_side.Programs(arguments.bin).find("nanobench-micro")
        self._torch = torch_side.Torch(arguments.python)
        options = [text for name, value in self.shape.items() for text in (f"--{name}", str(value))]
        case = f"--benchmark_filter=^{operation}/engine/"
        self.commands = {
            "ours": [str(micro), *options, case, "--benchmark_format=json", f"--benchmark_min_time={self.SECONDS}"],
            "peer": [str(self._torch.python), str(torch_side.HERE / script), *peer_options],
        }
        self.commands["peer"] += ["--threads", str(shape["threads"]), "--seconds", str(self.SECONDS)]
        # Google Benchmark's last word counts: one call, to know that the case is there and what its work is.
        first = self._run_micro([*self.commands["ours"], "--benchmark_min_time=0"])
        self._mflop = first["mflop"]
        self.names = {"ours": "nanobench-micro " + first["case"], "peer": f"PyTorch, {script}"}
        self.versions = {"nanobench-micro": first["version"], **self._torch.versions()}
        self.extras = {"mflop": self._mflop, "cpu_path": first["cpu_path"]}

    @staticmethod
    def _run_micro(command):
        execution = processes.run("nanobench-micro", command)
        try:
            answer = json.loads(execution.stdout)
            [case] = answer["benchmarks"]
            if case.get("error_occurred"):
                raise processes.SideFailed(f"nanobench-micro: {case['name']}: {case['error_message']}")
            return {
                "case": case["run_name"].split("/process_time")[0],
                "version": answer["context"]["nanobench"],
                "cpu_path": answer["context"]["cpu_path"],
                "mflop": case["MFLOP"],
                "ms": case["real_time"],
                "iterations": case["iterations"],
                "sgemm_gflops": case["sgemm_GFLOP/s"],
                **execution.measurements(),
            }
        except (json.JSONDecodeError, KeyError, ValueError) as error:
            raise processes.SideFailed(f"nanobench-micro: one case was expected in its JSON ({error!r})") from error

    def run(self, side):
        if side == "ours":
            result = self._run_micro(self.commands["ours"])
        else:
            result = self._torch.run("the peer", self.commands["peer"][1], self.commands["peer"][2:])
        result["gflops"] = self._mflop / result["ms"]
        result["of_sgemm"] = result["gflops"] / result["sgemm_gflops"]
        return result

    def ratio(self, ours, peer):
        return peer["ms"] / ours["ms"]

    def describe(self, pair):
        ours, peer = pair["ours"], pair["peer"]
        shares = f"{100 * ours['of_sgemm']:.0f} and {100 * peer['of_sgemm']:.0f} % of sgemm"
        return f"{ours['ms']:.2f} and {peer['ms']:.2f} ms, {shares}, {pair['ratio']:.2f}x"


class AttentionComparison(OperationComparison):
    """Forward and backward under a causal window, without documents."""

    def __init__(self, arguments, shape, _folder):
        if arguments.mode:
            raise processes.UsageError("--mode does not count for attention: its peer is one call of PyTorch")
        fields = ("seq", "window", "dim", "heads")
        head_dim = shape["dim"] // shape["heads"]
        options = ["--seq", str(shape["seq"]), "--window", str(shape["window"])]
        options += ["--heads", str(shape["heads"]), "--head-dim", str(head_dim)]
        super().__init__(arguments, shape, "attention", "attention_peer.py", fields, options)


class MuonComparison(OperationComparison):
    """Both sides are credited with full products, also where one computes half of a symmetric one."""

    def __init__(self, arguments, shape, _folder):
        options = ["--dim", str(shape["dim"]), "--layers", str(shape["layers"])]
        options += ["--mode", arguments.mode or "eager"]
        super().__init__(arguments, shape, "muon", "muon_peer.py", ("dim", "layers"), options)


KINDS = {
    "train": TrainComparison,
    "scaling": ScalingComparison,
    "attention": AttentionComparison,
    "muon": MuonComparison,
}
