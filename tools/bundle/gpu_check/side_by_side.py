"""Part `side_by_side`: whole training steps, ours and the peer's in turn at one shape; the ratio of their tokens/s."""

import json

import bundle
import processes
from problems import Failed, NotRun

PEER = "peers/torch_peer.py"
# One GPU, the official model and its whole batch, eight sequences of 64k tokens: with fewer, the optimisers' share of a
# step would be larger than in a record.
GPU_SHAPE = {"seq": 65536, "window": 1024, "dim": 768, "heads": 6, "layers": 12, "vocab": 50257, "accumulate": 8}
GPU_SHAPE.update(steps=6)
# Our variants measured besides the unchanged record: each against the peer, in its own runs.
WARPGROUP, GRAPH = "attention_products=warpgroup", "step_graph=on"
GPU_VARIANTS = {"train": (), "train_warpgroup": (WARPGROUP,), "train_warpgroup_graph": (WARPGROUP, GRAPH)}
UNSUPPORTED = "nanobench-train: unsupported: "
CPU_SHAPE = {"seq": 256, "window": 128, "dim": 64, "heads": 2, "layers": 6, "vocab": 257, "accumulate": 1, "steps": 4}


def peer_script(settings):
    if settings.peer:
        return settings.peer
    if bundle.has_file(PEER):
        return str(bundle.HERE / PEER)
    raise NotRun("there is no peer: the bundle was made without one; name it with --peer FILE")


def comparison_command(part, file, variant):
    settings = part.settings
    is_gpu = settings.is_gpu
    shape = GPU_SHAPE if is_gpu else CPU_SHAPE
    command = [settings.python, "-B", bundle.HERE / "peers/compare", "train", "--bin", settings.programs.folder]
    command += ["--python", settings.python, "--peer", peer_script(settings), "--json", file]
    command += ["--pairs", settings.pairs, "--timeout", max(1, int(part.remaining()))]
    for name, value in shape.items():
        command += [f"--{name}", value]
    for setting in variant:
        command += ["--set", setting]
    if is_gpu:
        return command + [
            "--device",
            settings.device,
            "--dtype",
            "bfloat16",
            "--attention",
            "flex",
            "--mode",
            "compile",
        ]
    return command + ["--mode", "eager"]


def _rates(document):
    for index, pair in enumerate(document["pairs"], start=1):
        ours, peer = pair["ours"], pair["peer"]
        yield {
            "pair": index,
            "first": pair["order"][0],
            "ratio": pair["ratio"],
            **{f"ours_{key}": ours.get(key) for key in ("tokens_per_s", "step_ms", "peak_mib")},
            **{f"peer_{key}": peer.get(key) for key in ("tokens_per_s", "step_ms", "peak_mib")},
        }


def compare(part, variant):
    file = part.folder / "comparison.json"
    file.unlink(missing_ok=True)
    finished = processes.run(comparison_command(part, file, variant), part)
    problem = processes.how_it_ended("the comparison", finished)
    if problem:
        if UNSUPPORTED in finished.stderr:
            raise NotRun(finished.stderr.rsplit(UNSUPPORTED, 1)[1].splitlines()[0])
        raise Failed(problem + processes.last_line(finished))
    document = json.loads(file.read_text(encoding="utf-8"))
    ratio = document["ratio"]
    numbers = {key: ratio[key] for key in ("median", "min", "max", "spread", "n")}
    numbers.update(meaning=ratio["meaning"], **{f"shape_{key}": value for key, value in document["shape"].items()})
    numbers.update(sides=f"{document['sides']['ours']}; {document['sides']['peer']}")
    return numbers, list(_rates(document))


def run(part):
    for name, variant in GPU_VARIANTS.items() if part.settings.is_gpu else [("train", ())]:
        part.step(name, compare, variant, needs_gpu=part.settings.is_gpu)
