"""What can be compared: for each kind, how a side is run, what its rate is, and the columns to show."""

import json

import engine_side
import processes
import torch_side


class TrainComparison:
    """Whole training steps against the peer."""

    ratio_meaning = "our tokens/s over the peer's"
    columns = (("tokens/s", "tokens_per_s", ".0f"), ("step ms", "step_ms", ".2f"), ("loss", "loss", ".4f"))

    def __init__(self, arguments, shape, folder):
        self.shape = shape
        self.names = {"ours": "nanobench-train", "peer": f"PyTorch, {arguments.mode}"}
        self._mode = arguments.mode
        self._programs = engine_side.Programs(arguments.bin)
        self._torch = torch_side.Torch(arguments.python)
        self._peer = torch_side.find_peer(arguments.peer)
        self._programs.find("nanobench-train")
        self._spec = engine_side.make_spec(self._programs, shape, folder, arguments.seed)
        self.versions = {"engine": engine_side.version(self._programs), **self._torch.versions()}
        self.commands = {
            "ours": [str(self._programs.find("nanobench-train")), "--spec", "run.json"],
            "peer": [str(self._torch.python), str(self._peer), *torch_side.peer_arguments(shape, self._mode)],
        }
        self.extras = {"run_spec": json.loads(self._spec.read_text(encoding="utf-8"))}

    def run(self, side):
        if side == "ours":
            return engine_side.run_engine(self._programs, self._spec, self.shape)
        return torch_side.run_peer(self._torch, self._peer, self.shape, self._mode)

    def ratio(self, ours, peer):
        return ours["tokens_per_s"] / peer["tokens_per_s"]

    def describe(self, pair):
        return f"{pair['ours']['tokens_per_s']:.0f} and {pair['peer']['tokens_per_s']:.0f} tokens/s, {pair['ratio']:.2f}x"


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
        self.commands = {side: [program, "--spec", file.name] for side, file in self._specs.items()}
        self.extras = {"run_spec": json.loads(spec.read_text(encoding="utf-8"))}

    def run(self, side):
        return engine_side.run_engine(self._programs, self._specs[side], self.shape)

    def ratio(self, ours, peer):
        return ours["tokens_per_s"] / peer["tokens_per_s"]

    describe = TrainComparison.describe


KINDS = {"train": TrainComparison, "scaling": ScalingComparison}
