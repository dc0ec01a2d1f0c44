"""How far a run is from a golden case: the errors of its README, by kind."""

import json
import math

import bundle
import training
from problems import Failed


def expectations(case):
    return json.loads((bundle.HERE / "golden" / case / "expected.json").read_text(encoding="utf-8"))


def loss_error(got, expected):
    """Relative error; infinite if a loss is not a number."""
    if got is None or not math.isfinite(got):
        return math.inf
    return abs(got - expected) / abs(expected)


def summary_error(got, expected, count):
    if any(value is None for value in got.values()):
        return math.inf
    if expected["l2"] == 0:
        return abs(got["l2"])
    scale = expected["l2"]
    difference = {key: abs(got[key] - expected[key]) for key in ("l2", "sum", "probe")}
    return max(
        difference["l2"] / scale,
        difference["sum"] / (math.sqrt(count) * scale),
        difference["probe"] / (math.sqrt(count) * scale),
    )


class Errors:
    """Largest error of a run's trace, by kind."""

    def __init__(self, trace, expected):
        truth, counts = expected["float64"], expected["element_counts"]
        self.by_kind, self._ignored = {}, set(expected["ignored_parameters"])
        self._add_losses(trace, truth)
        activations = "activations_step_0_sequence_0"
        self._add_summaries("activations", trace[activations], truth[activations], counts["activations"], False)
        for step, gradients in truth["gradients"].items():
            kind = f"gradients_step_{step}"
            self._add_summaries(kind, trace["gradients"][step], gradients, counts["parameters"], True)
        final = "final_parameters"
        self._add_summaries(final, trace[final], truth[final], counts["parameters"], True)

    def _add(self, kind, error):
        self.by_kind[kind] = max(self.by_kind.get(kind, 0.0), error)

    def _add_losses(self, trace, truth):
        for got, expected in zip(trace["train_losses"], truth["train_losses"], strict=True):
            self._add("train_losses", loss_error(got, expected))
        for got, expected in zip(trace["sequence_losses"], truth["sequence_losses"], strict=True):
            for one, other in zip(got, expected, strict=True):
                self._add("train_losses", loss_error(one, other))
        for step, loss in truth["val_losses"].items():
            self._add("val_losses", loss_error(trace["val_losses"][step], loss))

    def _add_summaries(self, kind, got, expected, counts, has_groups):
        for name, summary in expected.items():
            if has_groups and name in self._ignored:
                continue
            suffix = "" if not has_groups else "_matrices" if name.endswith(".weight") else "_scalars"
            self._add(kind + suffix, summary_error(got[name], summary, counts[name]))


def check(part, case, dtype, device):
    """Trains the case and compares every kind of error with its tolerance."""
    config = bundle.HERE / "golden" / case / "config.json"
    answer = training.train(part, config, f"{case} in {dtype}", device, dtype=dtype).require_completed()
    expected = expectations(case)
    errors = Errors(answer.trace, expected).by_kind
    rows = []
    for kind, tolerance in expected["tolerance"][dtype].items():
        error = errors.get(kind, math.inf)
        rows.append({"kind": kind, "error": error, "tolerance": tolerance, "is_within": error <= tolerance})
    numbers = {"largest_share_of_tolerance": max(row["error"] / row["tolerance"] for row in rows)}
    beyond = [
        f"{row['kind']} {row['error']:.2g} (allowed {row['tolerance']:.2g})" for row in rows if not row["is_within"]
    ]
    if beyond:
        raise Failed(f"{case} in {dtype} exceeds its tolerances: " + ", ".join(beyond), numbers, rows)
    return numbers, rows
