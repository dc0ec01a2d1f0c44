#!/usr/bin/env python3
"""Makes a Debian package of the built programs, by cpack (docs/package.md).

make_deb.py --build BUILD FOLDER
"""

import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import staging  # noqa: E402 (the line above comes first)
from staging import PackageError, make_bundle  # noqa: E402

TOLD_LINES = 15  # of cpack, when it fails


def make_parser():
    parser = make_bundle.Parser(prog="nanobench deb", description="Makes a Debian package of the built programs.")
    parser.add_argument("folder", metavar="DIR", help="where the package is put; one of the same name is replaced")
    parser.add_argument("--build", metavar="DIR", required=True, help="build folder with the programs in its bin/")
    return parser


def run_cpack(config, folder):
    """Throws PackageError with the last lines of cpack."""
    words = ["cpack", "-G", "DEB", "--config", config, "-B", folder]
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    try:
        # cpack writes modes of its own files into the package.
        done = subprocess.run(words, **told, umask=0o022, check=False)
    except FileNotFoundError as error:
        raise PackageError("there is no cpack on the PATH; install cmake") from error
    if done.returncode != 0:
        lines = "\n".join(done.stdout.strip().splitlines()[-TOLD_LINES:])
        raise PackageError(f"cpack made no package; its last lines:\n{lines}")


def make(options):
    build, out = pathlib.Path(options.build).resolve(), pathlib.Path(options.folder)
    staging.check_build(build, staging.project()[0])
    config = build / "CPackConfig.cmake"
    if not config.is_file():
        raise PackageError(f"{config} does not exist; configure {build} again (cmake {build})")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".deb-") as temporary:
        folder = pathlib.Path(temporary).resolve()
        run_cpack(config, folder)
        fresh = next(folder.glob("*.deb"))
        staging.check_size(fresh, "the package")
        package = fresh.replace(out / fresh.name)
    print(f"{package}: {package.stat().st_size / (1 << 20):.1f} MiB")


def main(argv):
    return make_bundle.exit_code_of(lambda: make(make_parser().parse_args(argv[1:])), "package", PackageError)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
