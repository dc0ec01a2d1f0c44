"""The other side: an interpreter with PyTorch, the peer's command, its answer."""

import glob
import json
import os
import pathlib

import processes

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEFAULT_PYTHON = ROOT / ".deps" / "peer" / "bin" / "python"
SAME_WEIGHTS = HERE / "same_weights.py"
DEFAULT_PEER = HERE / "torch_peer.py"


class Torch:
    """An interpreter that has PyTorch, with the libraries that `import torch` needs on its path."""

    def __init__(self, python):
        self.python = pathlib.Path(python or DEFAULT_PYTHON)
        if not self.python.is_file():
            raise processes.UsageError(
                f"{self.python} does not exist; tests/peers/setup makes an environment with PyTorch, or name an "
                "interpreter with --python"
            )
        self.environment = {"LD_LIBRARY_PATH": self._library_path()}

    def _library_path(self):
        """The CUDA build of PyTorch loads these even where there is no GPU."""
        beside = sorted(glob.glob(str(self.python.parent.parent / "lib/python3*/site-packages/nvidia/*/lib")))
        toolkit = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "lib64"
        known = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
        return ":".join(dict.fromkeys([*known, *beside, *([str(toolkit)] if toolkit.is_dir() else [])]))

    def run(self, name, script, arguments):
        """Runs a script whose last line of output is a JSON object; returns that object."""
        execution = processes.run(name, [self.python, "-B", script, *arguments], self.environment)
        try:
            result = json.loads(execution.stdout.strip().splitlines()[-1])
        except (IndexError, json.JSONDecodeError) as error:
            raise processes.SideFailed(f"{name} did not end its output with a line of JSON") from error
        if not isinstance(result, dict):
            raise processes.SideFailed(f"{name} did not end its output with a JSON object")
        return {**result, **execution.measurements()}

    def versions(self):
        script = "import platform, torch; print(platform.python_version(), torch.__version__)"
        execution = processes.run("PyTorch", [self.python, "-c", script], self.environment)
        python, torch = execution.stdout.split()
        return {"peer_python": python, "torch": torch}


def find_peer(file):
    """The script that --peer names, or the default one."""
    peer = pathlib.Path(file) if file else DEFAULT_PEER
    if not peer.is_file():
        raise processes.UsageError(f"no peer at {peer}; name a script with --peer, or take --same-weights")
    return peer.resolve()


def peer_arguments(shape, mode, where, attention):
    arguments = ["--mode", mode, "--device", where.device, "--dtype", where.dtype, "--attention", attention]
    for name in ("seq", "dim", "heads", "layers", "vocab", "window", "accumulate", "threads", "steps"):
        arguments += [f"--{name}", str(shape[name])]
    return arguments + ["--doc-length", str(shape["doc_length"])]


def run_peer(torch, script, arguments):
    result = torch.run("the peer", script, arguments)
    if not isinstance(result.get("tokens_per_s"), (int, float)) or result["tokens_per_s"] <= 0:
        raise processes.SideFailed(f"the peer's answer has no tokens_per_s: {json.dumps(result)[:200]}")
    return result
