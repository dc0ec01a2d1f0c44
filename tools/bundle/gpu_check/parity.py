"""Part `parity`: the GPU computes the right numbers: its kernels, the golden cases, and whole runs against the CPU's."""

import bundle
import golden
import kernel_tests
import pairs_of_devices

# Enough to show that the check itself works: on a CPU, the source tests are decisive.
CPU_CASES = ("record12", "record17")
CPU_PAIRS = ("record17/float32", "record17/bfloat16")


def run(part):
    settings = part.settings
    if settings.is_gpu:
        part.step("kernel_tests", kernel_tests.run, needs_gpu=True)
    for case in [case for case in bundle.golden_cases() if settings.is_gpu or case in CPU_CASES]:
        for dtype in ("float64", "float32"):
            part.step(f"golden/{case}/{dtype}", golden.check, case, dtype, settings.device, needs_gpu=settings.is_gpu)
    for pair in [pair for pair in pairs_of_devices.PAIRS if settings.is_gpu or pair.name in CPU_PAIRS]:
        part.step(f"pair/{pair.name}", pairs_of_devices.check, pair, needs_gpu=settings.is_gpu)
