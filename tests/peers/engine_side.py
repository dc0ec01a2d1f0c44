"""Our side: makes a RunSpec (core/protocol/FORMAT.md) of the asked shape and runs nanobench-train on it."""

import array
import dataclasses
import json
import pathlib
import random
import struct
import sys

import pairs
import processes

BLOCK_TOKENS = 128
SHARD_MAGIC, SHARD_VERSION, SHARD_HEADER_INTS = 20240520, 1, 256
DEFAULT_BIN = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "bin"
SPARE_STEPS = 3  # tokens beyond those of the steps: the loader reads ahead, validation reads a sequence


class Programs:
    """The programs of one build folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def find(self, name):
        program = self.folder / name
        if not program.is_file():
            is_micro = name == "nanobench-micro"
            how = f"cmake --build --preset release --target {name}" if is_micro else "./nanobench setup"
            raise processes.UsageError(f"{program} does not exist; build it ({how}) or name its folder with --bin")
        return program


def check_shape(shape):
    """Refuses what either side could not run."""
    layers, dim, heads, vocab = shape["layers"], shape["dim"], shape["heads"], shape["vocab"]
    rules = (
        (shape["seq"] % BLOCK_TOKENS == 0, f"--seq must be a multiple of {BLOCK_TOKENS}"),
        (layers % 2 == 0 and layers >= 6, "--layers must be even and at least 6 (three value tables at both ends)"),
        (dim % heads == 0 and (dim // heads) % 4 == 0, "--dim must be a multiple of 4 x --heads"),
        (2 <= vocab <= 65536, "--vocab must be between 2 and 65536"),
        (shape["steps"] >= 4, "--steps must be at least 4: the first half is warm-up"),
        (shape["doc_length"] >= 0, "--doc-length must not be negative"),
    )
    for is_kept, sentence in rules:
        if not is_kept:
            raise processes.UsageError(sentence)


def overridden(config, shape):
    """record17's configuration at `shape`: one constant window, no cooldown, no validation between the steps."""
    layers, seq, steps = shape["layers"], shape["seq"], shape["steps"]
    model, attention, data = config["model"], config["attention"], config["data"]
    model.update(num_layers=layers, num_heads=shape["heads"], num_kv_heads=shape["heads"], model_dim=shape["dim"])
    model["vocab_size"] = shape["vocab"]
    model["rope"]["max_seq_len"] = seq
    model["value_embeddings"]["layer_map"] = [0, 1, 2] + [None] * (layers - 6) + [0, 1, 2]
    model["attention_skip_layers"] = [7] if layers > 7 else []
    attention.update(block_size=BLOCK_TOKENS, document_mask=shape["doc_length"] > 0)
    attention["document_separator"] = shape["vocab"] - 1
    attention["window"] = {
        "granularity": "token",
        "half_layers": [],
        "schedule": {"type": "constant", "tokens": shape["window"]},
    }
    data.update(sequence_length=seq, sequences_per_step=shape["accumulate"], ranks=1)
    data.update(val_sequence_length=seq, val_sequences=1)
    config["schedule"]["num_steps"] = steps
    config["schedule"]["learning_rate"]["cooldown_steps"] = 0
    config["run"].update(stop_after=steps, val_every=steps, untimed_steps=2)
    config["name"] = "side by side with record17"
    return config


def write_shard(path, shape, seed):
    """Random tokens; with --doc-length the separator opens a document at those places of every sequence, no other."""
    seq, vocab, doc_length = shape["seq"], shape["vocab"], shape["doc_length"]
    count = seq * shape["accumulate"] * (shape["steps"] + SPARE_STEPS) + 1
    generator = random.Random(seed)
    tokens = array.array("H", generator.choices(range(vocab - 1), k=count))
    if doc_length:
        for begin in range(0, count, seq):
            for place in range(begin, min(begin + seq, count), doc_length):
                tokens[place] = vocab - 1
    if sys.byteorder == "big":
        tokens.byteswap()
    header = [SHARD_MAGIC, SHARD_VERSION, count] + [0] * (SHARD_HEADER_INTS - 3)
    path.write_bytes(struct.pack(f"<{SHARD_HEADER_INTS}i", *header) + tokens.tobytes())


