"""What a measurement must say of the machine and the programs it was made with."""

import os
import pathlib
import platform
import subprocess

# What decides which kernels a library takes.
INTERESTING_FLAGS = ("avx2", "fma", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_tile")
INTERESTING_VARIABLES = ("OMP_", "GOMP_", "MKL_", "KMP_", "TORCH", "ATEN_", "NANOBENCH_", "LD_")


def _cpu_info():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    info = {}
    for key, value in pairs:
        info.setdefault(key.strip(), value.strip())
    return info


def _memory_mib():
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (OSError, ValueError):
        return None


def machine_facts():
    info = _cpu_info()
    present = set(info.get("flags", info.get("Features", "")).split())
    return {
        "cpu": info.get("model name", platform.processor() or platform.machine()),
        "cores": os.cpu_count(),
        "flags": {flag: flag in present for flag in INTERESTING_FLAGS},
        "is_virtual": "hypervisor" in present,
        "memory_mib": _memory_mib(),
        "system": f"{platform.system()} {platform.release()}",
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith(INTERESTING_VARIABLES)},
    }


def git_revision(root):
    """The checkout's revision and whether files differ from it; None outside of a checkout."""

    def git(*arguments):
        return subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        return {"revision": git("rev-parse", "HEAD"), "is_dirty": git("status", "--porcelain", "-uno") != ""}
    except (OSError, subprocess.CalledProcessError):
        return None


def load():
    """Load averages and the number of runnable threads other than the caller's."""
    try:
        one, five, fifteen = os.getloadavg()
        runnable = int(pathlib.Path("/proc/loadavg").read_text(encoding="ascii").split()[3].split("/")[0]) - 1
    except (OSError, ValueError, IndexError):
        return None
    return {"load_1min": one, "load_5min": five, "load_15min": fifteen, "other_runnable": runnable}
