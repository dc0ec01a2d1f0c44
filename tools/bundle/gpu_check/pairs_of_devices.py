"""The same training on the GPU and on the CPU, from the same seed: how far apart their losses are."""

import dataclasses

import training
from golden import loss_error
from problems import Failed

STEPS = 8
# Relative, for the losses. Rounding differs between the two, and training amplifies the difference.
FLOAT32_TOLERANCE = 5e-6
FLOAT64_TOLERANCE = 1e-10
BFLOAT16_TOLERANCE = 3e-3
# If the CPU's own two ways of computing (fused kernels, and one operation after the other) differ by more, ten times that.
SPREAD_FACTOR = 10.0


@dataclasses.dataclass(frozen=True)
class Pair:
    name: str
    record: str
    dtype: str
    tolerance: float
    is_bfloat16: bool = False


PAIRS = (
    Pair("record8/float32", "record8", "float32", FLOAT32_TOLERANCE),
    Pair("record12/float32", "record12", "float32", FLOAT32_TOLERANCE),
    Pair("record17/float32", "record17", "float32", FLOAT32_TOLERANCE),
    Pair("record17/float64", "record17", "float64", FLOAT64_TOLERANCE),
    Pair("record18/float32", "record18", "float32", FLOAT32_TOLERANCE),
    Pair("record21/float32", "record21", "float32", FLOAT32_TOLERANCE),
    Pair("record17/bfloat16", "record17", "float32", BFLOAT16_TOLERANCE, is_bfloat16=True),
)


def round_as_the_record(config, official):
    """In bfloat16 with the record's own casts, and heads as wide as the GPU's attention requires."""
    config["precision"] = official["precision"]
    muon = official["optimizer"]["hidden_matrices"]
    config["optimizer"]["hidden_matrices"].update({key: muon[key] for key in ("ns_dtype",) if key in muon})
    config["model"].update(model_dim=128, num_heads=2, num_kv_heads=2)


def configuration(part, pair):
    """Small enough for a CPU."""
    config = training.suite_config(part, pair.record, "smoke", STEPS)
    if pair.is_bfloat16:
        round_as_the_record(config, training.show_config(part, pair.record, "official"))
    return config


def losses(trace):
    validations = [trace["val_losses"][step] for step in sorted(trace["val_losses"], key=int)]
    return [*trace["train_losses"], *validations]


def distance(one, other):
    return max(loss_error(a, b) for a, b in zip(losses(one), losses(other), strict=True))


def check(part, pair):
    config = configuration(part, pair)

    def run(device, kernels):
        name = f"{pair.name} on {device}, {kernels}"
        return training.train(part, config, name, device, dtype=pair.dtype, kernels=kernels).require_completed()

    fused, reference = run("cpu", "fused"), run("cpu", "reference")
    spread = distance(fused.trace, reference.trace)
    numbers = {"cpu_fused_to_reference": spread, "tolerance": pair.tolerance}
    if part.settings.is_gpu:
        gpu = run(part.settings.device, "fused")
        numbers.update(gpu_to_cpu=distance(gpu.trace, fused.trace))
        numbers.update(tolerance=max(pair.tolerance, SPREAD_FACTOR * spread), gpu_seconds=gpu.seconds)
        sides, what = (gpu.trace, fused.trace), "the GPU and the CPU"
    else:
        sides, what = (fused.trace, reference.trace), "the CPU's fused and reference kernels"
    apart = distance(*sides)
    rows = [
        {"step": step, "one": a, "other": b}
        for step, (a, b) in enumerate(zip(*(side["train_losses"] for side in sides)))
    ]
    if not apart <= numbers["tolerance"]:
        raise Failed(f"the losses of {what} differ by {apart:.2g}, more than {numbers['tolerance']:.2g}", numbers, rows)
    return numbers, rows