@dataclasses.dataclass(frozen=True)
class Where:
    device: str = "cpu"
    dtype: str = "float32"  # of activations; bfloat16 brings all the casts of the record's real run
    settings: tuple = ()  # FEATURE=VALUE, beyond the record's own


def make_spec(programs, shape, folder, seed, where=Where()):
    """Writes the tokens and the RunSpec into `folder`; returns the RunSpec's path."""
    scale = "nano" if where.dtype == "float32" else "official"
    settings = [word for setting in where.settings for word in ("--set", setting)]
    shown = processes.run(
        "nanobench show", [programs.find("nanobench"), "show", "record17", "--scale", scale, "--config", *settings]
    )
    shard, spec_file = folder / "tokens.bin", folder / "run.json"
    write_shard(shard, shape, seed)
    spec = {
        "protocol": 1,
        "run_id": "side-by-side",
        "config": overridden(json.loads(shown.stdout), shape),
        "seed": seed,
        "dtype": "float32",
        "threads": shape["threads"],
        "device": where.device,
        "train_shards": [str(shard)],
        "val_shards": [str(shard)],
    }
    spec_file.write_text(json.dumps(spec, indent=1), encoding="utf-8")
    return spec_file


def _copy_with(spec_file, name, **changes):
    spec = {**json.loads(spec_file.read_text(encoding="utf-8")), **changes}
    copy = spec_file.with_name(name)
    copy.write_text(json.dumps(spec, indent=1), encoding="utf-8")
    return copy


def with_threads(spec_file, threads):
    """A copy of the RunSpec for another number of threads, beside it."""
    return _copy_with(spec_file, f"run_{threads}_threads.json", threads=threads)


def with_init_file(spec_file):
    """A copy of the RunSpec that begins from a file, which is yet to be written, beside it."""
    return _copy_with(spec_file, "run_from_file.json", init_file=str(spec_file.with_name("initial.safetensors")))


def reason_in(text):
    """Outcome and message of a run that failed, from its events; None without them."""
    for line in reversed(text.splitlines()):
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        if event.get("event") == "failed":
            return f"{event['outcome']}: {event['message']}"
    return None


def parse_events(text, tokens_per_step):
    """The steady state of a run from its events. Raises SideFailed when it did not finish."""
    try:
        events = [json.loads(line) for line in text.splitlines() if line]
    except json.JSONDecodeError as error:
        raise processes.SideFailed(f"nanobench-train wrote a line that is not JSON: {error}") from error
    reason = reason_in(text)
    if reason:
        raise processes.SideFailed(f"nanobench-train: {reason}")
    steps = [event for event in events if event["event"] == "step"]
    finished = [event for event in events if event["event"] == "finished"]
    if not steps or not finished:
        raise processes.SideFailed("nanobench-train ended without saying that it finished")
    phases = {f"{phase}_ms": [step["phases_ms"][phase] for step in steps] for phase in steps[0]["phases_ms"]}
    samples = {"step_ms": [step["step_ms"] for step in steps], **phases}
    result = {name: round(pairs.steady_median(values), 3) for name, values in samples.items()}
    result["tokens_per_s"] = round(1e3 * tokens_per_step / pairs.steady_median(samples["step_ms"]), 1)
    result["loss"] = steps[-1]["loss"]
    result["peak_mib"] = finished[-1]["peak_bytes"] >> 20
    hello = next((event for event in events if event["event"] == "hello"), {})
    return {**result, "samples": samples, "losses": [step["loss"] for step in steps], "hello": hello}


def run_engine(programs, spec_file, shape):
    command = [programs.find("nanobench-train"), "--spec", spec_file]
    execution = processes.run("nanobench-train", command, reason_in=reason_in)
    return {**parse_events(execution.stdout, shape["seq"] * shape["accumulate"]), **execution.measurements()}


def version(programs):
    return processes.run("nanobench-train", [programs.find("nanobench-train"), "--version"]).stdout.strip()
