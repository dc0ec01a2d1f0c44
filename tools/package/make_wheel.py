#!/usr/bin/env python3
"""Makes a wheel of the built programs: pip installs it where there is no compiler (docs/package.md).

make_wheel.py --build BUILD FOLDER
"""

import base64
import hashlib
import json
import os
import pathlib
import sys
import tempfile
import zipfile

sys.dont_write_bytecode = True

import staging  # noqa: E402 (the line above comes first)
from platform_tag import UnknownVersion, platform_tag  # noqa: E402
from staging import ROOT, PackageError, make_bundle  # noqa: E402

OLDEST_DATE = (1980, 1, 1, 0, 0, 0)  # of every file, so that the same programs give the same wheel
METADATA = """Metadata-Version: 2.1
Name: nanobench
Version: {version}
Summary: {summary}
License: MIT
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.9
Requires-Dist: vl-convert-python=={charts}; extra == "charts"
Provides-Extra: charts
Description-Content-Type: text/markdown

{description}"""
ENTRY_POINTS = """[console_scripts]
nanobench = nanobench.launch:run_nanobench
nanobench-train = nanobench.launch:run_engine
"""


def make_parser():
    parser = make_bundle.Parser(prog="nanobench wheel", description="Makes a wheel of the built programs, for pip.")
    parser.add_argument("folder", metavar="DIR", help="where the wheel is put; a wheel of the same name is replaced")
    parser.add_argument("--build", metavar="DIR", required=True, help="build folder with the programs in its bin/")
    return parser


def charts_version():
    pins = json.loads((ROOT / "tools/setup/vl_convert.json").read_text(encoding="utf-8"))
    return pins["x86_64"][0]["version"]


def add_licences(folder):
    for name, source in {"LICENSE": ROOT / "LICENSE", **staging.licences()}.items():
        make_bundle.copy(source, folder / name)


def add_metadata(folder, version, summary, tag):
    """The dist-info folder, without RECORD."""
    place = folder / f"nanobench-{version}.dist-info"
    place.mkdir()
    description = (ROOT / "docs/package.md").read_text(encoding="utf-8")
    texts = {
        "METADATA": METADATA.format(version=version, summary=summary, charts=charts_version(), description=description),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: nanobench {version}\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": ENTRY_POINTS,
    }
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    add_licences(place / "licenses")


def write_wheel(folder, version, wheel):
    """A zip of the folder with a RECORD of it, complete or not at all."""
    record = f"nanobench-{version}.dist-info/RECORD"
    lines = []
    fresh = wheel.with_name(f".{wheel.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                name, data = str(path.relative_to(folder)), path.read_bytes()
                archive.writestr(_entry(name, path.stat().st_mode), data)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                lines.append(f"{name},sha256={digest},{len(data)}\n")
            archive.writestr(_entry(record, 0o100644), "".join([*lines, f"{record},,\n"]))
        staging.check_size(fresh, "the wheel")
        fresh.replace(wheel)
    finally:
        fresh.unlink(missing_ok=True)


def _entry(name, mode):
    entry = zipfile.ZipInfo(name, OLDEST_DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = mode << 16
    return entry


def make(options):
    build, out = pathlib.Path(options.build).resolve(), pathlib.Path(options.folder)
    version, summary = staging.project()
    staging.check_build(build, version)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".wheel-") as temporary:
        folder = pathlib.Path(temporary)
        staging.stage(build, folder)
        tag = f"py3-none-{platform_tag(staging.needed_symbols(folder), os.uname().machine)}"
        add_metadata(folder, version, summary, tag)
        wheel = out / f"nanobench-{version}-{tag}.whl"
        write_wheel(folder, version, wheel)
    print(f"{wheel}: {wheel.stat().st_size / (1 << 20):.1f} MiB")


def main(argv):
    return make_bundle.exit_code_of(
        lambda: make(make_parser().parse_args(argv[1:])), "wheel", PackageError, UnknownVersion
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv))
