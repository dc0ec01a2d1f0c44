"""The same training on the GPU and on the CPU, from the same seed: how far apart their losses are."""

import dataclasses

import training
from golden import loss_error
from problems import Failed

STEPS = 8


@dataclasses.dataclass(frozen=True)
class Pair:
    name: str
    record: str
    dtype: str
    # Relative, for the losses. Rounding differs between the two, and training amplifies the difference. If the CPU's
    # own two ways of computing (fused kernels, and one operation after the other) differ by more, the tolerance is ten
    # times that.
    tolerance: float
    is_bfloat16: bool = False


PAIRS = (
    Pair("record8/float32", "record8", "float32", 5e-6),
    Pair("record12/float32", "record12", "float32", 5e-6),
    Pair("record17/float32", "record17", "float32", 5e-6),
    Pair("record17/float64", "record17", "float64", 1e-10),
    Pair("record18/float32", "record18", "float32", 5e-6),
    Pair("record21/float32", "record21", "float32", 5e-6),
    Pair("record17/bfloat16", "record17", "float32", 3e-3, is_bfloat16=True),
)
SPREAD_FACTOR = 10.0
PRECISION_OF = "official"


def configuration(part, pair):
    """Small enough for a CPU. In bfloat16 with the record's own casts, and heads as wide as the GPU's attention requires."""
    config = training.suite_config(part, pair.record, "smoke", STEPS)
    if pair.is_bfloat16:
        official = training.show_config(part, pair.record, "official")
        config["precision"] = official["precision"]
        config["optimizer"]["hidden_matrices"]["ns_dtype"] = official["optimizer"]["hidden_matrices"]["ns_dtype"]
        config["model"].update(model_dim=128, num_heads=2, num_kv_heads=2)
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
